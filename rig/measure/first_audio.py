"""First audio: from the end of the caller's speech to the first sound of the answer."""

from rig.events.types import AudioReceived, TurnEnded, UtteranceEnded
from rig.history import Call, History
from rig.measure.figure import Measured


def measure(history: History) -> Measured:
    """One value per turn that was spoken to its end and answered."""
    measured = Measured("first_audio", "planned end of the caller's last speech frame to first audio delta read")
    for call in history.calls.values():
        for spoken in call.of(UtteranceEnded):
            first = _first_audio(call, spoken)
            if first is None:
                measured.unavailable[_why_not(call, spoken.turn)] += 1
            elif first.t_ns < spoken.planned_ns:
                measured.unavailable["answered while the caller still spoke"] += 1
            else:
                measured.values_ns.append(first.t_ns - spoken.planned_ns)
    return measured


def _first_audio(call: Call, spoken: UtteranceEnded) -> AudioReceived | None:
    for audio in call.of(AudioReceived):
        if audio.turn == spoken.turn and audio.connection == spoken.connection and audio.samples > 0:
            return audio
    return None


def _why_not(call: Call, turn: int) -> str:
    ended = next((event for event in call.of(TurnEnded) if event.turn == turn), None)
    return "turn not ended" if ended is None else f"turn {ended.outcome}"
