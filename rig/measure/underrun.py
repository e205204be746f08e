"""Underrun: for how long a caller's loudspeaker runs dry within a reply.

A simulated player starts at the first audio (and the run file's `playback.jitter_buffer_s`), plays in real time, waits
when it has nothing and goes on with the next delta. With no jitter buffer its stalls of a reply add up to upstream's
`max_underrun_s` (vllm_omni/benchmarks/audio_continuity.py), and `audio_continuity_ok` is upstream's: at most 100 ms.
"""

from collections.abc import Sequence

from rig.clock import NS_PER_MS, NS_PER_S, from_s
from rig.events.types import AudioReceived
from rig.history import Call, History
from rig.marks import OUTPUT_RATE_HZ
from rig.measure.figure import Measure

CONTINUITY_LIMIT_NS = 100 * NS_PER_MS


class Underrun(Measure):
    """One value per reply: seconds without sound after it began, 0 for a reply without a stall."""

    name = "audio_underrun"
    measurement_origin = "sum of the stalls of a simulated player, from the first audio delta of a reply read"
    unit = "s"
    rate_name = "audio_continuity_ok"

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._buffer_ns = from_s(history.config.playback.jitter_buffer_s)

    def see(self, call: Call) -> None:
        """Play every reply of the call."""
        for reply in call.replies.values():
            stalled_ns, _ = stalls(reply, self._buffer_ns)
            self.measured.hits[stalled_ns <= CONTINUITY_LIMIT_NS] += 1
            self.add(call, reply[0].t_ns, stalled_ns, of=reply[0])


class Stalls(Measure):
    """One value per reply: how often its player ran dry."""

    name = "audio_stalls"
    measurement_origin = "how often a simulated player ran dry within a reply"
    unit = "count"

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._buffer_ns = from_s(history.config.playback.jitter_buffer_s)

    def see(self, call: Call) -> None:
        """Play every reply of the call."""
        for reply in call.replies.values():
            _, count = stalls(reply, self._buffer_ns)
            self.add(call, reply[0].t_ns, count * NS_PER_S, of=reply[0])


def stalls(reply: Sequence[AudioReceived], buffer_ns: int) -> tuple[int, int]:
    """How long and how often the player of one reply runs dry between its first and its last delta."""
    dry_ns = reply[0].t_ns + buffer_ns
    stalled_ns = count = 0
    for audio in reply:
        if audio.t_ns > dry_ns:
            stalled_ns += audio.t_ns - dry_ns
            count += 1
            dry_ns = audio.t_ns
        dry_ns += audio.samples * NS_PER_S // OUTPUT_RATE_HZ
    return stalled_ns, count
