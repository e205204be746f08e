"""The worker's half of the patch, on the released class, with transfers that the test ends."""

import threading
from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("vllm")

from vllm.distributed.kv_transfer.kv_connector.v1.moriio.moriio_common import MoRIIOMode
from vllm.distributed.kv_transfer.kv_connector.v1.moriio.moriio_connector import (
    MoRIIOConnector,
    MoRIIOConnectorScheduler,
    MoRIIOConnectorWorker,
)

from rig.engine.patches.registry import patched

pytestmark = pytest.mark.timeout(300)  # the first one imports vLLM


class Transfer:
    """One layer's read, as the engine reports it."""

    def __init__(self) -> None:
        self.state = "running"

    def Succeeded(self) -> bool:  # noqa: N802  the engine's name
        return self.state == "succeeded"

    def Failed(self) -> bool:  # noqa: N802
        return self.state == "failed"

    def Message(self) -> str:  # noqa: N802
        return "link down"

    def Code(self) -> int:  # noqa: N802
        return 1


class Reading:
    """A released worker object without its constructor, which would need the engine."""

    def __init__(self) -> None:
        self.worker: Any = MoRIIOConnectorWorker.__new__(MoRIIOConnectorWorker)
        self.released: list[str] = []
        self.transfers: dict[str, Transfer] = {}
        vars(self.worker).update(
            is_producer=False,
            mode=MoRIIOMode.READ,
            world_size=1,
            shutdown=lambda: None,
            moriio_wrapper=SimpleNamespace(
                lock=threading.Lock(), send_notify=lambda xfer, *_, **__: self.released.append(xfer)
            ),
            moriio_config=SimpleNamespace(transfer_timeout=1.0),
            transfer_id_to_request_id={},
            _recving_transfers=defaultdict(dict),
            _recving_transfers_start={},
            _recving_transfers_callback_addr={},
            _eager_handshake_all_dp_ranks=lambda metadata: None,
            _eager_handshaked_engines={"host:1"},
            _remote_agents={},
            _ready_requests=SimpleNamespace(empty=lambda: True),
            _reqs_to_send={},
            load_ready_flag={},
            _read_blocks_for_req=self.begin,
        )

    def begin(self, req_id: str, meta: Any) -> None:
        transfer = self.transfers.setdefault(req_id, Transfer())
        self.worker._recving_transfers[req_id]["layer"] = transfer
        self.worker._recving_transfers_callback_addr[req_id] = ("host", "2", f"tx-{req_id}")

    def ask(self, req_id: str, blocks: int) -> None:
        meta = SimpleNamespace(
            remote_host="host",
            remote_handshake_port=1,
            local_block_ids=[list(range(blocks))],
            transfer_id=f"tx-{req_id}",
        )
        metadata = SimpleNamespace(reqs_to_recv={req_id: meta}, reqs_to_send={}, transfer_id_to_request_id={})
        self.worker.start_load_kv(metadata)

    def results(self) -> Any:
        connector: Any = MoRIIOConnector.__new__(MoRIIOConnector)
        connector.connector_worker = self.worker
        return connector.get_transfer_results(set())


def test_unpatched_the_end_of_a_read_is_reported_to_nobody() -> None:
    reading = Reading()
    reading.ask("r", blocks=2)
    reading.transfers["r"].state = "succeeded"
    assert reading.results().finished_recving == set()
    assert reading.released == ["tx-r"]


def test_a_read_is_reported_once_when_it_ends_even_where_the_request_is_no_longer_mapped() -> None:
    with patched(["moriio_async_read"]):
        reading = Reading()
        reading.ask("r", blocks=2)
        assert reading.results().finished_recving == set()
        reading.transfers["r"].state = "succeeded"
        results = reading.results()
        assert (results.finished_recving, results.failed_recving) == ({"r"}, set())
        assert reading.results().finished_recving == set()
        assert reading.released == ["tx-r"]


def test_a_read_of_no_blocks_lets_the_prefill_go_and_reports_nothing() -> None:
    with patched(["moriio_async_read"]):
        reading = Reading()
        reading.ask("r", blocks=0)
        reading.transfers["r"].state = "succeeded"
        assert reading.results().finished_recving == set()
        assert reading.released == ["tx-r"]


def test_a_failed_read_is_reported_as_failed() -> None:
    with patched(["moriio_async_read"]):
        reading = Reading()
        reading.ask("r", blocks=2)
        reading.results()
        reading.transfers["r"].state = "failed"
        results = reading.results()
        assert (results.finished_recving, results.failed_recving) == ({"r"}, {"r"})
        assert reading.results().failed_recving == set()


def test_a_read_that_never_begins_fails_after_the_transfers_own_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    with patched(["moriio_async_read"]):
        reading = Reading()
        reading.worker._read_blocks_for_req = lambda req_id, meta: None
        reading.ask("r", blocks=2)
        assert reading.results().finished_recving == set()
        monkeypatch.setenv("VLLM_MORIIO_TRANSFER_TIMEOUT_S", "0")
        assert reading.results().failed_recving == {"r"}


def test_a_layer_does_not_wait_for_the_reads_of_others() -> None:
    with patched(["moriio_async_read"]):
        reading = Reading()
        reading.ask("r", blocks=2)
        reading.worker.wait_for_layer_load("layer")
        assert reading.transfers["r"].state == "running"


def matched(params: dict[str, object] | None, computed: int, mode: MoRIIOMode = MoRIIOMode.READ) -> tuple[int, bool]:
    scheduler: Any = MoRIIOConnectorScheduler.__new__(MoRIIOConnectorScheduler)
    scheduler.is_producer, scheduler.mode = False, mode
    request = SimpleNamespace(prompt_token_ids=list(range(20)), kv_transfer_params=params)
    answer: tuple[int, bool] = scheduler.get_num_new_matched_tokens(request, computed)
    return answer


SOURCE: dict[str, object] = {"do_remote_prefill": True, "remote_block_ids": [[1]], "remote_engine_id": "host:1"}


@pytest.mark.parametrize(
    ("params", "computed", "answer"),
    [
        (SOURCE, 0, (19, True)),
        (SOURCE, 16, (3, True)),
        (SOURCE, 19, (0, False)),
        (SOURCE | {"do_remote_prefill": False}, 0, (0, False)),
        (SOURCE | {"remote_block_ids": []}, 0, (0, False)),
        (None, 0, (0, False)),
    ],
)
def test_what_is_loaded_and_how(params: dict[str, object] | None, computed: int, answer: tuple[int, bool]) -> None:
    with patched(["moriio_async_read"]):
        assert matched(params, computed) == answer


def test_unpatched_a_request_without_any_source_counts_as_loaded() -> None:
    assert matched(None, 0) == (19, False)


def test_write_mode_is_as_it_was() -> None:
    before = matched(SOURCE, 0, MoRIIOMode.WRITE)
    with patched(["moriio_async_read"]):
        assert matched(SOURCE, 0, MoRIIOMode.WRITE) == before == (20, True)
