"""Send slip: how late the callers' frames left. What it shows is the rig, not the server."""

from collections.abc import Sequence

from rig.events.types import FramesSent
from rig.history import Call
from rig.measure.figure import Measure, Sample, Tap


class SendSlip(Measure):
    """One value per frame; a frame that left early counts as on time."""

    name = "send_slip"
    measurement_origin = "frame of the microphone due to frame sent"

    def see(self, call: Call) -> None:
        """Every frame of the call."""
        sent = call.of(FramesSent)
        if not sent:
            return
        if self.tap is not None:
            self._tell(call, sent, self.tap)
        # One look-up where all frames of the call fall into one window, as nearly always.
        slot = self.measured.slot(call.start.behaviour, sent[0].t_ns)
        if slot == self.measured.slot(call.start.behaviour, sent[-1].t_ns):
            self.measured.raw.add_all(slot, [slip for event in sent for slip in event.slips_us])
            return
        for event in sent:
            self.measured.raw.add_all(self.measured.slot(call.start.behaviour, event.t_ns), event.slips_us)

    def _tell(self, call: Call, sent: Sequence[FramesSent], tap: Tap) -> None:
        """Every frame by itself, at the time at which it was due."""
        for event in sent:
            for place, slip_us in enumerate(event.slips_us):
                tap(Sample(self, call, event.first_planned_ns + place * event.interval_ns, slip_us, 0, event))
