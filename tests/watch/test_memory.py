"""Memory of a process is measured, and a process that is gone has none, not zero."""

import os
from pathlib import Path

from rig.watch.memory import resident_bytes


def test_the_memory_of_a_process_is_what_the_kernel_says() -> None:
    resident = resident_bytes(os.getpid())
    status = Path("/proc/self/status").read_text()
    (peak_kib,) = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")]
    assert resident is not None
    assert 1 << 20 < resident <= peak_kib * 1024


def test_a_process_that_is_gone_has_none() -> None:
    assert resident_bytes(2**22 + 1) is None
