"""The kind of machine a run is carried out on: what has to be the same before figures of two runs are held together.

Host names and free memory are no part of it: two machines of one kind differ in them.
"""

import os
import platform
from pathlib import Path

import msgspec
import psutil

from rig.machine import GIB, read_gpus

CGROUP = Path("/sys/fs/cgroup")
CPUINFO = Path("/proc/cpuinfo")

_X86 = ("cpu family", "model", "stepping")
_ARM = ("CPU implementer", "CPU part", "CPU revision")


class Hardware(msgspec.Struct, frozen=True):
    """`cpu` is None where the kernel names none; `cores` and `memory_gib` are what this process may use of them."""

    cpu: str | None
    architecture: str
    cores: float
    memory_gib: float
    gpus: tuple[str, ...]


def read() -> Hardware:
    """Read the machine. Starts nothing but nvidia-smi, where there is one."""
    gpus, _ = read_gpus()
    return Hardware(
        cpu=cpu_name(CPUINFO.read_text(encoding="utf-8", errors="replace")),
        architecture=platform.machine(),
        cores=usable_cores(CGROUP, len(os.sched_getaffinity(0))),
        memory_gib=round(usable_memory(CGROUP, psutil.virtual_memory().total) / GIB, 1),
        gpus=tuple(sorted(f"{gpu.name} {gpu.memory_mib} MiB" for gpu in gpus)),
    )


def cpu_name(cpuinfo: str) -> str | None:
    """The first processor of /proc/cpuinfo, with its numbers: virtual machines often share one empty name."""
    first: dict[str, str] = {}
    for line in cpuinfo.partition("\n\n")[0].splitlines():
        key, _, value = line.partition(":")
        first[key.strip()] = value.strip()
    name = first.get("model name")
    numbers = [f"{key} {first[key]}" for key in (*_X86, *_ARM) if key in first]
    return ", ".join([*([name] if name else []), *numbers]) or None


def usable_cores(cgroup: Path, cores: int) -> float:
    """Cores that the machine gives this process, or the quota of its control group (version 2), where that is less."""
    try:
        quota, period = (cgroup / "cpu.max").read_text().split()
    except (OSError, ValueError):
        return cores
    return cores if quota == "max" else min(cores, round(int(quota) / int(period), 2))


def usable_memory(cgroup: Path, total_bytes: int) -> int:
    """Bytes of memory of the machine, or the limit of its control group (version 2), where that is less."""
    try:
        limit = (cgroup / "memory.max").read_text().strip()
    except OSError:
        return total_bytes
    return total_bytes if limit == "max" else min(total_bytes, int(limit))
