"""Fault 1: a freed request that is still in a queue (a zombie) ends the engine core. Here it is cleared away."""

from typing import TYPE_CHECKING
from weakref import WeakSet

from rig.engine.patches import books
from rig.engine.patches.patch import Change, Patch, installed
from rig.engine.patches.telling import Teller
from rig.engine.patches.wrapping import Method, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vllm.v1.core.sched.output import SchedulerOutput
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.request import Request, RequestStatus

REASON = "the engine no longer knew a request that was still queued or scheduled"

teller = Teller("scheduler_zombies")

_given_up: "WeakSet[Request]" = WeakSet()
"""Aborted from outside: whoever asked for that waits for nothing more. A duplex session goes on after the abort of a
barge-in, and an error for the request that it gave up would be taken for its own end."""


def apply() -> None:
    """Look through the queues before a step is made, and through the step before it goes into the books."""
    from vllm.v1.core.sched.scheduler import Scheduler

    wrap(Scheduler, "finish_requests", _remembering_aborts)
    wrap(Scheduler, "schedule", _sweeping)
    wrap(Scheduler, "_update_after_schedule", _stripping)
    if installed("vllm_omni"):
        from vllm_omni.core.sched.omni_ar_scheduler import OmniARScheduler
        from vllm_omni.core.sched.omni_generation_scheduler import OmniGenerationScheduler

        # Both move requests between queues before the base class sees them.
        wrap(OmniARScheduler, "schedule", _sweeping)
        wrap(OmniGenerationScheduler, "schedule", _sweeping)
    for owner in books.schedulers():
        wrap(owner, "update_from_output", books.telling)


def _remembering_aborts(original: Method) -> Method:
    def finish_requests(
        self: "Scheduler", request_ids: "str | Iterable[str] | None", finished_status: "RequestStatus"
    ) -> "list[Request]":
        ended: list[Request] = original(self, request_ids, finished_status)
        if finished_status.name == "FINISHED_ABORTED":
            _given_up.update(ended)
        return ended

    return finish_requests


def _sweeping(original: Method) -> Method:
    def schedule(self: "Scheduler", *args: object, **kwargs: object) -> "SchedulerOutput":
        sweep(self)
        output: SchedulerOutput = original(self, *args, **kwargs)
        return output

    return schedule


def _stripping(original: Method) -> Method:
    def _update_after_schedule(self: "Scheduler", scheduler_output: "SchedulerOutput") -> None:
        strip(self, scheduler_output)
        original(self, scheduler_output)

    return _update_after_schedule


def sweep(scheduler: "Scheduler") -> None:
    """Take every zombie out of the queues, give back what it holds, and owe its client an error if that still waits.

    A zombie is not the object that is tracked under its id; or it was ended by an abort or an error and is queued all
    the same. A tracked request that has stopped is none: vLLM-Omni keeps such a one in a queue on purpose, between two
    segments of a session and as its sign that a stage has received its last chunk.
    """
    from vllm.v1.request import RequestStatus

    tracked = scheduler.requests.get
    aborted, failed = RequestStatus.FINISHED_ABORTED, RequestStatus.FINISHED_ERROR
    found: dict[Request, str] = {}
    for name in books.QUEUES:
        # Written out, because it looks at every queued request in every step.
        zombies = [
            request
            for request in getattr(scheduler, name)
            if tracked(request.request_id) is not request or request.status is aborted or request.status is failed
        ]
        for request in zombies:
            found[request] = f"{found[request]} and {name}" if request in found else name
    if found:
        _clear_away(scheduler, found)


def strip(scheduler: "Scheduler", output: "SchedulerOutput") -> None:
    """The same for requests that went unknown while the step was being made: out of the queues and out of the step."""
    lost = {request_id for request_id in output.num_scheduled_tokens if request_id not in scheduler.requests}
    if not lost:
        return
    found = {request for _, request in books.queued(scheduler) if request.request_id in lost}
    books.unschedule(scheduler, output, lost)
    _clear_away(scheduler, dict.fromkeys(found, "this step"))
    for request_id in lost.difference(request.request_id for request in found):
        # Nobody holds the object any more, so nothing says whose client it was. Its blocks still come back.
        scheduler.kv_cache_manager.coordinator.free(request_id)
        scheduler.finished_req_ids.add(request_id)
        teller.tell(f"{request_id} was scheduled and is in no queue")


def _clear_away(scheduler: "Scheduler", found: dict["Request", str]) -> None:
    from vllm.v1.request import RequestStatus

    books.unqueue(scheduler, found.keys())
    for request, place in found.items():
        tracked = scheduler.requests.get(request.request_id)
        teller.tell(f"took {request.request_id} out of {place}, status {request.status.name}")
        if tracked is None:
            _give_back(scheduler, request)
        if (tracked is None or tracked is request) and request not in _given_up:
            # Otherwise the id belongs to a later request, or nobody waits: neither must hear of an error.
            books.owe_error(scheduler, request, REASON)
        scheduler._inflight_prefills.discard(request)
        if not request.is_finished():
            request.status = RequestStatus.FINISHED_ERROR


def _give_back(scheduler: "Scheduler", request: "Request") -> None:
    """What is filed under the id of a request that nobody tracks. A tracked one is freed by whoever ends it."""
    request_id = request.request_id
    scheduler._free_request_blocks(request)
    scheduler.encoder_cache_manager.free(request)
    scheduler.finished_recving_kv_req_ids.discard(request_id)
    scheduler.failed_recving_kv_req_ids.discard(request_id)
    # The workers hold a slot for it until they are told.
    scheduler.finished_req_ids.add(request_id)
    if (adapter := getattr(scheduler, "chunk_transfer_adapter", None)) is not None:
        adapter.cleanup_receiver(request_id)
    if (free_inputs := getattr(scheduler, "_free_input_coordinator_request", None)) is not None:
        free_inputs(request_id)


PATCH = Patch(
    name="scheduler_zombies",
    summary="a freed request that is still queued or scheduled is cleared away, its client gets an error",
    explanation="""\
Before every step the three queues are looked through. An object that is not the one tracked under its id, or that was
ended by an abort or an error, is taken out of all of them. Its slot, its KV blocks and its encoder cache come back,
the workers are told that it ended. Its client gets one terminal output with finish reason `error`, unless it was the
client that aborted the request: to vLLM-Omni such an error would be the end of a session that goes on. A request that
goes unknown while a step is being made is taken out of that step too, so that the model does not run it. Counted; a
warning at most every ten seconds tells id, queue and status. Limit: what goes unknown in the middle of schedule() may
stand already in the metadata that a KV connector has built for the step. A connector is not told a second time that
the request ended.""",
    upstream=("vllm#42157", "vllm#42158", "vllm#46011", "vllm-omni#3736", "vllm-omni#5721", "vllm#52969"),
    versions={"vllm": "0.30.0", "vllm-omni": "0.30.0"},
    changes=(
        Change(
            "vllm.v1.core.sched.scheduler:Scheduler.finish_requests",
            "a5badc14634fcd57e0a1ef93054c24a3775ec607ffdb5d06b6d817bdde41553a",
        ),
        Change(
            "vllm.v1.core.sched.scheduler:Scheduler.schedule",
            "eb17ad8fc87eaa1ade6b9ba2ac43bf38a264cfe0295fe3410e2ce7de883f6d38",
        ),
        Change(
            "vllm.v1.core.sched.scheduler:Scheduler._update_after_schedule",
            "d4c15dce856daf13eb6c2c427f8e63d8631c6c4d2892b478d0b4a8b198405c62",
        ),
        Change(
            "vllm.v1.core.sched.scheduler:Scheduler.update_from_output",
            "ce2f3988a274265361bb22915ce13f5d1b8c9adb9304c8250eefb4b94374c30f",
        ),
        Change(
            "vllm_omni.core.sched.omni_ar_scheduler:OmniARScheduler.schedule",
            "135b77d118f5d8c1af777cd4c5adb24cd3431dae79cd8aab7705b228eb013b55",
        ),
        Change(
            "vllm_omni.core.sched.omni_ar_scheduler:OmniARScheduler.update_from_output",
            "ce55e58c04db6e766a873bd52a516dacc867864fb1ef0abcf9324f96cd6445a7",
        ),
        Change(
            "vllm_omni.core.sched.omni_generation_scheduler:OmniGenerationScheduler.schedule",
            "f5b7e149921cc4ef5373f2c2ee362a952a9e18b9483e481c27a454faf3b66441",
        ),
        Change(
            "vllm_omni.core.sched.omni_generation_scheduler:OmniGenerationScheduler.update_from_output",
            "b58663230f316754bc4e4780c6661a5245f7bf9e09c8d3b5b7a871077ffc3c92",
        ),
    ),
    apply=apply,
    excludes=("scheduler_guard_only",),
)
