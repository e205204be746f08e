"""The CPU platform of vLLM-Omni, as out-of-tree platform plugins.

vLLM-Omni ships CUDA, ROCm, NPU, XPU and MUSA platforms and no CPU one, while vLLM itself has one. Two plugins fill the
gap, so that the real engines run where there is no GPU: one gives vLLM-Omni a CPU platform, the other lets vLLM's own
CPU platform keep two settings that it overrides. Both switch themselves on only in a CPU build of vLLM; anywhere else
they return None and nothing changes.
"""

OMNI_PLATFORM_CLASS = "rig.engine.platform.omni_cpu.CpuOmniPlatform"
VLLM_PLATFORM_CLASS = "rig.engine.platform.vllm_cpu.KeepingCpuPlatform"


def activate_omni() -> str | None:
    """Entry point of the group `vllm_omni.platform_plugins`: the platform's class path, or None."""
    return OMNI_PLATFORM_CLASS if _is_cpu_build() else None


def activate_vllm() -> str | None:
    """Entry point of the group `vllm.platform_plugins`: the platform's class path, or None."""
    return VLLM_PLATFORM_CLASS if _is_cpu_build() else None


def _is_cpu_build() -> bool:
    """vLLM's own test for its CPU platform; `current_platform` cannot be asked while it is being chosen."""
    from vllm.platforms import cpu_platform_plugin

    return cpu_platform_plugin() is not None
