"""Fault 3: MoRIIO's READ mode puts a request into the step in which its KV is only being asked for."""

from typing import TYPE_CHECKING

from rig.engine.repro.bench import Bench, Setup
from rig.engine.repro.scenario import RIGHT, UNPATCHED, Case, Expected, Raised, Scenario
from rig.engine.repro.worker_answers import AR, MISSING_ROW

if TYPE_CHECKING:
    from vllm.v1.core.sched.output import SchedulerOutput
    from vllm.v1.outputs import KVConnectorOutput

ASYNC_READ = ("moriio_async_read",)

PREFILL, DECODE = "host:127.0.0.1,handshake:6301,notify:61005", "host:127.0.0.1,handshake:6302,notify:61006"
COMPOUND_ID = f"cmpl-___prefill_addr_{PREFILL}___decode_addr_{DECODE}_{'0f' * 16}-0-1a2b3c4d"
"""An id as the router makes it and vLLM's server wraps it."""

CONNECTOR = {
    "kv_connector": "MoRIIOConnector",
    "kv_role": "kv_consumer",
    "kv_connector_extra_config": {
        "read_mode": True,
        "host_ip": "127.0.0.1",
        "handshake_port": "6302",
        "notify_port": "61006",
    },
}

NO_ROW = Expected(Raised("KeyError", repr(COMPOUND_ID), "update_from_output"))


def params(blocks: int) -> dict[str, object]:
    """What the prefill's `request_finished` returns and the router passes on."""
    return {
        "do_remote_prefill": True,
        "do_remote_decode": False,
        "remote_block_ids": [list(range(1, blocks + 1))],
        "remote_engine_id": "127.0.0.1:6301",
        "transfer_id": "tx-1",
        "tp_size": 1,
    }


def first_request(bench: Bench) -> None:
    """The first request of a decode instance, and a step whose output has no row for it."""
    bench.worker = Reads(bench)
    bench.add(COMPOUND_ID, prompt=20, kv_transfer_params=params(blocks=2))
    output = bench.schedule()
    bench.note(f"asked for in this step: {list(output.kv_connector_metadata.reqs_to_recv)}")
    bench.note(f"status {bench.requests[COMPOUND_ID].status.name}")
    bench.outside("the worker's output has no row for it")
    bench.update(without_rows=[COMPOUND_ID])
    bench.schedule()
    bench.update()


class Reads:
    """The worker's side: a read ends one step after it was asked for, and is reported where a request waits for it."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._under_way: set[str] = set()

    def __call__(self, output: "SchedulerOutput") -> "KVConnectorOutput | None":
        """What the worker reports with this step."""
        from vllm.v1.outputs import KVConnectorOutput
        from vllm.v1.request import RequestStatus

        ended, self._under_way = self._under_way, set(output.kv_connector_metadata.reqs_to_recv)
        requests = self._bench.requests
        waited = {one for one in ended if requests[one].status == RequestStatus.WAITING_FOR_REMOTE_KVS}
        return KVConnectorOutput(finished_recving=waited) if waited else None


SCENARIOS = (
    Scenario(
        "moriio-read",
        "the first request of a decode instance, with a compound id",
        first_request,
        tuple(
            Case(Setup(kind, connector=CONNECTOR), {UNPATCHED: NO_ROW, ASYNC_READ: RIGHT, MISSING_ROW: RIGHT})
            for kind in AR
        ),
    ),
)
