"""What the callers did while the rings were written, gathered in the one pass over the calls."""

from collections.abc import Mapping
from dataclasses import dataclass

from rig.clock import NS_PER_S
from rig.events import types as ev
from rig.fold import Fold
from rig.history import Call, History
from rig.recorder.folder import ring_files
from rig.recorder.rings import RingError, oldest_ns

MARGIN_NS = 10 * NS_PER_S
"""How much before the oldest record a caller's act can matter for it."""


@dataclass(frozen=True)
class CallerAct:
    """One thing that a caller did or met."""

    t_ns: int
    call: str
    what: str
    on_purpose: bool


@dataclass(frozen=True)
class CallerActs:
    """All of them in order of time, and the call that had each session."""

    acts: tuple[CallerAct, ...]
    calls: Mapping[str, str]


class CallerLog(Fold[CallerActs]):
    """Keeps what is not older than the rings; without rings, nothing."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._from_ns = _oldest_ns(history)
        self._acts: list[CallerAct] = []
        self._calls: dict[str, str] = {}

    def see(self, call: Call) -> None:
        """Keep the call's sessions, and what its caller did."""
        if self._from_ns is None or call.events[-1].t_ns < self._from_ns:
            return
        for ready in call.of(ev.SessionReady):
            self._calls[ready.session_id] = call.start.call
        for event in call.events:
            if event.t_ns >= self._from_ns and (what := _words(event)) is not None:
                self._acts.append(CallerAct(event.t_ns, call.start.call, what, isinstance(event, ev.ActTaken)))

    def result(self) -> CallerActs:
        """In order of time."""
        return CallerActs(tuple(sorted(self._acts, key=lambda act: act.t_ns)), self._calls)


def _oldest_ns(history: History) -> int | None:
    found = []
    for path in ring_files(history.folder):
        try:
            found.append(oldest_ns(path))
        except RingError:
            continue
    known = [t_ns for t_ns in found if t_ns is not None]
    return min(known) - MARGIN_NS if known else None


def _words(event: ev.Event) -> str | None:
    match event:
        case ev.ActTaken():
            heard = "" if event.after_audio_ms is None else f" after {event.after_audio_ms} ms of the reply"
            return f"{event.act}{heard}"
        case ev.ConnectStarted():
            return f"connects ({event.why})"
        case ev.SessionReady():
            return f"session {'resumed' if event.resumed else 'created'}: {event.session_id}"
        case ev.Refused():
            return f"refused: {event.code}"
        case ev.UtteranceStarted():
            return f"begins to speak, turn {event.turn}"
        case ev.TurnEnded():
            return f"turn {event.turn}: {event.outcome}"
        case ev.ConnectionClosed():
            return f"connection closed by {event.by}"
    return None
