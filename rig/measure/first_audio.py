"""First audio: from the end of the caller's speech to the first sound of the answer."""

from rig.events.types import AudioReceived, TurnEnded, UtteranceEnded
from rig.history import Call
from rig.measure.figure import Measure


class FirstAudio(Measure):
    """One value per turn that was spoken to its end and answered."""

    name = "first_audio"
    measurement_origin = "planned end of the caller's last speech frame to first audio delta read"

    def see(self, call: Call) -> None:
        """Every turn of the call that was spoken to its end."""
        first = first_audio_ns(call)
        for spoken in call.of(UtteranceEnded):
            heard_ns = first.get((spoken.connection, spoken.turn))
            if heard_ns is None:
                self.measured.unavailable[_why_not(call, spoken.turn)] += 1
            elif heard_ns < spoken.planned_ns:
                self.measured.unavailable["answered while the caller still spoke"] += 1
            else:
                self.measured.values_ns.append(heard_ns - spoken.planned_ns)


def first_audio_ns(call: Call) -> dict[tuple[int, int], int]:
    """When the first sound of each (connection, turn) was read."""
    first: dict[tuple[int, int], int] = {}
    for audio in call.of(AudioReceived):
        if audio.samples > 0:
            first.setdefault((audio.connection, audio.turn), audio.t_ns)
    return first


def _why_not(call: Call, turn: int) -> str:
    ended = next((event for event in call.of(TurnEnded) if event.turn == turn), None)
    return "turn not ended" if ended is None else f"turn {ended.outcome}"
