"""Fault 2: Mooncake's store connector ends the engine core over a request that its books have lost."""

import copy
from collections.abc import Collection
from typing import TYPE_CHECKING

from rig.engine.patches import books
from rig.engine.patches.patch import Change, Patch
from rig.engine.patches.telling import Teller
from rig.engine.patches.wrapping import Method, wrap

if TYPE_CHECKING:
    from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorMetadata
    from vllm.distributed.kv_transfer.kv_connector.v1.mooncake.store.scheduler import MooncakeStoreScheduler
    from vllm.v1.core.sched.output import SchedulerOutput

teller = Teller("mooncake_store_unfinished")


def apply() -> None:
    """Show the connector a step that its books can follow."""
    from vllm.distributed.kv_transfer.kv_connector.v1.mooncake.store.scheduler import MooncakeStoreScheduler

    wrap(MooncakeStoreScheduler, "build_connector_meta", _reconciling)


def _reconciling(original: Method) -> Method:
    def build_connector_meta(
        self: "MooncakeStoreScheduler", scheduler_output: "SchedulerOutput"
    ) -> "KVConnectorMetadata":
        began = _began(self, scheduler_output)
        ended = scheduler_output.finished_req_ids & began
        preempted = (scheduler_output.preempted_req_ids or set()) & began
        shown = _without_early_ends(scheduler_output, ended | preempted)
        for request_id in ended | preempted:
            # The lifecycle that ended; the one that began in this step gets a tracker of its own.
            self._request_trackers.pop(request_id, None)
        if lost := _lost(self, shown):
            _drop(self, shown, lost)
        meta: KVConnectorMetadata = original(self, shown)
        # The workers have to hear of every preemption, also of one that is over.
        meta.preempted_req_ids = scheduler_output.preempted_req_ids or set()
        return meta

    return build_connector_meta


def _began(connector: "MooncakeStoreScheduler", output: "SchedulerOutput") -> set[str]:
    """Requests that were given blocks in this step, so that their entry is newer than any end or preemption in it."""
    scheduled = {new.req_id for new in output.scheduled_new_reqs} | output.scheduled_cached_reqs.resumed_req_ids
    return {request_id for request_id in scheduled if request_id in connector._unfinished_requests}


def _without_early_ends(output: "SchedulerOutput", began: Collection[str]) -> "SchedulerOutput":
    """The same step, in which what began in it has not ended or been preempted before."""
    shown = copy.copy(output)
    shown.finished_req_ids = output.finished_req_ids.difference(began)
    shown.preempted_req_ids = (output.preempted_req_ids or set()).difference(began)
    return shown


def _lost(connector: "MooncakeStoreScheduler", output: "SchedulerOutput") -> set[str]:
    """Scheduled requests that the connector's books do not have, or will not have once they are brought up to date."""
    gone = output.finished_req_ids | (output.preempted_req_ids or set())
    new = {data.req_id for data in output.scheduled_new_reqs}
    cached = output.scheduled_cached_reqs
    untracked = {
        request_id
        for request_id in cached.req_ids
        if request_id not in cached.resumed_req_ids and request_id not in connector._request_trackers
    }
    scheduled = new.union(cached.req_ids)
    return untracked | {one for one in scheduled if one in gone or one not in connector._unfinished_requests}


def _drop(connector: "MooncakeStoreScheduler", output: "SchedulerOutput", lost: Collection[str]) -> None:
    """Forget the lost requests and hide them from this step: no job is made for blocks that may be somebody else's."""
    output.scheduled_new_reqs = [new for new in output.scheduled_new_reqs if new.req_id not in lost]
    output.scheduled_cached_reqs = copy.deepcopy(output.scheduled_cached_reqs)
    books.forget_cached(output.scheduled_cached_reqs, lost)
    for request_id in lost:
        teller.tell(f"{request_id} is scheduled and not in the store's books; it is saved no more")
        connector.load_specs.pop(request_id, None)
        connector._request_trackers.pop(request_id, None)
        connector._unfinished_requests.pop(request_id, None)
        connector._unfinished_request_ids.discard(request_id)


PATCH = Patch(
    name="mooncake_store_unfinished",
    summary="the store's books follow a preemption or a reused id in one step; what they have lost is saved no more",
    explanation="""\
`build_connector_meta` first forgets what ended or was preempted since the last step, and then handles what is
scheduled. A request that was preempted and came back within one step, or whose id was used again within one step,
is forgotten after it was entered anew, and the next line fails: TypeError, AssertionError or, one step later,
`ValueError: Request … is not in _unfinished_requests`. With this patch an end or a preemption in the step in which
the same id was given blocks again does not touch the new entry; the workers still hear of the preemption. A
scheduled request that the books do not have in spite of that is dropped from all of them and hidden from the store:
it is neither saved nor loaded from then on, and the model still runs it.""",
    upstream=("vllm#46595", "vllm#43281", "vllm#52360"),
    versions={"vllm": "0.30.0"},
    changes=(
        Change(
            "vllm.distributed.kv_transfer.kv_connector.v1.mooncake.store.scheduler:MooncakeStoreScheduler."
            "build_connector_meta",
            "118571a144b304f3c3c6788859ab67af8e3586f6a53ecfcb2b8e51cac29840c9",
        ),
    ),
    apply=apply,
)
