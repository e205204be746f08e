"""Stages of the pipeline as their schedulers see them: one that is fed by chunks, and one that sends them."""

from collections.abc import Callable

from rig.engine.repro.bench import Bench, Kind, Setup

SHARED_MEMORY = "SharedMemoryConnector"


def receiver(kind: Kind = Kind.OMNI_GENERATION, max_num_seqs: int = 2) -> Setup:
    """The stage that is fed by chunks; Code2Wav is one."""
    worker = "generation" if kind is Kind.OMNI_GENERATION else "ar"
    return Setup(kind, max_num_seqs=max_num_seqs, stage=_stage(2, worker, "receiver"))


def sender(kind: Kind = Kind.OMNI_AR) -> Setup:
    """The stage that sends chunks to the next one; the Talker is one."""
    return Setup(kind, max_num_seqs=2, stage=_stage(1, "ar", "sender"))


def _stage(stage_id: int, worker: str, role: str) -> dict[str, object]:
    return {
        "stage_id": stage_id,
        "async_chunk": True,
        "worker_type": worker,
        "stage_connector_config": {"name": SHARED_MEMORY, "extra": {"role": role}},
    }


def parked(bench: Bench, request_id: str) -> None:
    """A request that waits for its first chunk, which nobody sends."""
    bench.add(request_id, max_tokens=8)
    bench.step()
    status = bench.requests[request_id].status.name
    assert status == "WAITING_FOR_CHUNK", status


def abort_while_running(bench: Bench) -> None:
    """A hang-up in the middle of a reply, then a polite caller; nothing is left wrong."""
    bench.add("gone", max_tokens=8)
    bench.step()
    bench.abort("gone")
    bench.add("polite")
    assert bench.wrongs() == []


def closed(bench: Bench) -> None:
    """Let go of the adapter's threads too."""
    adapter = getattr(bench.scheduler, "chunk_transfer_adapter", None)
    if adapter is not None:
        adapter.shutdown()
    bench.close()


def on(setup: Setup, play: Callable[[Bench], None]) -> None:
    """Play something on a new bench, and let go of it."""
    bench = Bench(setup)
    try:
        play(bench)
    finally:
        closed(bench)
