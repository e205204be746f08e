"""What a worker may answer that the scheduler is not ready for: no row for a request, an end for a freed one."""

from rig.engine.repro.bench import Bench, Kind, Setup
from rig.engine.repro.scenario import RIGHT, UNPATCHED, Case, Expected, Raised, Scenario

OBEDIENT = {
    "kv_connector": "ObedientConnector",
    "kv_connector_module_path": "rig.engine.repro.connector",
    "kv_role": "kv_both",
}

MISSING_ROW, KV_FINISHED = ("update_from_output_missing_row",), ("kv_finished_for_freed_request",)

NO_ROW = Expected(Raised("KeyError", "'gone'", "update_from_output"))
UNKNOWN = Expected(Raised("AssertionError", "", "_update_from_kv_xfer_finished"))


def missing_row(bench: Bench) -> None:
    """Two requests are scheduled, one has a row."""
    bench.add("gone")
    bench.add("stays")
    bench.schedule()
    bench.outside("the worker's output has no row for gone")
    bench.update(without_rows=["gone"])


def second_end(bench: Bench) -> None:
    """A load ends after an abort, which frees the request; then the connector reports another end."""
    from vllm.v1.outputs import KVConnectorOutput

    bench.add("gone", kv_transfer_params={"load": 16, "send": True})
    bench.add("stays")
    bench.schedule()
    bench.abort("gone")
    bench.update(kv=KVConnectorOutput(finished_recving={"gone"}))
    bench.outside("the connector reports a second end, of the send")
    bench.step(kv=KVConnectorOutput(finished_sending={"gone"}))


def both_ends(bench: Bench) -> None:
    """The ends of a load and of a send of one request come in one step."""
    from vllm.v1.outputs import KVConnectorOutput

    bench.add("gone", kv_transfer_params={"load": 16, "send": True})
    bench.add("stays")
    bench.schedule()
    bench.abort("gone")
    bench.outside("the connector reports the end of the load and of the send in one step")
    bench.update(kv=KVConnectorOutput(finished_recving={"gone"}, finished_sending={"gone"}))


AR = (Kind.SCHEDULER, Kind.ASYNC, Kind.OMNI_AR, Kind.OMNI_AR_ASYNC)
_KV_CASES = tuple(Case(Setup(kind, connector=OBEDIENT), {UNPATCHED: UNKNOWN, KV_FINISHED: RIGHT}) for kind in AR)

SCENARIOS = (
    Scenario(
        "missing-row",
        "the worker's output has no row for a scheduled request",
        missing_row,
        tuple(Case(Setup(kind), {UNPATCHED: NO_ROW, MISSING_ROW: RIGHT}) for kind in Kind),
    ),
    Scenario("kv-second-end", "a KV transfer ends after its request was freed", second_end, _KV_CASES),
    Scenario("kv-both-ends", "receive and send of one request end in one step", both_ends, _KV_CASES),
)
