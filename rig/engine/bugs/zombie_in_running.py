"""A request that is aborted while it waits for a chunk comes back into the queues: the stage dies of it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rig.engine.bugs.leftovers import all_left, keeping_in_running, leave, left_in, tracked, wanted
from rig.engine.patches.patch import Bug, Change, Kind
from rig.engine.patches.telling import Teller
from rig.engine.patches.wrapping import Method, wrap

if TYPE_CHECKING:
    from vllm.v1.core.sched.output import SchedulerOutput
    from vllm.v1.request import Request, RequestStatus
    from vllm_omni.core.sched.omni_generation_scheduler import OmniGenerationScheduler
    from vllm_omni.core.sched.omni_scheduler_mixin import OmniSchedulerMixin

teller = Teller("zombie_in_running", kind=Kind.BUG)


def apply() -> None:
    """Leave what is aborted while parked in the queues, and take away each question whether it is still tracked."""
    from vllm_omni.core.sched.omni_generation_scheduler import OmniGenerationScheduler
    from vllm_omni.core.sched.omni_scheduler_mixin import OmniSchedulerMixin

    wrap(OmniSchedulerMixin, "finish_requests", _leaving_parked)
    wrap(OmniSchedulerMixin, "_purge_finished_from_running", keeping_in_running)
    wrap(OmniSchedulerMixin, "_process_pending_omni_inputs", _never_parked_again)
    wrap(OmniGenerationScheduler, "schedule", _not_asking)
    wrap(OmniGenerationScheduler, "_build_generation_scheduler_output", _asking_again)


def _leaving_parked(original: Method) -> Method:
    """The abort frees the request, but looks for it where a parked request is not."""

    def finish_requests(
        self: "OmniSchedulerMixin", request_ids: str | Iterable[str] | None, finished_status: "RequestStatus"
    ) -> "list[Request]":
        from vllm.v1.request import RequestStatus

        ids = wanted(request_ids)
        parked = _parked(self, ids) if finished_status is RequestStatus.FINISHED_ABORTED else []
        finished: list[Request] = original(self, ids, finished_status)
        for request in parked:
            _bring_back(self, request)
        return finished

    return finish_requests


def _parked(scheduler: "OmniSchedulerMixin", request_ids: str | tuple[str, ...] | None) -> "list[Request]":
    from vllm.v1.request import RequestStatus

    requests = tracked(scheduler, request_ids) if scheduler.chunk_transfer_adapter is not None else []
    return [request for request in requests if request.status is RequestStatus.WAITING_FOR_CHUNK]


def _bring_back(scheduler: "OmniSchedulerMixin", request: "Request") -> None:
    """What giving back the parked requests did: the status from before it was parked, and a place in a queue."""
    from vllm.v1.request import RequestStatus

    request.status = RequestStatus.WAITING
    # Its blocks are gone, and with them what was computed. What is left is what it had before its first chunk came: one
    # token that holds its place.
    request.num_computed_tokens = 0
    request.prompt_token_ids = [0]
    request.additional_information = None
    request.model_intermediate_buffer = None
    scheduler.waiting.add_request(request)
    leave(scheduler, request)
    teller.tell(f"{request.request_id} was aborted while it waited for a chunk, and is still queued")


def _never_parked_again(original: Method) -> Method:
    """The stage before it was aborted too: nothing more comes for it. A second abort would take this mark away."""

    def _process_pending_omni_inputs(self: "OmniSchedulerMixin", model_mode: str) -> None:
        for request in left_in(self, (*self.waiting, *self.running)):
            self.chunk_transfer_adapter.upstream_exhausted_requests.add(request.request_id)
        original(self, model_mode)

    return _process_pending_omni_inputs


def _not_asking(original: Method) -> Method:
    """The one-shot scheduler asks of each queued request whether it is tracked. Until the step is put together: yes."""

    def schedule(self: "OmniGenerationScheduler", *args: object, **kwargs: object) -> "SchedulerOutput":
        for request in left_in(self, (*self.waiting, *self.running)):
            self.requests.setdefault(request.request_id, request)
        try:
            output: SchedulerOutput = original(self, *args, **kwargs)
            return output
        finally:
            _untrack(self)

    return schedule


def _asking_again(original: Method) -> Method:
    def _build_generation_scheduler_output(
        self: "OmniGenerationScheduler", *args: object, **kwargs: object
    ) -> "SchedulerOutput":
        _untrack(self)
        output: SchedulerOutput = original(self, *args, **kwargs)
        return output

    return _build_generation_scheduler_output


def _untrack(scheduler: "OmniGenerationScheduler") -> None:
    for request in all_left(scheduler):
        if scheduler.requests.get(request.request_id) is request:
            del scheduler.requests[request.request_id]


BUG = Bug(
    name="zombie_in_running",
    summary="a request that is aborted while it waits for a chunk is scheduled again: KeyError, and the stage dies",
    explanation="""\
A stage that is fed by chunks parks a request with status WAITING_FOR_CHUNK until the next one comes. The abort frees
it, but takes it out of another queue than the one it is in: it comes back with its old status, is admitted to
`running` and scheduled, and `Scheduler._update_after_schedule` looks an id up that is no longer there. The fix
restored the status before the abort; later releases also sweep `running` after each abort, and the one-shot scheduler
asks of each queued request whether it is tracked. All three are taken away. vLLM-Omni 0.30.0 feeds MiniCPM-o's
Code2Wav by chunks, so that stage 2 dies; the Talker gets its input from the orchestrator.""",
    provoked_by="hanging up, or a barge-in that aborts the reply's stages, while a stage waits for the one before it",
    upstream=("vllm-omni#2848", "vllm-omni#2871", "vllm-omni#3736", "vllm-omni#3774", "vllm#42157"),
    versions={"vllm": "0.30.0", "vllm-omni": "0.30.0"},
    changes=(
        Change(
            "vllm_omni.core.sched.omni_scheduler_mixin:OmniSchedulerMixin._process_pending_omni_inputs",
            "e1af7515530c8a24837ac09dd951a39d160e72f9095b88e15156fd1c6346b071",
        ),
        Change(
            "vllm_omni.core.sched.omni_scheduler_mixin:OmniSchedulerMixin.finish_requests",
            "2d9a9786b437bd7372759c38e0a4f2ca530007fec6706e671cd34b55d42a9eec",
        ),
        Change(
            "vllm_omni.core.sched.omni_scheduler_mixin:OmniSchedulerMixin._purge_finished_from_running",
            "0573c79ee08102f8024e9eb1e6213a03551446e734978b946574ad9ea1474056",
        ),
        Change(
            "vllm_omni.core.sched.omni_generation_scheduler:OmniGenerationScheduler.schedule",
            "f5b7e149921cc4ef5373f2c2ee362a952a9e18b9483e481c27a454faf3b66441",
        ),
        Change(
            "vllm_omni.core.sched.omni_generation_scheduler:OmniGenerationScheduler._build_generation_scheduler_output",
            "ab5fc977df08fdb16da79d9018829a95447d395e667b6519fdfb00b3d16278db",
        ),
    ),
    apply=apply,
)
