"""Send slip: how late the callers' frames left. What it shows is the rig, not the server."""

from collections.abc import Sequence
from itertools import chain, groupby

from rig.events.types import FramesSent
from rig.history import Call
from rig.measure.figure import Measure, Sample, Tap


class SendSlip(Measure):
    """One value per frame; a frame that left early counts as on time."""

    name = "send_slip"
    measurement_origin = "frame of the microphone due to frame sent"

    def see(self, call: Call) -> None:
        """Every frame of the call."""
        frames = call.of(FramesSent)
        if self.tap is not None:
            self._tell(call, frames, self.tap)
        origin_ns, bin_ns = self.measured.origin_ns, self.measured.bin_ns
        for _, events in groupby(frames, lambda event: (event.t_ns - origin_ns) // bin_ns):
            sent = list(events)
            slot = self.measured.slot(call.start.behaviour, sent[0].t_ns)
            self.measured.raw.count(slot, chain.from_iterable([event.slips_us for event in sent]))

    def _tell(self, call: Call, sent: Sequence[FramesSent], tap: Tap) -> None:
        """Every frame by itself, at the time at which it was due."""
        for event in sent:
            for place, slip_us in enumerate(event.slips_us):
                tap(Sample(self, call, event.first_planned_ns + place * event.interval_ns, slip_us, 0, event))
