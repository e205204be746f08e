"""Reconnect to first audio: how long a caller who hung up and came back waits, by the way of coming back.

Only the waiting counts: what the returning caller spends on thinking and speaking is taken out.
"""

from rig.events.types import (
    AudioReceived,
    CallEvent,
    Connect,
    ConnectStarted,
    SessionReady,
    UtteranceEnded,
    UtteranceStarted,
)
from rig.history import Call, History
from rig.measure.figure import Measured

_ORIGIN = (
    "planned reconnect to session ready, plus, when the caller had to speak again, "
    "planned end of speech to first audio delta read"
)


def measure_new_session(history: History) -> Measured:
    """Callers who came back with a new session."""
    return _measure(history, "reconnect_first_audio_new", resumed=False)


def measure_resumed(history: History) -> Measured:
    """Callers who resumed their session."""
    return _measure(history, "reconnect_first_audio_resumed", resumed=True)


def _measure(history: History, name: str, *, resumed: bool) -> Measured:
    measured = Measured(name, _ORIGIN)
    for call in history.calls.values():
        started = [event for event in call.of(ConnectStarted) if event.why is not Connect.FIRST]
        if not started:
            continue
        ready = next((event for event in call.of(SessionReady) if event.connection >= started[0].connection), None)
        if ready is None:
            if (started[-1].why is Connect.RESUME) is resumed:
                measured.unavailable["no session"] += 1
        elif ready.resumed is resumed:
            _measure_one(measured, call, started[0], ready)
    return measured


def _measure_one(measured: Measured, call: Call, started: ConnectStarted, ready: SessionReady) -> None:
    after: list[CallEvent] = [event for event in call.events if event.connection == ready.connection]
    first = next((event for event in after if isinstance(event, AudioReceived) and event.samples > 0), None)
    if first is None:
        measured.unavailable["no audio after the return"] += 1
        return
    spoke = [event for event in after if isinstance(event, UtteranceStarted) and event.t_ns < first.t_ns]
    if not spoke:
        measured.values_ns.append(first.t_ns - started.planned_ns)
        return
    ended = next((event for event in after if isinstance(event, UtteranceEnded) and event.turn == spoke[-1].turn), None)
    if ended is None or ended.t_ns > first.t_ns:
        measured.unavailable["answered while the caller still spoke"] += 1
        return
    measured.values_ns.append((ready.t_ns - started.planned_ns) + (first.t_ns - ended.planned_ns))
