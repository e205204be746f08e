"""Barge-in stop: how long an interrupted reply goes on, for speech (server VAD) and for response.cancel apart."""

from rig.events.types import Act, ActTaken, AudioReceived, ServerEvent
from rig.history import Call, History
from rig.measure.figure import Measured

TERMINAL_EVENTS = frozenset({"response.done", "response.cancelled"})


def measure_speech(history: History) -> Measured:
    """Onset of the interrupting speech to the end of the reply: includes the VAD's confirmation."""
    origin = "first interrupting speech frame due to terminal event or last audio of that reply, the later"
    return _measure(history, "barge_in_stop_speech", origin, Act.BARGE_IN_SPEECH)


def measure_cancel(history: History) -> Measured:
    """Edge of response.cancel to the end of the reply."""
    origin = "response.cancel due to terminal event or last audio of that reply, the later"
    return _measure(history, "barge_in_stop_cancel", origin, Act.BARGE_IN_CANCEL)


def _measure(history: History, name: str, origin: str, act: Act) -> Measured:
    measured = Measured(name, origin)
    for call in history.calls.values():
        for taken in call.of(ActTaken):
            if taken.act is act:
                _measure_one(measured, call, taken)
    return measured


def _measure_one(measured: Measured, call: Call, taken: ActTaken) -> None:
    terminal = next(
        (
            event
            for event in call.of(ServerEvent)
            if event.turn == taken.turn and event.name in TERMINAL_EVENTS and event.t_ns >= taken.t_ns
        ),
        None,
    )
    if terminal is None:
        measured.unavailable["no terminal event"] += 1
    elif terminal.detail.startswith("completed"):
        measured.unavailable["reply had ended by itself"] += 1
    else:
        stale = [audio.t_ns for audio in call.of(AudioReceived) if audio.turn == taken.turn]
        measured.values_ns.append(max([terminal.t_ns, *stale]) - taken.planned_ns)
