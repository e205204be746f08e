"""The plugins switch themselves on in a CPU build of vLLM and nowhere else."""

import importlib.util
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(importlib.util.find_spec("vllm_omni") is None, reason="no engine is installed")

ACTIVATE = """
import rig.engine.platform as plugins
print(plugins.activate_vllm(), plugins.activate_omni())
"""

ON_A_GPU_BUILD = (
    """
import vllm.platforms
vllm.platforms.cpu_platform_plugin = lambda: None
"""
    + ACTIVATE
)

CHOSEN = """
from vllm.platforms import current_platform
from vllm_omni.platforms import current_omni_platform
print(type(current_platform).__name__, type(current_omni_platform).__name__)
print(current_platform.is_cpu(), current_omni_platform.is_cpu())
"""

MRO = """
from rig.engine.platform.worker import CpuARModelRunner, CpuGenerationModelRunner
from vllm.v1.worker.cpu_model_runner import CPUModelRunner
from vllm.v1.worker.gpu_model_runner import GPUModelRunner
from vllm_omni.worker.gpu_model_runner import OmniGPUModelRunner
for runner in (CpuARModelRunner, CpuGenerationModelRunner):
    order = [runner.__mro__.index(base) for base in (CPUModelRunner, OmniGPUModelRunner, GPUModelRunner)]
    print(order == sorted(order))
"""


def last_lines(program: str, count: int = 1) -> list[str]:
    """What a fresh interpreter prints last; vLLM's own log lines come before."""
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.splitlines()[-count:]


def test_on_a_cpu_build_both_plugins_name_their_platform() -> None:
    [line] = last_lines(ACTIVATE)
    assert line == "rig.engine.platform.vllm_cpu.KeepingCpuPlatform rig.engine.platform.omni_cpu.CpuOmniPlatform"


def test_on_any_other_build_both_plugins_stay_off() -> None:
    assert last_lines(ON_A_GPU_BUILD) == ["None None"]


def test_vllm_and_vllm_omni_choose_these_platforms_by_themselves() -> None:
    assert last_lines(CHOSEN, 2) == ["KeepingCpuPlatform CpuOmniPlatform", "True True"]


def test_the_cpu_runner_comes_before_vllm_omnis_and_that_before_vllms() -> None:
    assert last_lines(MRO, 2) == ["True", "True"]
