"""What somebody sees of a run that goes on: a screen that is renewed on a terminal, else a plain line now and then."""

import math
import os
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

from rich.console import Console, Group, RenderableType
from rich.control import Control
from rich.live import Live
from rich.table import Table
from rich.text import Text

from rig.events.types import Phase
from rig.progress import Snapshot
from rig.standing import Standing

LINES_EVERY_S = 5.0
SCREEN_EVERY_S = 1.0

STATES = {
    "dead": ("✘ DEAD", "bold red"),
    "paused": ("‖ paused", "yellow"),
    "alive": ("● alive", ""),
    "stopped": ("■ stopped", ""),
}
"""Sign and word of each state, and how it looks; what is worst comes first."""

NARROW = 60
"""Below so many columns names stand before their values and not beside them."""

KEPT_LINES = 5
"""So many of the last lines that were said are said again when the terminal changes its size."""


class View(Protocol):
    """Where a run tells how it stands."""

    every_s: float
    """How often it wants to be shown a snapshot."""

    def say(self, line: str) -> None:
        """Tell something once; it stays."""

    def show(self, now: Snapshot) -> None:
        """Tell how the run stands."""


class Lines:
    """For pipes, logs and terminals that cannot do more."""

    every_s = LINES_EVERY_S

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def say(self, line: str) -> None:
        """See View."""
        print(f"rig: {line}", file=self._stream, flush=True)

    def show(self, now: Snapshot) -> None:
        """See View."""
        self.say(now.line())


class Screen:
    """For terminals."""

    every_s = SCREEN_EVERY_S

    def __init__(self, live: Live) -> None:
        self._live = live
        self._size = live.console.size
        self._said: deque[str] = deque(maxlen=KEPT_LINES)

    def say(self, line: str) -> None:
        """See View. It stands above what is renewed."""
        self._said.append(line)
        self._live.console.print(Text(f"rig: {line}"))

    def show(self, now: Snapshot) -> None:
        """See View."""
        size = self._live.console.size
        if size != self._size:
            self._size = size
            self._begin_anew()
        self._live.update(picture(now, size.width), refresh=True)

    def _begin_anew(self) -> None:
        """A terminal that changes its size moves and wraps lines: what was drawn is no longer where it was."""
        console = self._live.console
        console.control(Control.home(), Control.clear())
        console.print(Text("\n".join(f"rig: {line}" for line in self._said)))


@contextmanager
def view(stream: TextIO = sys.stderr) -> Iterator[View]:
    """A screen where the stream is a terminal that can move its cursor, else lines."""
    if not stream.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        yield Lines(stream)
        return
    # What the run says must not be taken for a screen's markup, and nobody else writes to this stream.
    console = Console(file=stream, markup=False, highlight=False)
    with Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live:
        yield Screen(live)


def picture(now: Snapshot, width: int = 80) -> RenderableType:
    """The snapshot in a few rows, the most important first; every state is a sign and a word, not only a colour."""
    rows = list(_rows(now))
    ending = "The run is over and is judged now." if now.over else "The verdict comes when the run is over."
    if width < NARROW:
        return Group(*(Text.assemble((f"{name}: ", "dim"), value) for name, value in rows), Text(ending, style="dim"))
    table = Table.grid(padding=(0, 2))
    for name, value in rows:
        table.add_row(Text(name, style="dim", no_wrap=True), value)
    return Group(table, Text(ending, style="dim"))


def standing(now: Snapshot, t_ns: int) -> Standing:
    """The same rows as text, for the callers' web UI."""
    rows = [(name, value.plain) for name, value in _rows(now)]
    return Standing(t_ns, rows, list(now.processes), list(now.died))


def _rows(now: Snapshot) -> Iterator[tuple[str, Text]]:
    part = f" {now.load} of {now.loads}" if now.phase is Phase.LOAD and now.loads > 1 else ""
    left = "" if now.left_s is None else f", ends in {max(0, math.ceil(now.left_s))} s"
    yield "phase", Text(f"{now.phase}{part}{left}; {now.elapsed_s:.0f} s since the start")
    for state, (shown, style) in STATES.items():
        stages = ", ".join(one.stage for one in now.processes if one.state == state)
        if stages:
            yield "server", Text(f"{shown}  {stages}", style=style)
    yield from _found(now)
    slots = "" if now.slots is None else f" of {now.slots}"
    yield (
        "callers",
        Text(
            f"{now.callers} of {now.caller_slots} in a call; calls {now.calls_ended} of {now.calls_begun} ended; "
            f"{now.turns} turns"
        ),
    )
    yield "sessions", Text(f"{now.slots_used}{slots} open, {now.sessions} in all, {now.refused} refused")
    yield "first audio", Text(f"p50 {_ms(now.first_audio_p50_ms)}, p99 {_ms(now.first_audio_p99_ms)}")


def _found(now: Snapshot) -> Iterator[tuple[str, Text]]:
    """What the checks have found so far."""
    bad = [(check, found) for check, found in now.so_far if found is not None]
    for check, found in bad:
        yield "found", Text(f"✘ {check}: {found}", style="bold red")
    if not bad:
        yield "found", Text(f"nothing so far ({', '.join(check for check, _ in now.so_far)})")


def _ms(value: float | None) -> str:
    return "none yet" if value is None else f"{value:.0f} ms"
