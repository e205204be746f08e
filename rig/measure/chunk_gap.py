"""Chunk gap: the time between successive audio deltas of one reply on one connection."""

from rig.events.types import AudioReceived
from rig.history import Call
from rig.measure.figure import Measure


class ChunkGap(Measure):
    """One value per delta after the first of its reply."""

    name = "chunk_gap"
    measurement_origin = "audio delta read to next audio delta of the same reply read"

    def see(self, call: Call) -> None:
        """Every gap within the replies of the call."""
        last: dict[tuple[int, str | int], int] = {}
        for audio in call.of(AudioReceived):
            reply = (audio.connection, audio.turn if audio.response_id is None else audio.response_id)
            if reply in last:
                self.measured.values_ns.append(audio.t_ns - last[reply])
            last[reply] = audio.t_ns
