"""What callers recorded, as counters: events one by one while a run goes on, or call by call when it is over."""

from collections.abc import Callable
from typing import Any

from rig.clock import to_s
from rig.events import types as ev
from rig.fold import Fold
from rig.history import Call, History
from rig.marks import OUTPUT_RATE_HZ
from rig.metrics.board import Board

FULL = "resource_exhausted"
MAX_CODES = 20
OTHER = "other"
STUCK = frozenset({ev.Outcome.NO_REPLY, ev.Outcome.NO_END})


class CallCounts:
    """Counters by scenario, and which calls and sessions are open."""

    def __init__(self) -> None:
        self.board = Board()
        self.stuck = 0
        self._calls: set[str] = set()
        self._sessions: set[tuple[str, int]] = set()
        self._refused: set[tuple[str, int]] = set()
        self._codes = {FULL}
        self._scenarios: set[str] = set()

    def take(self, event: ev.CallEvent, scenario: str) -> None:
        """Take one event of a call of that scenario in; those of a call come in the order of time."""
        taken = TAKEN.get(type(event))
        if taken is not None:
            taken(self, event, scenario)

    def take_call(self, call: Call) -> None:
        """Take a whole call in."""
        scenario = call.start.behaviour
        for kind, taken in TAKEN.items():
            if kind not in MANY:
                for event in call.of(kind):
                    taken(self, event, scenario)
        # Of a million events most are of these two kinds.
        self.board.count("rig_frames_sent", scenario, by=sum([len(event.slips_us) for event in call.of(ev.FramesSent)]))
        samples = sum([event.samples for event in call.of(ev.AudioReceived)])
        self.board.count("rig_audio_received_seconds", scenario, by=samples / OUTPUT_RATE_HZ)

    def gauges(self) -> Board:
        """How many calls and sessions are open now."""
        now = Board()
        now.set("rig_callers", len(self._calls))
        now.set("rig_sessions_open", len(self._sessions))
        return now

    @property
    def sessions_open(self) -> int:
        """Sessions with a connection now."""
        return len(self._sessions)

    def _started(self, event: ev.CallStarted, scenario: str) -> None:
        self._calls.add(event.call)
        if scenario not in self._scenarios:
            self._scenarios.add(scenario)
            self._begin_at_zero(scenario)
        self.board.count("rig_calls_started", scenario)
        self.board.observe("rig_schedule_delay_seconds", max(0.0, to_s(event.t_ns - event.planned_ns)), scenario)

    def _begin_at_zero(self, scenario: str) -> None:
        """A counter that first appears with a 1 has no increase for Prometheus."""
        for outcome in ev.Outcome:
            self.board.count("rig_calls", scenario, outcome, by=0)
            self.board.count("rig_turns", scenario, outcome, by=0)
        for by in (ev.ClosedBy.SERVER_CLOSE_FRAME, ev.ClosedBy.SERVER_EOF, ev.ClosedBy.SERVER_RESET):
            self.board.count("rig_connections_lost", scenario, by, by=0)
        self.board.count("rig_refusals", scenario, FULL, by=0)
        for name in (
            *("rig_sessions_opened", "rig_sessions_resumed", "rig_connect_failures", "rig_surprises"),
            *("rig_frames_sent", "rig_audio_received_seconds"),
        ):
            self.board.count(name, scenario, by=0)

    def _ended(self, event: ev.CallEnded, scenario: str) -> None:
        self._calls.discard(event.call)
        self.board.count("rig_calls", scenario, event.outcome)

    def _ready(self, event: ev.SessionReady, scenario: str) -> None:
        self._sessions.add((event.call, event.connection))
        self.board.count("rig_sessions_resumed" if event.resumed else "rig_sessions_opened", scenario)

    def _refuse(self, event: ev.Refused, scenario: str) -> None:
        self._refused.add((event.call, event.connection))
        # The server names the code: a broken one must not make a series for every refusal.
        if len(self._codes) <= MAX_CODES:
            self._codes.add(event.code)
        self.board.count("rig_refusals", scenario, event.code if event.code in self._codes else OTHER)

    def _connect_failed(self, _: ev.ConnectFailed, scenario: str) -> None:
        self.board.count("rig_connect_failures", scenario)

    def _closed(self, event: ev.ConnectionClosed, scenario: str) -> None:
        place = (event.call, event.connection)
        self._sessions.discard(place)
        refused = place in self._refused
        self._refused.discard(place)
        if event.by is not ev.ClosedBy.CALLER and not refused:
            self.board.count("rig_connections_lost", scenario, event.by)

    def _turn(self, event: ev.TurnEnded, scenario: str) -> None:
        self.stuck += event.outcome in STUCK
        self.board.count("rig_turns", scenario, event.outcome)

    def _acted(self, event: ev.ActTaken, scenario: str) -> None:
        self.board.count("rig_acts", scenario, event.act)

    def _surprised(self, _: ev.Surprise, scenario: str) -> None:
        self.board.count("rig_surprises", scenario)

    def _sent(self, event: ev.FramesSent, scenario: str) -> None:
        self.board.count("rig_frames_sent", scenario, by=len(event.slips_us))

    def _heard(self, event: ev.AudioReceived, scenario: str) -> None:
        self.board.count("rig_audio_received_seconds", scenario, by=event.samples / OUTPUT_RATE_HZ)


TAKEN: dict[type[ev.CallEvent], Callable[[CallCounts, Any, str], None]] = {
    ev.CallStarted: CallCounts._started,
    ev.SessionReady: CallCounts._ready,
    ev.Refused: CallCounts._refuse,
    ev.ConnectFailed: CallCounts._connect_failed,
    ev.ConnectionClosed: CallCounts._closed,
    ev.TurnEnded: CallCounts._turn,
    ev.ActTaken: CallCounts._acted,
    ev.Surprise: CallCounts._surprised,
    ev.FramesSent: CallCounts._sent,
    ev.AudioReceived: CallCounts._heard,
    ev.CallEnded: CallCounts._ended,
}
"""In an order in which each finds what it needs of those before it."""

MANY = (ev.FramesSent, ev.AudioReceived)


class CallCountsFold(Fold[CallCounts]):
    """Counts of a whole run."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._counts = CallCounts()

    def see(self, call: Call) -> None:
        """Count the call."""
        self._counts.take_call(call)

    def result(self) -> CallCounts:
        """All counts."""
        return self._counts
