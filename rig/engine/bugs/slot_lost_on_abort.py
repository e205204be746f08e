"""A request that is aborted while it runs keeps its slot. No exception, no log; one slot less."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rig.engine.bugs.leftovers import keeping_in_running, leave, tracked, wanted
from rig.engine.patches.patch import Bug, Change
from rig.engine.patches.wrapping import Method, wrap

if TYPE_CHECKING:
    from vllm.v1.request import Request, RequestStatus
    from vllm_omni.core.sched.omni_ar_scheduler import OmniARScheduler


def apply() -> None:
    """Leave what is aborted while it runs in `running`, with nothing left to compute."""
    from vllm_omni.core.sched.omni_ar_scheduler import OmniARScheduler
    from vllm_omni.core.sched.omni_scheduler_mixin import OmniSchedulerMixin

    wrap(OmniARScheduler, "finish_requests", _leaving)
    wrap(OmniSchedulerMixin, "_purge_finished_from_running", keeping_in_running)


def _leaving(original: Method) -> Method:
    def finish_requests(
        self: "OmniARScheduler", request_ids: str | Iterable[str] | None, finished_status: "RequestStatus"
    ) -> "list[Request]":
        from vllm.v1.request import RequestStatus

        ids = wanted(request_ids)
        aborted = finished_status is RequestStatus.FINISHED_ABORTED
        running = [request for request in tracked(self, ids) if aborted and request in self.running]
        finished: list[Request] = original(self, ids, finished_status)
        for request in running:
            # As if the token of the last step were still to come, which an aborted request never gets.
            request.num_output_placeholders = 0
            request.num_computed_tokens = request.num_tokens_with_spec
            request.status = RequestStatus.RUNNING
            leave(self, request)
            self.running.append(request)
        return finished

    return finish_requests


BUG = Bug(
    name="slot_lost_on_abort",
    summary="a request aborted while it runs stays in `running` for ever: one slot less, and nothing in the log",
    explanation="""\
The status of a running request did not agree with the queue it was in, so that the abort took it out of the wrong
one. It has nothing left to compute, so that it is never scheduled: no exception and no log line. It fills a place in
`running`; after `max_num_seqs` such aborts the stage admits nobody, and each later caller hears nothing. The status is
realigned before the abort in later releases, and `running` is swept after it. Acts on Thinker and Talker.""",
    provoked_by="barging in or hanging up while the reply is being made, `max_num_seqs` times; then any call",
    upstream=("vllm-omni#3774", "vllm-omni#6360"),
    versions={"vllm": "0.30.0", "vllm-omni": "0.30.0"},
    changes=(
        Change(
            "vllm_omni.core.sched.omni_ar_scheduler:OmniARScheduler.finish_requests",
            "b087b5c67787d8ca60c973bc4fa159b6874c10ddec0fe3c986e37e7a79972743",
        ),
        Change(
            "vllm_omni.core.sched.omni_scheduler_mixin:OmniSchedulerMixin._purge_finished_from_running",
            "0573c79ee08102f8024e9eb1e6213a03551446e734978b946574ad9ea1474056",
        ),
    ),
    apply=apply,
)
