"""Chunk gap: the time between successive audio deltas of one reply on one connection."""

from rig.events.types import AudioReceived
from rig.history import History
from rig.measure.figure import Measured


def measure(history: History) -> Measured:
    """One value per delta after the first of its reply."""
    measured = Measured("chunk_gap", "audio delta read to next audio delta of the same reply read")
    for call in history.calls.values():
        last: dict[tuple[int, str | int], int] = {}
        for audio in call.of(AudioReceived):
            reply = (audio.connection, audio.turn if audio.response_id is None else audio.response_id)
            if reply in last:
                measured.values_ns.append(audio.t_ns - last[reply])
            last[reply] = audio.t_ns
    return measured
