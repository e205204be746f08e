"""The history of a run: the facts that fit into memory, and its calls, streamed from the journals one by one.

A pure reading: it needs the folder only, works on another machine, and never fails because a run ended badly. What the
rig and its watchers recorded is small and held whole. What the callers recorded may be millions of events: each call is
handed out once it has ended and is then forgotten, so that memory holds the open calls only.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar, cast

from rig.clock import NS_PER_S
from rig.config.load import AnyPipeline, load_pipeline, load_run
from rig.config.pipeline import Duplex, ExternalServer, PipelineConfig, TinyModel
from rig.config.run import RunConfig
from rig.errors import JournalError, RigError
from rig.events.copies import AnyReader, open_copies
from rig.events.journal import Damage
from rig.events.types import (
    AnyEvent,
    AudioReceived,
    CallEnded,
    CallEvent,
    CallStarted,
    Event,
    FramesSent,
    Header,
    JournalClosed,
    Phase,
    PhaseEntered,
    ProcessDied,
    RunEnded,
    RunStarted,
    ServerEvent,
)
from rig.plan import PLAN_FILE, Plan
from rig.plan import read as read_plan
from rig.scripts import Behaviour
from rig.slots import PROBE_FILE

Kind = TypeVar("Kind", bound=Event)

RUN_FILE = "run.yaml"
PIPELINE_FILE = "pipeline.yaml"
EVENTS_DIR = "events"
SPOOL_DIR = "spool"

LATE_NS = 5 * NS_PER_S
"""How long after its end a call is kept for what its journal may still say about it."""

_time = attrgetter("t_ns")


class Call:
    """Everything one call recorded, in order of time."""

    __slots__ = ("_kinds", "_replies", "_said", "_talk", "events", "start")

    def __init__(self, start: CallStarted, events: Sequence[CallEvent]) -> None:
        self.start = start
        self.events = sorted(events, key=_time)
        self._replies: dict[tuple[int, str | int], list[AudioReceived]] | None = None
        self._said: dict[str, list[ServerEvent]] | None = None
        self._talk: list[CallEvent] | None = None
        kinds: dict[type[Event], list[Any]] = defaultdict(list)
        for event in self.events:
            kinds[type(event)].append(event)
        self._kinds = kinds

    @property
    def is_probe(self) -> bool:
        """Whether it belongs to the probe of the slots that follows the load."""
        return self.start.behaviour == Behaviour.SLOTS

    @property
    def talk(self) -> Sequence[CallEvent]:
        """All events but the frames of the microphone, which are many and tell nothing of the server."""
        if self._talk is None:
            self._talk = [event for event in self.events if type(event) is not FramesSent]
        return self._talk

    def of(self, kind: type[Kind]) -> Sequence[Kind]:
        """The call's events of one kind (a concrete event type), in order of time."""
        return cast(Sequence[Kind], self._kinds.get(kind, ()))

    @property
    def replies(self) -> Mapping[tuple[int, str | int], Sequence[AudioReceived]]:
        """Deltas with sound by connection and response id (by turn where the server gave no id)."""
        if self._replies is None:
            self._replies = {}
            for audio in self.of(AudioReceived):
                if audio.samples > 0:
                    reply = audio.turn if audio.response_id is None else audio.response_id
                    self._replies.setdefault((audio.connection, reply), []).append(audio)
        return self._replies

    def said(self, name: str) -> Sequence[ServerEvent]:
        """The server's events of one name, in order of time."""
        if self._said is None:
            said: dict[str, list[ServerEvent]] = defaultdict(list)
            for event in self.of(ServerEvent):
                said[event.name].append(event)
            self._said = said
        return self._said.get(name, ())


@dataclass
class History:
    """One run, read back. Times are nanoseconds on the run's monotonic clock.

    `last_ns`, `damage` and `lost_starts` are known when the calls have been read: see `calls`.
    """

    folder: Path
    config: RunConfig
    pipeline: AnyPipeline
    plan: Plan
    probe: Plan | None
    """The calls that probe the slots after the load, None when none were planned."""
    headers: tuple[Header, ...]
    unreadable: tuple[str, ...]
    events: tuple[AnyEvent, ...]
    """What the rig and its watchers recorded, in order of time, with every journal's header; no event of a call."""
    _journals: tuple["_Journal", ...]
    _last_ns: int | None = None
    lost_starts: int = 0
    """Calls that cannot be judged, because their first line is lost."""
    _kinds: dict[type[Event], list[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for event in self.events:
            self._kinds.setdefault(type(event), []).append(event)

    def calls(self) -> Iterator[Sequence[Call]]:
        """Every call once, some at a time, each complete; reads the callers' journals from disk."""
        self.lost_starts = 0
        last_ns = max(event.t_ns for event in self.events)
        for each in self._journals:
            open_calls = OpenCalls()
            for calls in open_calls.gather(each):
                last_ns = max(last_ns, *(call.events[-1].t_ns for call in calls))
                yield calls
            self.lost_starts += open_calls.lost_starts
            last_ns = max(last_ns, open_calls.last_ns)
        self._last_ns = last_ns

    def of(self, kind: type[Kind]) -> Sequence[Kind]:
        """All events of one kind that the rig or a watcher recorded, in order of time."""
        assert not issubclass(kind, CallEvent), "events of calls are streamed: see `calls`"
        return cast(Sequence[Kind], self._kinds.get(kind, ()))

    @property
    def damage(self) -> tuple[Damage, ...]:
        """What each journal lost."""
        self._read_through()
        return tuple(each.reader.damage for each in self._journals)

    @property
    def lossy(self) -> bool:
        """Whether events are lost: then what is missing from the history may have happened all the same."""
        return any(each.missing > 0 or each.bad_lines for each in self.damage)

    @property
    def marked(self) -> bool:
        """Whether the server marks its sound (rig.marks): the tiny checkpoint and the golden server do."""
        pipeline = self.pipeline
        if isinstance(pipeline, PipelineConfig):
            return isinstance(pipeline.model, TinyModel)
        return not isinstance(pipeline, ExternalServer)

    @property
    def limits(self) -> Duplex | None:
        """The server's session limits, None for a server that somebody else runs."""
        return None if isinstance(self.pipeline, ExternalServer) else self.pipeline.duplex_session

    @property
    def last_ns(self) -> int:
        """The last event of all."""
        self._read_through()
        assert self._last_ns is not None
        return self._last_ns

    @property
    def started(self) -> RunStarted | None:
        """The start of the run, None when not even that was recorded."""
        return next(iter(self.of(RunStarted)), None)

    @property
    def ended(self) -> RunEnded | None:
        """The end of the run, None when the rig died before it."""
        return next(iter(self.of(RunEnded)), None)

    @property
    def deaths(self) -> Sequence[ProcessDied]:
        """The processes of the server that ended unasked, without its short-lived helpers, in order of time."""
        return [death for death in self.of(ProcessDied) if death.is_fault]

    @property
    def abandoned_ns(self) -> int | None:
        """When the rig was last heard of, in a run that it did not end; None in a run that has an end.

        With the rig gone its warden stops the server, so what callers meet after this says nothing about the server. A
        host of the server outlives the rig and records when it began to stop.
        """
        if self.ended is not None:
            return None
        stop_ns = self.phase_ns(Phase.STOP)
        return self.heard_ns if stop_ns is None else stop_ns

    @property
    def heard_ns(self) -> int:
        """When the rig or a watcher last recorded something."""
        own = (event for event in self.events if not isinstance(event, Header | JournalClosed))
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

    def _read_through(self) -> None:
        if self._last_ns is None:
            deque(self.calls(), maxlen=0)


def load(folder: Path) -> History:
    """Read a results folder. Raises RigError when it is not one; damage to it is part of the history."""
    if not (folder / RUN_FILE).is_file():
        raise RigError(f"{folder} is not a results folder: it has no {RUN_FILE}")
    unreadable: list[str] = []
    journals: list[_Journal] = []
    for copies in _producers(folder):
        try:
            journals.append(_Journal(open_copies(copies)))
        except JournalError as error:
            unreadable.append(str(error))
    if not journals:
        raise RigError(f"{folder} holds no readable journal under {EVENTS_DIR}/")
    events = sorted((event for each in journals for event in each.facts()), key=_time)
    return History(
        folder=folder,
        config=load_run(folder / RUN_FILE),
        pipeline=load_pipeline(folder / PIPELINE_FILE),
        plan=read_plan(folder / PLAN_FILE),
        probe=read_plan(folder / PROBE_FILE) if (folder / PROBE_FILE).is_file() else None,
        headers=tuple(event for event in events if isinstance(event, Header)),
        unreadable=tuple(unreadable),
        events=tuple(events),
        _journals=tuple(journals),
    )


def _producers(folder: Path) -> list[list[Path]]:
    """For each producer its journal as collected and, where it was left, its spool."""
    folders = (folder / EVENTS_DIR, folder / SPOOL_DIR)
    names = sorted({path.name for place in folders for path in place.glob("*.jsonl")})
    # What has the name and is no file is told as one that cannot be read.
    return [[place / name for place in folders if (place / name).is_file()] or [folders[0] / name] for name in names]


CALLER_ROLE = "caller"
"""Role of the journals that callers write; they are never held whole."""


class _Journal:
    """One journal: what of it is held, and its blocks."""

    def __init__(self, reader: AnyReader) -> None:
        self.reader = reader
        self._held: list[AnyEvent] | None = None
        if reader.header.role != CALLER_ROLE:
            self._held = [event for block in reader.blocks() for event in block]

    def facts(self) -> Iterator[AnyEvent]:
        """The events that are no call's."""
        if self._held is None:
            yield self.reader.header
        else:
            yield from (event for event in self._held if not isinstance(event, CallEvent))

    def blocks(self) -> Iterator[list[AnyEvent]]:
        """All events, block by block."""
        if self._held is None:
            yield from self.reader.blocks()
        elif self._held:
            yield self._held


class OpenCalls:
    """The calls of one journal that have begun and not ended, while it is read."""

    def __init__(self) -> None:
        self.lost_starts = 0
        self.last_ns = 0
        self._open: dict[str, list[CallEvent]] = {}
        self._ended: deque[tuple[int, str]] = deque()

    def gather(self, journal: _Journal) -> Iterator[Sequence[Call]]:
        """The journal's calls, each once it is complete, at last those that never ended."""
        for block in journal.blocks():
            yield from self.take(block)
        yield from self._hand_out(list(self._open))

    def take(self, block: Sequence[AnyEvent]) -> Iterator[Sequence[Call]]:
        """Take the next events of the journal in, and hand out the calls that are complete by now."""
        self._sort(block)
        self.last_ns = max(self.last_ns, block[-1].t_ns)
        yield from self._hand_out(self._complete(block[-1].t_ns))

    def _sort(self, block: Sequence[AnyEvent]) -> None:
        open_calls = self._open
        for event in block:
            if isinstance(event, CallEvent):
                call = event.call
                if call in open_calls:
                    open_calls[call].append(event)
                else:
                    open_calls[call] = [event]
                if type(event) is CallEnded:
                    self._ended.append((event.t_ns, call))

    def _complete(self, now_ns: int) -> list[str]:
        """Names of the calls that ended long enough ago."""
        names: list[str] = []
        while self._ended and self._ended[0][0] < now_ns - LATE_NS:
            names.append(self._ended.popleft()[1])
        return names

    def _hand_out(self, names: list[str]) -> Iterator[Sequence[Call]]:
        """The named calls, if any; one whose first line is lost cannot be judged."""
        calls: list[Call] = []
        for name in names:
            events = self._open.pop(name, [])
            start = next((event for event in events if isinstance(event, CallStarted)), None)
            if start is None:
                self.lost_starts += bool(events)
            else:
                calls.append(Call(start, events))
        if calls:
            yield calls
