"""Chunks that were sent and not yet read when a request is aborted stay in shared memory."""

from typing import TYPE_CHECKING

from rig.engine.patches.patch import Bug, Change, Kind
from rig.engine.patches.telling import Teller
from rig.engine.patches.wrapping import Method, wrap

if TYPE_CHECKING:
    from vllm_omni.distributed.omni_connectors.connectors.shm_connector import SharedMemoryConnector
    from vllm_omni.distributed.omni_connectors.transfer_adapter.chunk_transfer_adapter import OmniChunkTransferAdapter

teller = Teller("shm_chunk_leaked_on_abort", kind=Kind.BUG)


def apply() -> None:
    """Clear away nothing on abort, and forget what was put there, so that the end of the stage does not either."""
    from vllm_omni.distributed.omni_connectors.transfer_adapter.chunk_transfer_adapter import OmniChunkTransferAdapter

    wrap(OmniChunkTransferAdapter, "_queue_shm_cleanup_locked", _leaving_chunks)


def _leaving_chunks(_: Method) -> Method:
    def _queue_shm_cleanup_locked(self: "OmniChunkTransferAdapter", external_req_id: str, sender_token: object) -> None:
        puts = getattr(sender_token, "num_puts", 0)
        if puts and not getattr(sender_token, "terminal_sent", False):
            _forget(self.connector, external_req_id)
            teller.tell(f"up to {puts} chunks of {external_req_id} stay in shared memory")

    return _queue_shm_cleanup_locked


def _forget(connector: "SharedMemoryConnector", external_req_id: str) -> None:
    """What the connector would unlink at the end of the stage, without the chunks of one request."""
    with connector._pending_keys_lock:
        for key in [key for key in connector._pending_keys if key.startswith(f"{external_req_id}_")]:
            del connector._pending_keys[key]


BUG = Bug(
    name="shm_chunk_leaked_on_abort",
    summary="chunks that nobody has read when their request is aborted stay in /dev/shm",
    explanation="""\
A stage hands chunks to the next one in named segments of shared memory, which the reader unlinks. When a request is
aborted in between, the release unlinks what it has put there; this bug does not, and the segments outlive the server.
Each is small; after many hang-ups /dev/shm is full, and putting the next chunk fails.""",
    provoked_by="hanging up or barging in while a reply is being made",
    upstream=("vllm-omni#4414",),
    versions={"vllm": "0.30.0", "vllm-omni": "0.30.0"},
    changes=(
        Change(
            "vllm_omni.distributed.omni_connectors.transfer_adapter.chunk_transfer_adapter:OmniChunkTransferAdapter._queue_shm_cleanup_locked",
            "7affea4175ed8832ae396a8c3249cf3e82b3cb39066710eb4e190f2ea6c36d1c",
        ),
    ),
    apply=apply,
)
