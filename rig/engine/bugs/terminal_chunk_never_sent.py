"""A stage that ends first owes the next one a last chunk, and does not send it: the next one waits."""

from typing import TYPE_CHECKING

from rig.engine.patches.patch import Bug, Change, Kind
from rig.engine.patches.telling import Teller
from rig.engine.patches.wrapping import Method, wrap

if TYPE_CHECKING:
    from vllm.v1.request import Request
    from vllm_omni.core.sched.omni_scheduler_mixin import OmniSchedulerMixin

teller = Teller("terminal_chunk_never_sent", kind=Kind.BUG)


def apply() -> None:
    """Answer that nobody is owed a last chunk."""
    from vllm_omni.core.sched.omni_scheduler_mixin import OmniSchedulerMixin

    wrap(OmniSchedulerMixin, "_adapter_owing_terminal", _owing_nothing)


def _owing_nothing(original: Method) -> Method:
    def _adapter_owing_terminal(self: "OmniSchedulerMixin", request: "Request") -> None:
        if original(self, request) is not None:
            teller.tell(f"the last chunk of {request.request_id} is not sent")

    return _adapter_owing_terminal


BUG = Bug(
    name="terminal_chunk_never_sent",
    summary="a stage that has stopped when its session's input ends sends no last chunk: the next stage waits for it",
    explanation="""\
The final input of a session meets a stage that has stopped already and is parked. vLLM ends the request with an abort,
which sends nothing; the stage that is fed by chunks then waits for the last one until the deadline of 600 s. The
release sends a last chunk first. In a duplex session no final input is sent (hanging up aborts all stages), so that
this one shows in the turn-based mode of `/v1/realtime` and in speech requests.""",
    provoked_by="the end of a session's input while the Talker is parked; not by duplex callers",
    upstream=("vllm-omni#6670", "vllm-omni#6889", "vllm-omni#6474"),
    versions={"vllm": "0.30.0", "vllm-omni": "0.30.0"},
    changes=(
        Change(
            "vllm_omni.core.sched.omni_scheduler_mixin:OmniSchedulerMixin._adapter_owing_terminal",
            "6c7b671eda5848f5e49b64ae81ee4a2576f78e59dded30e2ba13b1b76ce51884",
        ),
    ),
    apply=apply,
)
