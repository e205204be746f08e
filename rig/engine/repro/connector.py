"""A KV connector that moves nothing: it says of each request what the request says of itself.

`kv_transfer_params` may hold `load`, the number of tokens to be loaded asynchronously, and `send`, whether the blocks
must be kept at the end until a send is reported.
"""

from typing import Any

from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorBase_V1, KVConnectorMetadata, KVConnectorRole
from vllm.v1.core.sched.output import SchedulerOutput
from vllm.v1.request import Request


class ObedientConnector(KVConnectorBase_V1):
    """The scheduler's side; there is no worker on a bench."""

    def __init__(self, vllm_config: Any, role: KVConnectorRole, kv_cache_config: Any) -> None:
        super().__init__(vllm_config, role, kv_cache_config)
        self._loaded: set[str] = set()

    def get_num_new_matched_tokens(self, request: Request, num_computed_tokens: int) -> tuple[int, bool]:
        """Once for each request, what is still to be loaded."""
        wanted = int((request.kv_transfer_params or {}).get("load", 0)) - num_computed_tokens
        if wanted <= 0 or request.request_id in self._loaded:
            return 0, False
        return wanted, True

    def update_state_after_alloc(self, request: Request, blocks: Any, num_external_tokens: int) -> None:
        """A load is asked for once."""
        if num_external_tokens > 0:
            self._loaded.add(request.request_id)

    def build_connector_meta(self, scheduler_output: SchedulerOutput) -> KVConnectorMetadata:
        """Nothing to tell a worker."""
        return KVConnectorMetadata()

    def request_finished(self, request: Request, block_ids: list[int]) -> tuple[bool, dict[str, Any] | None]:
        """Whether the blocks must be kept."""
        return bool((request.kv_transfer_params or {}).get("send")), None

    def start_load_kv(self, forward_context: Any, **kwargs: Any) -> None:
        """Worker's side: never called."""

    def wait_for_layer_load(self, layer_name: str) -> None:
        """Worker's side: never called."""

    def save_kv_layer(self, layer_name: str, kv_layer: Any, attn_metadata: Any, **kwargs: Any) -> None:
        """Worker's side: never called."""

    def wait_for_save(self) -> None:
        """Worker's side: never called."""
