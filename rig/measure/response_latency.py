"""Response latency: from the end of the caller's speech until the server begins to answer."""

from rig.history import Call
from rig.measure.first_audio import AnswerLatency


class ResponseLatency(AnswerLatency):
    """One value per turn that was spoken to its end and got a response."""

    name = "response_latency"
    measurement_origin = "planned end of the caller's last speech frame to response.created read"

    def answers(self, call: Call) -> dict[tuple[int, int], int]:
        """The first response of each turn."""
        first: dict[tuple[int, int], int] = {}
        for event in call.said("response.created"):
            first.setdefault((event.connection, event.turn), event.t_ns)
        return first
