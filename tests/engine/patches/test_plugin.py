"""A process that was told to be patched is patched, or does not go on."""

import os
import subprocess
import sys

import pytest

from rig.engine.patches.plugin import BUGS_ENVIRONMENT, ENVIRONMENT, load

CALL = "from rig.engine.patches.plugin import load; load(); print('went on')"


def in_a_process(patches: str, bugs: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CALL],
        env={**os.environ, ENVIRONMENT: patches, BUGS_ENVIRONMENT: bugs},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def test_without_names_nothing_is_loaded() -> None:
    code = "import sys; assert not {'vllm', 'rig.engine.patches.registry'} & set(sys.modules); "
    answer = subprocess.run([sys.executable, "-c", CALL + "; " + code], capture_output=True, timeout=50, check=False)
    assert answer.returncode == 0, answer.stderr
    assert ENVIRONMENT not in os.environ
    load()


def test_an_unknown_patch_stops_the_process_with_one_line() -> None:
    answer = in_a_process("scheduler_zombies,no_such_patch")
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert "no patch 'no_such_patch'" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_patches_that_exclude_each_other_stop_the_process() -> None:
    answer = in_a_process("scheduler_zombies, scheduler_guard_only")
    assert answer.returncode == 1
    assert "exclude each other" in answer.stderr


@pytest.mark.parametrize("bug", ["no_such_bug", "/nowhere/bug.py"])
def test_a_bug_that_is_not_there_stops_the_process_with_one_line(bug: str) -> None:
    answer = in_a_process("", bug)
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert f"engine bugs refused: there is no {'file' if '/' in bug else 'bug'}" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_vllm_calls_it_in_every_process_that_it_starts() -> None:
    from importlib.metadata import entry_points

    (found,) = [point for point in entry_points(group="vllm.general_plugins") if point.name == "rig_patches"]
    assert found.load() is load


THROUGH_VLLM = """
from vllm.plugins import load_general_plugins
load_general_plugins()
from vllm.v1.core.sched.scheduler import Scheduler
print("wrapped" if hasattr(Scheduler._update_from_kv_xfer_finished, "__wrapped__") else "as released")
"""


@pytest.mark.timeout(300)  # three processes that import vLLM
@pytest.mark.parametrize(
    ("patches", "bugs", "code", "said"),
    [
        ("kv_finished_for_freed_request", "zombie_in_running", 0, ["wrapped"]),
        ("", "", 0, ["as released"]),
        ("no_such_patch", "", 1, []),
    ],
)
def test_vllms_own_loader_changes_or_stops(patches: str, bugs: str, code: int, said: list[str]) -> None:
    pytest.importorskip("vllm")
    answer = subprocess.run(
        [sys.executable, "-c", THROUGH_VLLM],
        env={**os.environ, ENVIRONMENT: patches, BUGS_ENVIRONMENT: bugs, "VLLM_LOGGING_LEVEL": "INFO"},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert answer.returncode == code, answer.stderr
    assert [line for line in answer.stdout.splitlines() if line in ("wrapped", "as released")] == said
    told = answer.stdout + answer.stderr
    assert ("engine patches applied in process" in told) is (said == ["wrapped"])
    assert ("ENGINE BUGS PUT BACK in process" in told) is (said == ["wrapped"])
