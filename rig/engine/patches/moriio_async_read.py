"""Fault 3: MoRIIO in READ mode lets a request run before its KV is there. Here it waits, as vLLM's other loads do."""

import os
import time
from typing import TYPE_CHECKING

from rig.engine.patches.patch import Change, Patch
from rig.engine.patches.telling import Teller
from rig.engine.patches.wrapping import Method, add, wrap

if TYPE_CHECKING:
    from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorTransferResults
    from vllm.distributed.kv_transfer.kv_connector.v1.moriio.moriio_common import MoRIIOConnectorMetadata
    from vllm.distributed.kv_transfer.kv_connector.v1.moriio.moriio_connector import (
        MoRIIOConnector,
        MoRIIOConnectorScheduler,
        MoRIIOConnectorWorker,
    )
    from vllm.v1.request import Request

teller = Teller("moriio_async_read")

LOADING, SUCCEEDED, FAILED = "_rig_loading", "_rig_succeeded", "_rig_failed"
"""What the patch keeps on a worker: start of each load by request id, ids whose load arrived, ids whose load failed."""


def apply() -> None:
    """Answer "asynchronous" where something is to be loaded, and report the end of each such load, good or bad."""
    from vllm.distributed.kv_transfer.kv_connector.v1.moriio.moriio_connector import (
        MoRIIOConnector,
        MoRIIOConnectorScheduler,
        MoRIIOConnectorWorker,
    )

    wrap(MoRIIOConnectorScheduler, "get_num_new_matched_tokens", _asynchronous)
    wrap(MoRIIOConnectorWorker, "start_load_kv", _noting_loads)
    wrap(MoRIIOConnectorWorker, "_pop_done_transfers", _noting_arrivals)
    wrap(MoRIIOConnectorWorker, "get_finished", _reporting)
    wrap(MoRIIOConnectorWorker, "wait_for_layer_load", _not_waiting)
    add(MoRIIOConnector, "get_transfer_results", _transfer_results)


def _asynchronous(original: Method) -> Method:
    def get_num_new_matched_tokens(
        self: "MoRIIOConnectorScheduler", request: "Request", num_computed_tokens: int
    ) -> tuple[int, bool]:
        tokens, asynchronous = original(self, request, num_computed_tokens)
        if not _reads(self):
            return tokens, asynchronous
        if tokens <= 0 or not _has_source(request):
            return 0, False
        return tokens, True

    return get_num_new_matched_tokens


def _reads(side: "MoRIIOConnectorScheduler | MoRIIOConnectorWorker") -> bool:
    from vllm.distributed.kv_transfer.kv_connector.v1.moriio.moriio_common import MoRIIOMode

    return not side.is_producer and side.mode == MoRIIOMode.READ


def _has_source(request: "Request") -> bool:
    """Whether `update_state_after_alloc` will start a read for it: only once, and only for what a prefill has left."""
    params = request.kv_transfer_params or {}
    return bool(params.get("do_remote_prefill") and params.get("remote_block_ids") and "remote_engine_id" in params)


def _noting_loads(original: Method) -> Method:
    def start_load_kv(self: "MoRIIOConnectorWorker", metadata: "MoRIIOConnectorMetadata") -> None:
        if _reads(self):
            # A read of no blocks only tells the prefill to let go: nobody waits for its end.
            started = {req_id for req_id, meta in metadata.reqs_to_recv.items() if any(map(len, meta.local_block_ids))}
            vars(self).setdefault(LOADING, {}).update(dict.fromkeys(started, time.monotonic()))
        original(self, metadata)

    return start_load_kv


def _noting_arrivals(original: Method) -> Method:
    def _pop_done_transfers(self: "MoRIIOConnectorWorker") -> set[str]:
        transfers = {req_id: address[2] for req_id, address in self._recving_transfers_callback_addr.items()}
        done: set[str] = original(self)
        arrived = {req_id for req_id, transfer in transfers.items() if transfer in done}
        vars(self).setdefault(SUCCEEDED, set()).update(arrived)
        return done

    return _pop_done_transfers


def _reporting(original: Method) -> Method:
    def get_finished(self: "MoRIIOConnectorWorker") -> tuple[set[str], set[str]]:
        sent, received = original(self)
        return (sent, _ended_loads(self)) if _reads(self) else (sent, received)

    return get_finished


def _ended_loads(worker: "MoRIIOConnectorWorker") -> set[str]:
    """The loads that are over: arrived, failed, or never begun within the transfer's own time limit."""
    loading: dict[str, float] = vars(worker).setdefault(LOADING, {})
    succeeded: set[str] = vars(worker).setdefault(SUCCEEDED, set())
    limit_s = float(os.environ.get("VLLM_MORIIO_TRANSFER_TIMEOUT_S", "120"))
    now_s = time.monotonic()
    arrived = loading.keys() & succeeded
    begun: dict[str, bool] = vars(worker).setdefault("_rig_begun", {})
    failed = set()
    for req_id in loading.keys() - arrived:
        if req_id in worker._recving_transfers:
            begun[req_id] = True
        elif begun.get(req_id) or now_s - loading[req_id] > limit_s:
            failed.add(req_id)
            teller.tell(f"the load of {req_id} failed")
    for req_id in arrived | failed:
        del loading[req_id]
        begun.pop(req_id, None)
    succeeded.clear()
    vars(worker).setdefault(FAILED, set()).update(failed)
    return arrived | failed


def _not_waiting(original: Method) -> Method:
    def wait_for_layer_load(self: "MoRIIOConnectorWorker", layer_name: str) -> None:
        if _reads(self):
            # No request of this step has a read under way, and the step must not wait for the reads of others.
            return
        original(self, layer_name)

    return wait_for_layer_load


def _transfer_results(self: "MoRIIOConnector", finished_req_ids: set[str]) -> "KVConnectorTransferResults":
    """`get_transfer_results` with the failed loads, which the base class does not know."""
    from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorBase_V1

    results: KVConnectorTransferResults = KVConnectorBase_V1.get_transfer_results(self, finished_req_ids)
    failed: set[str] = vars(self.connector_worker).get(FAILED, set())
    results.failed_recving = failed & results.finished_recving
    failed.clear()
    return results


_MODULE = "vllm.distributed.kv_transfer.kv_connector.v1.moriio.moriio_connector"

PATCH = Patch(
    name="moriio_async_read",
    summary="MoRIIO READ loads are asynchronous: a request waits for its KV, the core scheduler is untouched",
    explanation="""\
In READ mode the connector answers that a load is synchronous, so that a request is put into `running` and into the
step in which its KV is only being asked for. With this patch it answers `(n, True)` where n > 0 tokens are to be
loaded: the request waits in WAITING_FOR_REMOTE_KVS, is promoted when the worker reports the end of its read through
`get_finished`, and a step never holds a request whose KV is not there. A read that failed or never began is
reported as failed, so that vLLM's policy (`kv_load_failure_policy`) decides; before, the request ran on KV that
never came. It answers `(0, False)` where nothing is to be loaded: a full local hit (the prefill is still told to
let go), a request without a prefill elsewhere, and one that was preempted after its only read. The wait inside each
layer goes away with its reason. Only functions of the MoRIIO connector are changed. Not tried: a real transfer,
which needs the `mori` engine and an AMD GPU.""",
    upstream=("vllm#54301",),
    versions={"vllm": "0.30.0"},
    changes=(
        Change(
            f"{_MODULE}:MoRIIOConnectorScheduler.get_num_new_matched_tokens",
            "fbbbea6d4c5793f50ccff4f1d44d867f92429545443018b53a2bbc5a71983d5e",
        ),
        Change(
            f"{_MODULE}:MoRIIOConnectorWorker.start_load_kv",
            "160e4e0bf51e43fd686dc66a279f986e683a28cc10972078c1cceb8e2ee8c562",
        ),
        Change(
            f"{_MODULE}:MoRIIOConnectorWorker._pop_done_transfers",
            "decabc82cd78e30bfafa5b9a7616ae0b6ffd8a6edb9638f8ba0af52bee66c980",
        ),
        Change(
            f"{_MODULE}:MoRIIOConnectorWorker.get_finished",
            "49cfe05b52c319dd695c8a012b218f1e0bf3afdbd748d62870f9f2bc53758e8e",
        ),
        Change(
            f"{_MODULE}:MoRIIOConnectorWorker.wait_for_layer_load",
            "9f1c78bdee853387662a5b6f825b6e702d3b3889b449914c7ebdf0a120ffa930",
        ),
        Change(
            "vllm.distributed.kv_transfer.kv_connector.v1.base:KVConnectorBase_V1.get_transfer_results",
            "52f367a6ae83c1f2db474fd5157fe43f3af2bc4d93a5d0681662fe246e19d815",
        ),
    ),
    apply=apply,
)
