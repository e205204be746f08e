"""Yield: the model itself falls silent because the caller speaks, without a cancel by server VAD.

Apart from the barge-in stops, because the server's VAD is a rule and this is the model's decision. Latency as
tau2-bench defines it: onset of the interrupting speech to the yield. With `overlap_policy: barge_in_on_speech` the VAD
cancels first, and then nothing is known about the model.
"""

from rig.events.types import Act, ActTaken, ServerEvent, UtteranceEnded
from rig.history import Call
from rig.measure.barge_in_stop import end_of_interrupted
from rig.measure.figure import Measure

LISTEN = "response.listen"
MODEL_DECIDED = ("", "model_listen")
"""Reasons of response.listen that mean the model's own decision (vllm_omni/engine/duplex/session/model_channel.py)."""


class YieldLatency(Measure):
    """One value per reply that the model broke off while the caller spoke; the rate is of those it could have."""

    name = "yield_latency"
    measurement_origin = (
        "first interrupting speech frame due to response.listen read, model-decided, caller still speaking"
    )
    rate_name = "yield_rate"

    def see(self, call: Call) -> None:
        """Every reply of the call that the caller spoke over."""
        for taken in call.of(ActTaken):
            if taken.act is Act.BARGE_IN_SPEECH:
                self._see_act(call, taken)

    def _see_act(self, call: Call, taken: ActTaken) -> None:
        terminal = end_of_interrupted(call, taken)
        listen = _yielded(call, taken)
        if listen is not None and (terminal is None or not _cancelled(terminal) or listen.t_ns <= terminal.t_ns):
            self.measured.hits[True] += 1
            self.add(call, listen.t_ns, listen.t_ns - taken.planned_ns, of=taken)
        elif terminal is None:
            self.miss("no terminal event")
        elif _cancelled(terminal):
            self.miss("cancelled by server VAD: the model was not asked")
        else:
            self.measured.hits[False] += 1
            self.miss("the model spoke on")


def _yielded(call: Call, taken: ActTaken) -> ServerEvent | None:
    spoken = next((event for event in call.of(UtteranceEnded) if event.t_ns >= taken.t_ns), None)
    for event in call.said(LISTEN):
        if event.connection == taken.connection and event.t_ns >= taken.t_ns and event.detail in MODEL_DECIDED:
            return event if spoken is None or event.t_ns <= spoken.t_ns else None
    return None


def _cancelled(terminal: ServerEvent) -> bool:
    return terminal.name == "response.cancelled" or terminal.detail.startswith("cancelled")
