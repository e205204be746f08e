"""Send slip: how late the callers' frames left. What it shows is the rig, not the server."""

from rig.events.types import FramesSent
from rig.history import Call
from rig.measure.figure import Measure


class SendSlip(Measure):
    """One value per frame; a frame that left early counts as on time."""

    name = "send_slip"
    measurement_origin = "frame of the microphone due to frame sent"

    def see(self, call: Call) -> None:
        """Every frame of the call."""
        measured = self.measured
        for sent in call.of(FramesSent):
            slot = measured.slot(call.start.behaviour, sent.t_ns)
            measured.raw.add_all(slot, sent.slips_us)
