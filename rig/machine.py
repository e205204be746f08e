"""What this machine has: read once, as one value. Nothing here imports torch or vLLM."""

import ctypes
import os
import platform
import resource
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import psutil
from packaging.requirements import Requirement

DISTRIBUTION = "omni-realtime-rig"
CALLERS = "callers"
ENGINE_CPU = "engine-cpu"
ENGINE_GPU = "engine-gpu"
LOCUST_WEB_PORT = 8089

GIB = 1 << 30
DISK_GIB = 2
"""What a run may write."""
SHM_GIB = 1
"""What the stages of a pipeline want free in /dev/shm."""


@dataclass(frozen=True)
class Gpu:
    """One NVIDIA GPU; memory in MiB, as nvidia-smi reports it."""

    name: str
    memory_mib: int


@dataclass(frozen=True)
class Machine:
    """What was read off the machine.

    `requires` maps "callers", "engine-cpu" and "engine-gpu" to what they ask for, and is empty where the
    project itself is not installed; `packages` maps each distribution named there to its version, None where
    it is not installed. `shm_bytes` is None where there is no /dev/shm. Where nvidia-smi is absent or fails,
    `gpus` is empty and `gpu_problem` says so; otherwise `gpu_problem` is None.
    """

    python: tuple[int, int]
    architecture: str
    cpu_flags: frozenset[str]
    cores: int
    memory_available_bytes: int
    shm_bytes: int | None
    disk_free_bytes: int
    open_files: int
    pidfd: bool
    numa_library: bool
    web_port_free: bool
    gpus: tuple[Gpu, ...]
    gpu_problem: str | None
    requires: Mapping[str, tuple[Requirement, ...]]
    packages: Mapping[str, str | None]


def probe() -> Machine:
    """Read the machine. Starts nothing but nvidia-smi, where there is one."""
    requires = _requirements()
    gpus, gpu_problem = read_gpus()
    return Machine(
        python=sys.version_info[:2],
        architecture=platform.machine(),
        cpu_flags=_cpu_flags(Path("/proc/cpuinfo")),
        cores=len(os.sched_getaffinity(0)),
        memory_available_bytes=available_memory(Path("/sys/fs/cgroup")),
        shm_bytes=shutil.disk_usage("/dev/shm").free if Path("/dev/shm").is_dir() else None,
        disk_free_bytes=shutil.disk_usage(Path.cwd()).free,
        open_files=_open_files(),
        pidfd=_has_pidfd(),
        numa_library=_loads("libnuma.so.1"),
        web_port_free=why_not_bound("127.0.0.1", LOCUST_WEB_PORT) is None,
        gpus=gpus,
        gpu_problem=gpu_problem,
        requires=requires,
        packages={item.name: _version(item.name) for group in requires.values() for item in group},
    )


def _requirements() -> dict[str, tuple[Requirement, ...]]:
    try:
        found = [Requirement(line) for line in metadata.requires(DISTRIBUTION) or []]
    except metadata.PackageNotFoundError:
        return {}
    groups = {CALLERS: "", ENGINE_CPU: ENGINE_CPU, ENGINE_GPU: ENGINE_GPU}
    return {
        group: tuple(item for item in found if _belongs(item, extra) and (not extra or not _belongs(item, "")))
        for group, extra in groups.items()
    }


def _belongs(item: Requirement, extra: str) -> bool:
    return item.marker is None or item.marker.evaluate({"extra": extra})


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def available_memory(cgroup: Path) -> int:
    """Bytes that new processes can take: what the machine has left, or a container, where that is less.

    `cgroup` is the folder of the control group (version 2); files missing there mean that no limit is set.
    """
    available = psutil.virtual_memory().available
    try:
        limit = (cgroup / "memory.max").read_text().strip()
        used = int((cgroup / "memory.current").read_text())
        stat = dict(line.split() for line in (cgroup / "memory.stat").read_text().splitlines())
    except FileNotFoundError:
        return available
    if limit == "max":
        return available
    # Cached files count as used, and go when the memory is wanted.
    return min(available, max(0, int(limit) - used + int(stat["inactive_file"])))


def _cpu_flags(cpuinfo: Path) -> frozenset[str]:
    lines = (line.partition(":") for line in cpuinfo.read_text().splitlines())
    return next((frozenset(value.split()) for key, _, value in lines if key.strip() == "flags"), frozenset())


def _open_files() -> int:
    """The hard limit: Locust and vLLM raise the soft one by themselves."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return sys.maxsize if hard == resource.RLIM_INFINITY else hard


def _has_pidfd() -> bool:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):  # Python was built on, or runs on, a kernel without it
        return False
    return True


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def why_not_bound(host: str, port: int) -> str | None:
    """Why nobody can listen there now, None when somebody can."""
    with socket.socket() as listener:
        # As servers do it: connections in TIME_WAIT are no obstacle.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            return error.strerror or str(error)
    return None


def read_gpus() -> tuple[tuple[Gpu, ...], str | None]:
    """The NVIDIA GPUs that nvidia-smi lists, or none and why."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return (), "no nvidia-smi, so no NVIDIA GPU"
    query = [program, "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True)
    except subprocess.CalledProcessError as error:
        return (), f"nvidia-smi fails: {(error.stdout + error.stderr).strip()}"
    except subprocess.TimeoutExpired:
        return (), "nvidia-smi does not answer within 20 s"
    rows = [line.rsplit(",", 1) for line in answer.stdout.splitlines() if line.strip()]
    return tuple(Gpu(name.strip(), int(memory)) for name, memory in rows), None
