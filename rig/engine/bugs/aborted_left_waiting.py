"""A request that is aborted while it is passed over in the queue stays there: `Invalid request status`."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rig.engine.bugs.leftovers import leave, left_in, tracked, wanted
from rig.engine.patches.patch import Bug, Change, Kind
from rig.engine.patches.telling import Teller
from rig.engine.patches.wrapping import Method, wrap

if TYPE_CHECKING:
    from vllm.v1.request import Request, RequestStatus
    from vllm_omni.core.sched.omni_scheduler_mixin import OmniSchedulerMixin

teller = Teller("aborted_left_waiting", kind=Kind.BUG)


def apply() -> None:
    """Leave an aborted request in `skipped_waiting`, and sweep two of the three queues only."""
    from vllm_omni.core.sched.omni_scheduler_mixin import OmniSchedulerMixin

    wrap(OmniSchedulerMixin, "finish_requests", _leaving)
    wrap(OmniSchedulerMixin, "_drop_aborted_queued_requests", _two_queues)


def _leaving(original: Method) -> Method:
    def finish_requests(
        self: "OmniSchedulerMixin", request_ids: str | Iterable[str] | None, finished_status: "RequestStatus"
    ) -> "list[Request]":
        from vllm.v1.request import RequestStatus

        ids = wanted(request_ids)
        aborted = finished_status is RequestStatus.FINISHED_ABORTED
        passed_over = [request for request in tracked(self, ids) if aborted and request in self.skipped_waiting]
        finished: list[Request] = original(self, ids, finished_status)
        for request in passed_over:
            self.skipped_waiting.add_request(request)
            leave(self, request)
            teller.tell(f"{request.request_id} was aborted and is still in skipped_waiting")
        return finished

    return finish_requests


def _two_queues(original: Method) -> Method:
    """The third queue came with the fix."""

    def _drop_aborted_queued_requests(self: "OmniSchedulerMixin") -> None:
        left = left_in(self, self.skipped_waiting)
        original(self)
        for request in left:
            if request not in self.skipped_waiting:
                self.skipped_waiting.add_request(request)

    return _drop_aborted_queued_requests


BUG = Bug(
    name="aborted_left_waiting",
    summary="a request aborted while it is passed over stays queued: `Invalid request status`, and the stage dies",
    explanation="""\
A session's request that waits for its next input stands in `skipped_waiting`. The abort frees it and leaves it there
with status FINISHED_ABORTED; the sweep before each step looks at `waiting` and `running` only, as it did before
#5721. The next step that admits requests ends in `RuntimeError: Invalid request status: FINISHED_ABORTED`. The one-shot
scheduler of Code2Wav does not read that queue and lives.""",
    provoked_by="hanging up, or a barge-in, while a stage waits for the session's next input",
    upstream=("vllm-omni#5721", "vllm#52969"),
    versions={"vllm": "0.30.0", "vllm-omni": "0.30.0"},
    changes=(
        Change(
            "vllm_omni.core.sched.omni_scheduler_mixin:OmniSchedulerMixin.finish_requests",
            "2d9a9786b437bd7372759c38e0a4f2ca530007fec6706e671cd34b55d42a9eec",
        ),
        Change(
            "vllm_omni.core.sched.omni_scheduler_mixin:OmniSchedulerMixin._drop_aborted_queued_requests",
            "eb582afa6051ea2f21405b489401127f9d04b57e776eeabf1525de6d6ff32db0",
        ),
    ),
    apply=apply,
)
