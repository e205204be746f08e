"""The history of a run: all journals of a results folder, merged in time, with what is missing from them.

A pure reading: it needs the folder only, works on another machine, and never fails because a run ended badly.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rig.config.load import AnyPipeline, load_pipeline, load_run
from rig.config.run import RunConfig
from rig.errors import JournalError, RigError
from rig.events import journal
from rig.events.journal import Damage
from rig.events.types import (
    AnyEvent,
    CallEvent,
    CallStarted,
    Event,
    Header,
    JournalClosed,
    Phase,
    PhaseEntered,
    RunEnded,
    RunStarted,
)
from rig.plan import Plan
from rig.plan import read as read_plan

Kind = TypeVar("Kind", bound=Event)

RUN_FILE = "run.yaml"
PIPELINE_FILE = "pipeline.yaml"
PLAN_FILE = "plan.jsonl"
EVENTS_DIR = "events"
SPOOL_DIR = "spool"


@dataclass(frozen=True)
class Call:
    """Everything one call recorded, in order of time."""

    start: CallStarted
    events: tuple[CallEvent, ...]

    def of(self, kind: type[Kind]) -> list[Kind]:
        """The call's events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]


@dataclass(frozen=True)
class History:
    """One run, read back. Times are nanoseconds on the run's monotonic clock."""

    folder: Path
    config: RunConfig
    pipeline: AnyPipeline
    plan: Plan
    headers: tuple[Header, ...]
    damage: tuple[Damage, ...]
    unreadable: tuple[str, ...]
    events: tuple[AnyEvent, ...]
    calls: Mapping[str, Call]

    def of(self, kind: type[Kind]) -> list[Kind]:
        """All events of one kind, in order of time."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def started(self) -> RunStarted | None:
        """The start of the run, None when not even that was recorded."""
        return next(iter(self.of(RunStarted)), None)

    @property
    def ended(self) -> RunEnded | None:
        """The end of the run, None when the rig died before it."""
        return next(iter(self.of(RunEnded)), None)

    @property
    def abandoned_ns(self) -> int | None:
        """When the rig was last heard of, in a run that it did not end; None in a run that has an end.

        With the rig gone its warden stops the server, so what callers meet after this says nothing about the server.
        """
        if self.ended is not None:
            return None
        own = (event for event in self.events if not isinstance(event, CallEvent | Header | JournalClosed))
        return max((event.t_ns for event in own), default=self.origin_ns)

    @property
    def origin_ns(self) -> int:
        """Zero of the run's timeline: the first event."""
        return self.events[0].t_ns

    def phase_ns(self, phase: Phase) -> int | None:
        """When a phase began."""
        return next((event.t_ns for event in self.of(PhaseEntered) if event.phase is phase), None)

    def phase_at(self, t_ns: int) -> Phase:
        """The phase that a moment belongs to."""
        current = Phase.BOOT
        for event in self.of(PhaseEntered):
            if event.t_ns > t_ns:
                break
            current = event.phase
        return current


def load(folder: Path) -> History:
    """Read a results folder. Raises RigError when it is not one; damage to it is part of the history."""
    if not (folder / RUN_FILE).is_file():
        raise RigError(f"{folder} is not a results folder: it has no {RUN_FILE}")
    events: list[AnyEvent] = []
    damage: list[Damage] = []
    unreadable: list[str] = []
    for copies in _producers(folder):
        try:
            found, lost = _read_union(copies)
        except JournalError as error:
            unreadable.append(str(error))
            continue
        events.extend(found)
        damage.append(lost)
    if not events:
        raise RigError(f"{folder} holds no readable journal under {EVENTS_DIR}/")
    events.sort(key=lambda event: event.t_ns)
    return History(
        folder=folder,
        config=load_run(folder / RUN_FILE),
        pipeline=load_pipeline(folder / PIPELINE_FILE),
        plan=read_plan(folder / PLAN_FILE),
        headers=tuple(event for event in events if isinstance(event, Header)),
        damage=tuple(damage),
        unreadable=tuple(unreadable),
        events=tuple(events),
        calls=_calls(events),
    )


def _producers(folder: Path) -> list[list[Path]]:
    """For each producer its journal as collected and, where it was left, its spool."""
    folders = (folder / EVENTS_DIR, folder / SPOOL_DIR)
    names = sorted({path.name for place in folders for path in place.glob("*.jsonl")})
    return [[place / name for place in folders if (place / name).is_file()] for name in names]


def _read_union(copies: Sequence[Path]) -> tuple[list[AnyEvent], Damage]:
    """One producer's events by sequence number, from all copies of its journal; what is whole in one is not damaged.

    Raises JournalError when no copy is a journal, or the copies are of different writers.
    """
    read: list[tuple[list[AnyEvent], Damage]] = []
    errors: list[JournalError] = []
    for path in copies:
        try:
            read.append(journal.read(path))
        except JournalError as error:
            errors.append(error)
    if not read:
        raise errors[0]
    if len({found[0] for found, _ in read}) > 1:
        raise JournalError(f"{copies[0]} and {copies[1]} are journals of different writers")
    by_seq = {event.seq: event for found, _ in read for event in found}
    events = [by_seq[seq] for seq in sorted(by_seq)]
    best = min((lost for _, lost in read), key=lambda lost: len(lost.bad_lines))
    missing = events[-1].seq + 1 - len(events)
    return events, Damage(best.path, best.bad_lines, missing, any(lost.closed for _, lost in read))


def _calls(events: Iterable[AnyEvent]) -> dict[str, Call]:
    by_call: dict[str, list[CallEvent]] = defaultdict(list)
    for event in events:
        if isinstance(event, CallEvent):
            by_call[event.call].append(event)
    starts = {call: _start(found) for call, found in by_call.items()}
    return {call: Call(start, tuple(by_call[call])) for call, start in starts.items() if start is not None}


def _start(events: Sequence[CallEvent]) -> CallStarted | None:
    return next((event for event in events if isinstance(event, CallStarted)), None)
