"""How a run stands while it goes on, read from its journals as they grow. The verdict is not made here."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rig.clock import to_s
from rig.config.load import AnyPipeline
from rig.config.pipeline import ExternalServer
from rig.config.run import RunConfig
from rig.events.types import (
    NO_STAGE,
    AnyEvent,
    AudioReceived,
    CallEnded,
    CallStarted,
    ClosedBy,
    ConnectionClosed,
    Outcome,
    Phase,
    PhaseEntered,
    ProcessDied,
    ProcessPaused,
    ProcessSeen,
    Refused,
    RunEnded,
    SessionReady,
    TurnEnded,
    UtteranceEnded,
)
from rig.report.html.bins import bucket_of, percentile_ms
from rig.standing import Process

MAX_DIED = 20

STUCK = frozenset({Outcome.NO_REPLY, Outcome.NO_END})


@dataclass(frozen=True)
class Snapshot:
    """A run at one moment. Times in seconds, waits in milliseconds; None where nothing is known yet."""

    elapsed_s: float
    left_s: float | None
    """Until the phase is over; None in phases whose length nobody knows."""
    phase: Phase
    load: int
    """Which part of the load it is, from 1; more than one where slots are probed in between."""
    loads: int
    over: bool
    """Whether the run has ended and only the judgement is missing."""
    callers: int
    """In a call now, of `caller_slots`."""
    caller_slots: int
    calls_begun: int
    calls_ended: int
    sessions: int
    slots_used: int
    slots: int | None
    refused: int
    turns: int
    first_audio_p50_ms: float | None
    first_audio_p99_ms: float | None
    deaths: int
    paused: int
    stuck: int
    lost: int
    processes: tuple[Process, ...] = ()
    """Every stage with its pid and how it is: alive, paused, dead or stopped."""
    died: tuple[str, ...] = ()
    """How each process that died unasked did; the first of them only, when they are many."""

    def line(self) -> str:
        """All that matters in one line."""
        left = "" if self.left_s is None else f"  {self.phase} ends in {max(0, math.ceil(self.left_s))} s"
        wait = self.first_audio_p50_ms
        first_audio = "none yet" if wait is None else f"{wait:.0f} ms"
        return (
            f"{self.elapsed_s:5.0f} s  {self.phase:<5}  calls {self.calls_ended}/{self.calls_begun} ended  "
            f"sessions {self.sessions}  refused {self.refused}  deaths {self.deaths}  stuck {self.stuck}  "
            f"lost {self.lost}  first audio p50 {first_audio}{left}"
        )

    @property
    def so_far(self) -> tuple[tuple[str, str | None], ...]:
        """The checks that can fail before the end, each with what it has found so far."""
        died = f"processes died: {self.deaths}" if self.deaths > 0 else None
        stuck = f"turns stuck: {self.stuck}" if self.stuck > 0 else None
        lost = f"connections ended by the server: {self.lost}" if self.lost > 0 else None
        return (("liveness", died), ("progress", stuck), ("connections", lost))


def left_s(config: RunConfig, phase: Phase, gone_ns: int) -> float | None:
    """Seconds until a phase is over, `gone_ns` into it; None where nobody knows."""
    gone_s = to_s(gone_ns)
    if phase is Phase.LOAD:
        return config.rounds_s[0] - gone_s
    return config.watch.after_load_s - gone_s if phase is Phase.WATCH else None


@dataclass
class Progress:
    """Takes in events as they are recorded (rig/follow.py)."""

    config: RunConfig
    pipeline: AnyPipeline
    began_ns: int
    _counts: Counter[str] = field(default_factory=Counter)
    _loads: int = 0
    _over: bool = False
    _died: list[str] = field(default_factory=list)
    _open: set[tuple[str, int]] = field(default_factory=set)
    _refusals: set[tuple[str, int]] = field(default_factory=set)
    _spoken: dict[tuple[str, int], int] = field(default_factory=dict)
    _first_audio: Counter[int] = field(default_factory=Counter)
    _stages: dict[int, tuple[str, str]] = field(default_factory=dict)
    _phases: dict[Phase, int] = field(default_factory=dict)

    def take(self, producer: str, events: Sequence[AnyEvent]) -> None:
        """See rig.follow.Taker."""
        for event in events:
            self._take_of_server(event)
            self._take_of_call(event)

    def snapshot(self, now_ns: int) -> Snapshot:
        """How the run stands at a time on the monotonic clock, as is `began_ns`."""
        counts = self._counts
        phase = max(self._phases, key=self._phases.__getitem__, default=Phase.BOOT)
        states = [state for _, state in self._stages.values()]
        return Snapshot(
            elapsed_s=to_s(now_ns - self.began_ns),
            left_s=left_s(self.config, phase, now_ns - self._phases.get(phase, now_ns)),
            phase=phase,
            load=max(1, self._loads),
            loads=len(self.config.rounds_s),
            over=self._over,
            callers=max(0, counts["calls"] - counts["ended"]),
            caller_slots=self.config.load.callers,
            calls_begun=counts["calls"],
            calls_ended=counts["ended"],
            sessions=counts["sessions"],
            slots_used=len(self._open),
            slots=None if isinstance(self.pipeline, ExternalServer) else self.pipeline.duplex_session.max_sessions,
            refused=counts["refused"],
            turns=counts["turns"],
            first_audio_p50_ms=percentile_ms(self._first_audio, 50),
            first_audio_p99_ms=percentile_ms(self._first_audio, 99),
            deaths=counts["deaths"],
            paused=states.count("paused"),
            stuck=counts["stuck"],
            lost=counts["lost"],
            processes=tuple(Process(pid, *stage) for pid, stage in self._stages.items()),
            died=tuple(self._died),
        )

    def _take_of_server(self, event: AnyEvent) -> None:
        match event:
            case PhaseEntered():
                self._phases[event.phase] = event.t_ns
                self._loads += event.phase is Phase.LOAD
            case RunEnded():
                self._over = True
            case ProcessSeen() if event.stage not in NO_STAGE:
                self._stages[event.pid] = (event.stage, "alive")
            case ProcessPaused() if event.pid in self._stages:
                self._stages[event.pid] = (event.stage, "paused" if event.paused else "alive")
            case ProcessDied() if event.is_fault:
                self._counts["deaths"] += 1
                self._died += [self._how_died(event)] if len(self._died) < MAX_DIED else []
                self._stages[event.pid] = (event.stage, "dead")
            case ProcessDied() if event.pid in self._stages:
                self._stages[event.pid] = (event.stage, "stopped")
            case _:
                pass

    def _how_died(self, event: ProcessDied) -> str:
        how = f"status {event.exit_status}" if event.signal is None else event.signal
        words = f"; last words: {event.last_lines[-1].strip()}" if event.last_lines else ""
        return f"{event.stage} (pid {event.pid}) died of {how} at {to_s(event.t_ns - self.began_ns):.1f} s{words}"

    def _take_of_call(self, event: AnyEvent) -> None:
        match event:
            case CallStarted():
                self._counts["calls"] += 1
            case CallEnded():
                self._counts["ended"] += 1
            case SessionReady():
                self._counts["sessions"] += 1
                self._open.add((event.call, event.connection))
            case Refused():
                self._counts["refused"] += 1
                self._refusals.add((event.call, event.connection))
            case ConnectionClosed():
                self._close(event)
            case TurnEnded():
                self._counts["turns"] += 1
                self._counts["stuck"] += event.outcome in STUCK
            case UtteranceEnded():
                self._spoken[event.call, event.turn] = event.planned_ns
            case AudioReceived():
                spoken_ns = self._spoken.pop((event.call, event.turn), None)
                if spoken_ns is not None:
                    self._first_audio[bucket_of(event.t_ns - spoken_ns)] += 1
            case _:
                pass

    def _close(self, event: ConnectionClosed) -> None:
        place = (event.call, event.connection)
        self._open.discard(place)
        refused = place in self._refusals
        self._refusals.discard(place)
        self._counts["lost"] += event.by is not ClosedBy.CALLER and not refused
