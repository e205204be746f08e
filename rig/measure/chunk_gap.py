"""Chunk gap: the time between successive audio deltas of one reply on one connection."""

from itertools import pairwise

from rig.clock import NS_PER_S
from rig.history import Call
from rig.marks import OUTPUT_RATE_HZ
from rig.measure.figure import Measure


class ChunkGap(Measure):
    """One value per delta after the first of its reply."""

    name = "chunk_gap"
    measurement_origin = "audio delta read to next audio delta of the same reply read"
    expected_interval = "the length of the audio in the earlier delta"

    def see(self, call: Call) -> None:
        """Every gap within the replies of the call."""
        for reply in call.replies.values():
            for before, audio in pairwise(reply):
                length_ns = before.samples * NS_PER_S // OUTPUT_RATE_HZ
                self.add(call, audio.t_ns, audio.t_ns - before.t_ns, length_ns, of=audio)
