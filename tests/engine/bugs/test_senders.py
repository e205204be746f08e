"""The stage that sends chunks: what an abort leaves behind, and the last chunk that is not sent."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

pytest.importorskip("vllm_omni")

from rig.engine.patches.registry import patched
from rig.engine.repro.bench import Bench
from tests.engine.bugs.stages import on, sender
from tests.golden.phone import wait_for

pytestmark = pytest.mark.timeout(300)  # the first one imports vLLM

SHM = Path("/dev/shm")


@pytest.fixture
def name() -> Iterator[str]:
    """The id of a request; what a bug leaves of it in shared memory is cleared away."""
    made = f"rig-test-{uuid4().hex}"
    yield made
    for path in SHM.glob(f"*{made}*"):
        path.unlink()


def chunks(name: str) -> list[str]:
    return sorted(path.name for path in SHM.glob(f"{name}_*"))


def send(bench: Bench, name: str, *, last: bool = False) -> None:
    """A chunk through the real adapter and connector, as the stage's runner asks for it."""
    from vllm_omni.data_entry_keys import MetaStruct, OmniPayloadStruct

    adapter = bench.scheduler.chunk_transfer_adapter

    def payload(**_: object) -> object:
        return OmniPayloadStruct(meta=MetaStruct(finished=last))

    adapter.custom_process_next_stage_input_func = payload
    adapter.save_async({}, bench.requests[name])


def one_chunk_then_an_abort(bench: Bench, name: str) -> None:
    """A chunk is in shared memory, nobody reads it, and the caller hangs up; the adapter has done all it will do."""
    bench.add(name, max_tokens=8)
    bench.requests[name].external_req_id = name
    bench.step()
    send(bench, name)
    wait_for(lambda: bool(chunks(name)))
    adapter = bench.scheduler.chunk_transfer_adapter
    wait_for(lambda: name not in adapter._sender_tokens or not adapter._sender_tokens[name].in_flight)
    bench.abort(name)
    wait_for(lambda: not adapter._pending_save_reqs)


def test_the_released_engine_clears_away_the_chunk_and_the_sender(name: str) -> None:
    def play(bench: Bench) -> None:
        one_chunk_then_an_abort(bench, name)
        wait_for(lambda: not chunks(name))
        assert name not in bench.scheduler.chunk_transfer_adapter._sender_tokens
        assert name not in bench.scheduler.chunk_transfer_adapter.put_req_chunk

    on(sender(), play)


def test_the_chunk_of_an_aborted_request_outlives_the_stage(name: str) -> None:
    def play(bench: Bench) -> None:
        one_chunk_then_an_abort(bench, name)
        assert name not in bench.scheduler.chunk_transfer_adapter._sender_tokens

    with patched([], ["shm_chunk_leaked_on_abort"]):
        on(sender(), play)
    assert chunks(name) == [f"{name}_1_0"]


def test_the_sender_of_an_aborted_request_is_kept(name: str) -> None:
    def play(bench: Bench) -> None:
        one_chunk_then_an_abort(bench, name)
        adapter = bench.scheduler.chunk_transfer_adapter
        assert name in adapter._sender_tokens
        assert adapter.put_req_chunk[name] == 1

    with patched([], ["sender_state_leaked_on_abort"]):
        on(sender(), play)


def test_a_sender_is_given_back_as_ever_when_it_is_not_an_abort(name: str) -> None:
    def play(bench: Bench) -> None:
        bench.add(name, max_tokens=8)
        bench.requests[name].external_req_id = name
        send(bench, name)
        wait_for(lambda: bool(chunks(name)))
        adapter = bench.scheduler.chunk_transfer_adapter
        wait_for(lambda: not adapter._sender_tokens[name].in_flight)
        adapter.cleanup(name, name)
        assert name not in adapter._sender_tokens

    with patched([], ["sender_state_leaked_on_abort"]):
        on(sender(), play)


def terminal_chunks(bench: Bench, name: str) -> list[bool]:
    """The final input of a session meets a parked stage; for each chunk then asked for, whether it is the last."""
    adapter = bench.scheduler.chunk_transfer_adapter
    bench.add(name, max_tokens=1, resumable=True)
    bench.requests[name].external_req_id = name
    send(bench, name)
    bench.step()
    assert bench.books().skipped_waiting == [name]
    asked: list[bool] = []
    original = adapter.save_async

    def listening(*args: object, force_request_finished: bool = False, **kwargs: object) -> None:
        asked.append(force_request_finished)
        original(*args, force_request_finished=force_request_finished, **kwargs)

    adapter.save_async = listening
    bench.add(name, prompt=1, resumable=False)
    return asked


def test_the_released_engine_sends_the_last_chunk_of_a_parked_session(name: str) -> None:
    def play(bench: Bench) -> None:
        assert terminal_chunks(bench, name) == [True]

    on(sender(), play)


def test_the_last_chunk_of_a_parked_session_is_not_sent(name: str) -> None:
    def play(bench: Bench) -> None:
        assert terminal_chunks(bench, name) == []
        assert name not in bench.scheduler.requests

    with patched([], ["terminal_chunk_never_sent"]):
        on(sender(), play)
