"""Workers and model runners of vLLM-Omni's stages on vLLM's CPU worker."""

import vllm.v1.worker.cpu.shm  # noqa: F401 - vLLM's CPU worker demands to be preceded by this import

# isort: split
from typing import Any

import torch
import vllm.v1.worker.cpu_worker as cpu_worker_module
from vllm.v1.worker.cpu_model_runner import CPUModelRunner
from vllm.v1.worker.cpu_worker import CPUWorker
from vllm.v1.worker.gpu_model_runner import GPUModelRunner
from vllm_omni.worker.gpu_ar_model_runner import GPUARModelRunner
from vllm_omni.worker.gpu_generation_model_runner import GPUGenerationModelRunner
from vllm_omni.worker.mixins import OmniWorkerMixin

from rig.engine.checkpoint.config import UNIT_KEY


class _OmniOnCpu(CPUModelRunner):
    """vLLM's CPU runner, put in front of a runner of vLLM-Omni by the order of bases.

    Both derive from vLLM's GPUModelRunner, so the order is: CPU runner (device, tensors, sync), vLLM-Omni's runner
    (stages, payloads, chunks), GPUModelRunner. Only loading goes past the CPU runner, whose version does not know
    vLLM-Omni's hooks.
    """

    def load_model(self, load_dummy_weights: bool = False) -> None:
        """Load as vLLM-Omni's runner does."""
        super(CPUModelRunner, self).load_model(load_dummy_weights)
        count = getattr(self.model_config.hf_config, UNIT_KEY, None)
        if count is not None:
            # vLLM-Omni reads this attribute, counts the unit's terminator too, and has no setting for it.
            self.get_model().max_new_speak_tokens_per_chunk = count + 1

    def extract_multimodal_outputs(self, hidden_states: Any) -> Any:
        """Give every step's payload memory of its own.

        On a GPU the payload is copied to the host. On a CPU that copy is none, and the payload would go on pointing
        into the runner's input buffers, which the next step overwrites before the output thread has sent it.
        """
        text_hidden_states, payload = super().extract_multimodal_outputs(hidden_states)
        return text_hidden_states, _own_memory(payload)


def _own_memory(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: _own_memory(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_own_memory(item) for item in value)
    return value


class CpuARModelRunner(_OmniOnCpu, GPUARModelRunner):
    """Runner of the autoregressive stages."""


class CpuGenerationModelRunner(_OmniOnCpu, GPUGenerationModelRunner):
    """Runner of the one-shot generation stages."""


class _CpuOmniWorker(OmniWorkerMixin, CPUWorker):
    """vLLM's CPU worker with another model runner; the worker names its runner class by a module global."""

    model_runner_cls: type[GPUModelRunner]

    def init_device(self) -> None:
        self.use_v2_model_runner = False
        original = cpu_worker_module.CPUModelRunner
        cpu_worker_module.CPUModelRunner = self.model_runner_cls
        try:
            super().init_device()
        finally:
            cpu_worker_module.CPUModelRunner = original


class CpuARWorker(_CpuOmniWorker):
    """Worker of the Thinker and Talker stages."""

    model_runner_cls = CpuARModelRunner


class CpuGenerationWorker(_CpuOmniWorker):
    """Worker of the Code2Wav stage."""

    model_runner_cls = CpuGenerationModelRunner

    def init_device(self) -> None:
        """Put the light vocoder in place first, where the checkpoint asks for it."""
        from rig.engine import vocoder

        vocoder.install(self.model_config)
        super().init_device()
