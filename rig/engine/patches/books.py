"""A scheduler's books: its queues, what it has just scheduled, and what its clients still have to be told."""

import dataclasses
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from rig.engine.patches.patch import installed

if TYPE_CHECKING:
    from vllm.v1.core.sched.output import CachedRequestData, SchedulerOutput
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.engine import EngineCoreOutputs
    from vllm.v1.request import Request

    from rig.engine.patches.wrapping import Method

QUEUES = ("running", "waiting", "skipped_waiting")
_UNTOLD = "_rig_untold_errors"


def schedulers() -> list[type]:
    """The classes that have an `update_from_output` of their own; every other scheduler inherits one of them."""
    from vllm.v1.core.sched.scheduler import Scheduler

    found: list[type] = [Scheduler]
    if installed("vllm_omni"):
        from vllm_omni.core.sched.omni_ar_scheduler import OmniARScheduler
        from vllm_omni.core.sched.omni_generation_scheduler import OmniGenerationScheduler

        found += [OmniARScheduler, OmniGenerationScheduler]
    return found


def queued(scheduler: "Scheduler") -> Iterator[tuple[str, "Request"]]:
    """Every place in a queue: its name and the request."""
    for name in QUEUES:
        for request in getattr(scheduler, name):
            yield name, request


def unqueue(scheduler: "Scheduler", requests: Collection["Request"]) -> None:
    """Take these objects out of all three queues, and count the parked sessions anew."""
    from vllm.v1.request import RequestStatus

    scheduler.running = [request for request in scheduler.running if request not in requests]
    scheduler.waiting.remove_requests(requests)
    scheduler.skipped_waiting.remove_requests(requests)
    parked = (request.status == RequestStatus.WAITING_FOR_STREAMING_REQ for _, request in queued(scheduler))
    scheduler.num_waiting_for_streaming_input = sum(parked)


def unschedule(scheduler: "Scheduler", output: "SchedulerOutput", ids: Collection[str]) -> None:
    """Take requests out of what was just scheduled, as if the step had never had them."""
    before = output.total_num_scheduled_tokens
    for request_id in ids:
        output.num_scheduled_tokens.pop(request_id, None)
        output.scheduled_spec_decode_tokens.pop(request_id, None)
        output.scheduled_encoder_inputs.pop(request_id, None)
        scheduler.prev_step_scheduled_req_ids.discard(request_id)
    output.total_num_scheduled_tokens = sum(output.num_scheduled_tokens.values())
    output.scheduled_new_reqs = [new for new in output.scheduled_new_reqs if new.req_id not in ids]
    forget_cached(output.scheduled_cached_reqs, ids)
    if scheduler.defer_block_free and before > 0 and output.total_num_scheduled_tokens == 0:
        # schedule() has numbered this step already, and update_from_output() numbers only steps with tokens: one ahead
        # for good, the blocks whose freeing waits for this number would never come back.
        scheduler.sched_step_seq -= 1


def forget_cached(cached: "CachedRequestData", ids: Collection[str]) -> None:
    """Take requests out of all the parallel lists, sets and maps, in place."""
    keep = [index for index, request_id in enumerate(cached.req_ids) if request_id not in ids]
    length = len(cached.req_ids)
    for item in dataclasses.fields(cached):
        value = getattr(cached, item.name)
        if isinstance(value, list) and len(value) == length:
            setattr(cached, item.name, [value[index] for index in keep])
        elif isinstance(value, set):
            value.difference_update(ids)
        elif isinstance(value, dict):
            for request_id in ids:
                value.pop(request_id, None)


def owe_error(scheduler: "Scheduler", request: "Request", reason: str) -> None:
    """Remember that the client of `request` has to be told that it ended with an error."""
    untold = vars(scheduler).setdefault(_UNTOLD, {})
    untold[request.request_id] = (request.client_index, reason)


def telling(original: "Method") -> "Method":
    """Around `update_from_output`: what clients are owed goes out with the step's outputs."""

    def update_from_output(self: "Scheduler", *args: object, **kwargs: object) -> dict[int, "EngineCoreOutputs"]:
        outputs: dict[int, EngineCoreOutputs] = original(self, *args, **kwargs)
        tell_clients(self, outputs)
        return outputs

    return update_from_output


def tell_clients(scheduler: "Scheduler", outputs: dict[int, "EngineCoreOutputs"]) -> None:
    """Add the terminal errors that are owed, in the place of an abort that vLLM-Omni made up for the same request."""
    from vllm.v1.engine import EngineCoreOutput, EngineCoreOutputs, FinishReason

    untold: dict[str, tuple[int, str]] = vars(scheduler).get(_UNTOLD, {})
    for request_id, (client, reason) in untold.items():
        theirs = outputs.setdefault(client, EngineCoreOutputs())
        theirs.outputs = [
            output for output in theirs.outputs if output.request_id != request_id or output.new_token_ids
        ]
        theirs.outputs.append(
            EngineCoreOutput(
                request_id=request_id, new_token_ids=[], finish_reason=FinishReason.ERROR, stop_reason=reason
            )
        )
    untold.clear()
