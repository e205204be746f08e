"""vLLM-Omni's platform interface on top of vLLM's CPU platform."""

from typing import Any

import psutil
import torch
from vllm.platforms.cpu import CpuPlatform
from vllm_omni.platforms.interface import OmniPlatform, OmniPlatformEnum


class CpuOmniPlatform(OmniPlatform, CpuPlatform):
    """CPU platform: what vLLM's own one says, plus the workers that vLLM-Omni's stages need.

    `OmniPlatform` comes first, as in vLLM-Omni's own platforms: its methods ask `super()` for what they do not know.
    """

    _omni_enum = OmniPlatformEnum.OOT
    # A name of its own: vLLM-Omni rewrites this variable per stage, and the CPU's real one binds memory nodes.
    device_control_env_var = "RIG_CPU_VISIBLE_DEVICES"

    @classmethod
    def get_omni_ar_worker_cls(cls) -> str:
        """Worker of the Thinker and Talker stages."""
        return "rig.engine.platform.worker.CpuARWorker"

    @classmethod
    def get_omni_generation_worker_cls(cls) -> str:
        """Worker of the Code2Wav stage."""
        return "rig.engine.platform.worker.CpuGenerationWorker"

    @classmethod
    def get_default_stage_config_path(cls) -> str:
        """Where vLLM-Omni keeps its stage configs."""
        return "vllm_omni/model_executor/stage_configs"

    @classmethod
    def supports_torch_inductor(cls) -> bool:
        """Eager only: compiling costs minutes and needs a C++ compiler."""
        return False

    @classmethod
    def supports_talker_mtp_graph_capture(cls) -> bool:
        """There are no graphs to capture on a CPU."""
        return False

    @classmethod
    def get_torch_device(cls, local_rank: int | None = None) -> torch.device:
        """The one CPU device."""
        return torch.device("cpu")

    @classmethod
    def get_device_count(cls) -> int:
        """One: all stages share the machine."""
        return 1

    @classmethod
    def get_device_version(cls) -> str | None:
        """A CPU has no device runtime version."""
        return None

    @classmethod
    def synchronize(cls) -> None:
        """Nothing runs behind the caller's back on a CPU."""

    @classmethod
    def get_free_memory(cls, device: Any = None) -> int:
        """Bytes that new processes can have."""
        return int(psutil.virtual_memory().available)

    @classmethod
    def get_device_memory(cls, device: Any = None) -> tuple[int, int]:
        """Free and total bytes."""
        memory = psutil.virtual_memory()
        return int(memory.available), int(memory.total)

    @classmethod
    def get_diffusion_attn_backend_cls(
        cls, selected_backend: str | None, head_size: int, allow_trtllm_default: bool = False
    ) -> str:
        """Torch's own attention; MiniCPM-o has no diffusion stage, the interface asks all the same."""
        from vllm_omni.diffusion.attention.backends.registry import DiffusionAttentionBackendEnum

        return str(DiffusionAttentionBackendEnum.TORCH_SDPA.get_path())
