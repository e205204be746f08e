"""What a stage keeps of a request for sending its chunks is never given back when the request is aborted."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rig.engine.patches.patch import Bug, Change, Kind
from rig.engine.patches.telling import Teller
from rig.engine.patches.wrapping import Method, wrap

if TYPE_CHECKING:
    from vllm.v1.request import Request, RequestStatus
    from vllm_omni.distributed.omni_connectors.transfer_adapter.chunk_transfer_adapter import OmniChunkTransferAdapter

teller = Teller("sender_state_leaked_on_abort", kind=Kind.BUG)


def apply() -> None:
    """Keep the sender's side of every request that is aborted."""
    from vllm_omni.distributed.omni_connectors.transfer_adapter.chunk_transfer_adapter import OmniChunkTransferAdapter

    wrap(OmniChunkTransferAdapter, "finish_requests", _keeping_sender)
    wrap(OmniChunkTransferAdapter, "cleanup_sender", _unless_aborting)


_ABORTING = "_rig_aborting"


def _keeping_sender(original: Method) -> Method:
    def finish_requests(
        self: "OmniChunkTransferAdapter",
        request_ids: str | Iterable[str] | None,
        finished_status: "RequestStatus",
        requests: "dict[str, Request] | None" = None,
    ) -> list[tuple[str, int]]:
        from vllm.v1.request import RequestStatus

        setattr(self, _ABORTING, finished_status is RequestStatus.FINISHED_ABORTED)
        try:
            told: list[tuple[str, int]] = original(self, request_ids, finished_status, requests)
            return told
        finally:
            setattr(self, _ABORTING, False)

    return finish_requests


def _unless_aborting(original: Method) -> Method:
    def cleanup_sender(self: "OmniChunkTransferAdapter", external_req_id: str) -> None:
        if not getattr(self, _ABORTING, False):
            original(self, external_req_id)
        elif external_req_id in self._sender_tokens:
            teller.tell(f"{len(self._sender_tokens)} senders are kept, the last of {external_req_id}")

    return cleanup_sender


BUG = Bug(
    name="sender_state_leaked_on_abort",
    summary="codec history and counters of an aborted request are kept for ever by the stage that sent its chunks",
    explanation="""\
The stage that sends chunks keeps codec history, reference sound and counters for each request. The end of a reply
gives them back, and in the release an abort does too; before #6352 it did not. The memory of the sending stage grows
with each abort, by little: polite load shows nothing.""",
    provoked_by="hanging up or barging in while a reply is being made, for hours",
    upstream=("vllm-omni#6352", "vllm-omni#4414"),
    versions={"vllm": "0.30.0", "vllm-omni": "0.30.0"},
    changes=(
        Change(
            "vllm_omni.distributed.omni_connectors.transfer_adapter.chunk_transfer_adapter:OmniChunkTransferAdapter.finish_requests",
            "b26a2692bfd5be2da2b9b50c7353fce60628731950bf55fec1bf7c9c48c99e40",
        ),
        Change(
            "vllm_omni.distributed.omni_connectors.transfer_adapter.chunk_transfer_adapter:OmniChunkTransferAdapter.cleanup_sender",
            "e9db1b97d8aa6bbbc7cb00ae9365626f6bca632787de603b6f50dc4d9932ecd4",
        ),
    ),
    apply=apply,
)
