"""Folds: what is found in a run, found while its calls pass by once.

A fold is made with the history (the facts of the run), sees every call once, and then gives its result. It keeps what
the result needs and no call. `run_folds` is the one pass; a fold that raises is told of and does not hurt the others.
"""

import gc
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar, Generic, Protocol, TypeVar

from rig.history import Call, History

Result = TypeVar("Result")


class Fold(Generic[Result]):
    """Base of checks, figures and counts."""

    load_only: ClassVar[bool] = False
    """Whether it sees the calls of the load alone, without those of the probe that follows it."""

    def __init__(self, history: History) -> None:
        self.history = history

    def see(self, call: Call) -> None:
        """Take one call in. Calls come in no particular order, each complete; this one looks at none."""

    def result(self) -> Result:
        """What was found; asked once, after the last call."""
        raise NotImplementedError


class Crash(Exception):  # noqa: N818 - it wraps the error of a fold, it is not one of its own
    """A fold raised; the text says what and where."""

    def __init__(self, error: Exception) -> None:
        last = traceback.extract_tb(error.__traceback__)[-1]
        super().__init__(f"{error!r} in {last.name}, line {last.lineno}")


class Guarded(Generic[Result]):
    """A fold whose errors are kept until its result is asked for."""

    def __init__(self, kind: Callable[[History], Fold[Result]], history: History) -> None:
        self._fold: Fold[Result] | None = None
        self._crash: Crash | None = None
        try:
            self._fold = kind(history)
        except Exception as error:  # noqa: BLE001 - one broken fold must not hide the others
            self._crash = Crash(error)

    @property
    def fold(self) -> Fold[Result] | None:
        """The fold itself; None when it raised."""
        return None if self._crash is not None else self._fold

    @property
    def crash(self) -> Crash | None:
        """What it has raised so far."""
        return self._crash

    def see(self, calls: Iterable[Call]) -> None:
        """Show the fold some calls; after a crash it sees no more."""
        if self._fold is None or self._crash is not None:
            return
        see, load_only = self._fold.see, self._fold.load_only
        try:
            for call in calls:
                if not (load_only and call.is_probe):
                    see(call)
        except Exception as error:  # noqa: BLE001 - see above
            self._crash = Crash(error)

    def result(self) -> Result:
        """The fold's result. Raises Crash when the fold raised, now or before."""
        if self._crash is not None or self._fold is None:
            raise self._crash or AssertionError("a fold that was not made has crashed")
        try:
            return self._fold.result()
        except Exception as error:
            self._crash = Crash(error)
            raise self._crash from error


class Seer(Protocol):
    """A guarded fold of whatever result."""

    def see(self, calls: Iterable[Call]) -> None:
        """Show it some calls."""


def run_folds(history: History, folds: Sequence[Seer]) -> None:
    """Read every journal once and show all calls to all folds."""
    with _no_collector():
        for calls in history.calls():
            for fold in folds:
                fold.see(calls)


def result_of(kind: type[Fold[Result]], history: History) -> Result:
    """The result of one fold alone, with its errors as they are."""
    fold = kind(history)
    for calls in history.calls():
        for call in calls:
            if not (fold.load_only and call.is_probe):
                fold.see(call)
    return fold.result()


@contextmanager
def _no_collector() -> Iterator[None]:
    """Without the cyclic collector: reading makes millions of objects and no cycle, and the collector would search."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
