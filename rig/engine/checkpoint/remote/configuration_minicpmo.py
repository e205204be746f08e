"""Config class of the checkpoint: vLLM-Omni's own, with the explicit initialiser that remote code must have."""

from typing import Any

from vllm_omni.model_executor.models.minicpmo_4_5.minicpmo_4_5_omni_llm import MiniCPMOConfig as _Base


class MiniCPMOConfig(_Base):
    """MiniCPM-o 4.5 configuration."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
