"""vLLM's CPU platform, without its refusal of two settings that matter here."""

import os
from typing import TYPE_CHECKING

from vllm.platforms.cpu import CpuPlatform

if TYPE_CHECKING:
    from vllm.config import VllmConfig

ONE_THREAD = "1"


class KeepingCpuPlatform(CpuPlatform):
    """Keeps async scheduling and the uniprocess executor where they were asked for."""

    # The sampler is compiled when it is first called, and again for the first batch of two: with Inductor all callers
    # of the stage wait for a C++ compiler then, 2 to 10 s each time.
    simple_compile_backend = "eager"

    @classmethod
    def check_and_update_config(cls, vllm_config: "VllmConfig") -> None:
        """Apply vLLM's CPU settings, then put the two back.

        vLLM turns async scheduling off on CPUs as not required; the races that this rig looks for need it, and GPUs
        run with it. vLLM turns the uniprocess executor into a multiprocess one because it cannot set the OpenMP
        environment of a running process; with one OpenMP thread, set before the start, there is nothing to bind.
        """
        scheduler, parallel = vllm_config.scheduler_config, vllm_config.parallel_config
        asked_async = scheduler.async_scheduling
        asked_executor = parallel.distributed_executor_backend
        super().check_and_update_config(vllm_config)
        scheduler.async_scheduling = asked_async
        if asked_executor == "uni" and os.environ.get("OMP_NUM_THREADS") == ONE_THREAD:
            parallel.distributed_executor_backend = "uni"
