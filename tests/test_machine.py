"""What is read off a machine is what is there."""

import os
import socket
from importlib import metadata
from pathlib import Path

import psutil
import pytest

from rig import machine


def test_probe_reads_versions_of_what_is_installed_and_none_for_what_is_not() -> None:
    found = machine.probe()
    assert found.packages["locust"] == metadata.version("locust")
    assert found.cores == len(os.sched_getaffinity(0))
    assert set(found.requires) == {machine.CALLERS, machine.ENGINE_CPU, machine.ENGINE_GPU}
    assert "vllm" in {item.name for item in found.requires[machine.ENGINE_GPU]}
    assert "vllm" not in {item.name for item in found.requires[machine.CALLERS]}


def test_a_project_that_is_not_installed_requires_nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "DISTRIBUTION", "no-such-distribution-anywhere")
    found = machine.probe()
    assert found.requires == {}
    assert found.packages == {}


def test_a_container_with_less_memory_than_its_host_has_what_its_limit_leaves(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("600\n")
    (tmp_path / "memory.stat").write_text("anon 300\ninactive_file 100\n")
    assert machine.available_memory(tmp_path) == 500


@pytest.mark.parametrize("limit", ["max", None])
def test_without_a_limit_the_machine_decides(tmp_path: Path, limit: str | None) -> None:
    if limit is not None:
        (tmp_path / "memory.max").write_text(limit)
        (tmp_path / "memory.current").write_text("600")
        (tmp_path / "memory.stat").write_text("inactive_file 100")
    assert 0 < machine.available_memory(tmp_path) <= psutil.virtual_memory().total


def test_a_port_somebody_listens_on_is_not_free(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        monkeypatch.setattr(machine, "LOCUST_WEB_PORT", listener.getsockname()[1])
        assert machine.probe().web_port_free is False
    assert machine.probe().web_port_free is True


def _nvidia_smi(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def test_gpus_are_read_from_nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _nvidia_smi(tmp_path, monkeypatch, "echo 'NVIDIA H200, 143771'; echo 'NVIDIA A, b, 24564'")
    found = machine.probe()
    assert found.gpus == (machine.Gpu("NVIDIA H200", 143_771), machine.Gpu("NVIDIA A, b", 24_564))
    assert found.gpu_problem is None


def test_a_failing_nvidia_smi_is_told_in_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _nvidia_smi(tmp_path, monkeypatch, "echo 'Failed to initialize NVML'; exit 18")
    found = machine.probe()
    assert found.gpus == ()
    assert found.gpu_problem is not None
    assert "Failed to initialize NVML" in found.gpu_problem
