"""Real-time factor and length of each reply.

As upstream's duplex client computes it (vllm_omni/experimental/fullduplex/client.py, "commit-to-last-audio receive time
divided by emitted audio duration", through `compute_audio_rtf` of vllm_omni/metrics/definitions.py): it includes the
wait for the first audio. Server VAD commits at the end of speech, so that is where it begins here.
"""

from rig.clock import NS_PER_S
from rig.events.types import UtteranceEnded
from rig.history import Call
from rig.marks import OUTPUT_RATE_HZ
from rig.measure.figure import Measure


class AudioRtf(Measure):
    """One value per reply to speech that was spoken to its end."""

    name = "audio_rtf"
    measurement_origin = (
        "planned end of the caller's last speech frame to last audio delta read, over the audio's length"
    )
    unit = "ratio"

    def see(self, call: Call) -> None:
        """Every reply of the call."""
        spoken = {(event.connection, event.turn): event.planned_ns for event in call.of(UtteranceEnded)}
        for (connection, _), reply in call.replies.items():
            begin_ns = spoken.get((connection, reply[0].turn))
            last_ns = reply[-1].t_ns
            if begin_ns is None:
                self.miss("no end of speech on this connection")
            elif reply[0].t_ns < begin_ns:
                self.miss("answered while the caller still spoke")
            else:
                length_ns = sum(audio.samples for audio in reply) * NS_PER_S // OUTPUT_RATE_HZ
                self.add(call, last_ns, (last_ns - begin_ns) * NS_PER_S // length_ns, of=reply[-1])


class AudioDuration(Measure):
    """One value per reply: how much sound it had."""

    name = "audio_duration"
    measurement_origin = "samples of the audio deltas of a reply at 24 kHz"
    unit = "s"

    def see(self, call: Call) -> None:
        """Every reply of the call."""
        for reply in call.replies.values():
            length_ns = sum(audio.samples for audio in reply) * NS_PER_S // OUTPUT_RATE_HZ
            self.add(call, reply[0].t_ns, length_ns, of=reply[0])
