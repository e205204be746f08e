"""The kind of machine: what two runs must share before their figures are held together."""

import os
from pathlib import Path

import pytest

from rig import hardware

X86 = """\
processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 207
model name\t: Intel(R) Xeon(R) Processor
stepping\t: 2

processor\t: 1
model name\t: another
"""


def test_this_machine_is_read() -> None:
    found = hardware.read()
    assert found.cpu
    assert 0 < found.cores <= len(os.sched_getaffinity(0))
    assert found.memory_gib > 0


def test_processors_that_share_an_empty_name_are_told_apart_by_their_numbers() -> None:
    assert hardware.cpu_name(X86) == "Intel(R) Xeon(R) Processor, cpu family 6, model 207, stepping 2"
    assert hardware.cpu_name(X86) != hardware.cpu_name(X86.replace("207", "143"))


def test_a_processor_without_a_name_has_its_numbers_and_one_without_both_is_not_known() -> None:
    arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\nCPU revision\t: 1\n"
    assert hardware.cpu_name(arm) == "CPU implementer 0x41, CPU part 0xd40, CPU revision 1"
    assert hardware.cpu_name("processor\t: 0\n") is None


@pytest.mark.parametrize(("quota", "cores"), [("150000 100000", 1.5), ("800000 100000", 4), ("max 100000", 4)])
def test_a_container_has_the_cores_of_its_quota(tmp_path: Path, quota: str, cores: float) -> None:
    (tmp_path / "cpu.max").write_text(quota + "\n")
    assert hardware.usable_cores(tmp_path, 4) == cores


@pytest.mark.parametrize(("limit", "usable"), [("1000", 1000), ("9000", 4000), ("max", 4000)])
def test_a_container_has_the_memory_of_its_limit(tmp_path: Path, limit: str, usable: int) -> None:
    (tmp_path / "memory.max").write_text(limit + "\n")
    assert hardware.usable_memory(tmp_path, 4000) == usable


def test_without_a_control_group_the_machine_decides(tmp_path: Path) -> None:
    assert hardware.usable_cores(tmp_path, 4) == 4
    assert hardware.usable_memory(tmp_path, 4000) == 4000
