"""A process that is told to record does, or says why not and goes on."""

import os
import signal
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from rig.engine.recorder.plugin import ENVIRONMENT, PLUGIN, load
from rig.events import ring
from rig.recorder import rings
from rig.recorder.rings import Step

LOAD = "from rig.engine.recorder.plugin import load; load(); "


def test_vllm_calls_it_in_every_process_that_it_starts() -> None:
    (found,) = [point for point in entry_points(group="vllm.general_plugins") if point.name == PLUGIN]
    assert found.load() is load


def test_without_a_folder_nothing_is_loaded() -> None:
    code = LOAD + "import sys; assert not {'vllm', 'rig.engine.recorder.recording'} & set(sys.modules)"
    environment = {key: value for key, value in os.environ.items() if key != ENVIRONMENT}
    answer = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, timeout=50, check=False)
    assert answer.returncode == 0, answer.stderr


def test_without_an_engine_it_says_so_and_the_process_goes_on(tmp_path: Path) -> None:
    code = "import sys; sys.modules['vllm'] = None; " + LOAD + "print('went on')"
    environment = {**os.environ, ENVIRONMENT: str(tmp_path / "recorder")}
    answer = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=50, check=False
    )
    assert (answer.returncode, answer.stdout) == (0, "went on\n")
    (note,) = (tmp_path / "recorder").glob(f"{ring.OFF_PREFIX}*")
    assert note.read_text().startswith("flight recorder off in process ")
    assert note.read_text().count("\n") == 1


STEPS = """
from vllm.plugins import load_general_plugins
load_general_plugins()
from rig.engine.repro.bench import Bench, Setup
bench = Bench(Setup(max_num_seqs=4))
number = 0
while True:
    number += 1
    bench.add(f"request {number}", max_tokens=2)
    bench.step()
    if number == 200:
        print("goes on", flush=True)
"""


@pytest.mark.timeout(300)  # a process that imports vLLM
def test_through_vllms_own_loader_a_killed_process_leaves_its_last_steps(tmp_path: Path) -> None:
    pytest.importorskip("vllm")
    environment = {**os.environ, ENVIRONMENT: str(tmp_path), "VLLM_LOGGING_LEVEL": "ERROR"}
    child = subprocess.Popen(
        [sys.executable, "-c", STEPS], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert child.stdout is not None
    assert "goes on\n" in iter(child.stdout.readline, "")
    child.kill()
    assert child.wait(timeout=30) == -signal.SIGKILL
    child.stdout.close()
    found = rings.read(tmp_path / f"stage-0.{child.pid}.ring")
    assert found.header.pid == child.pid
    assert found.damaged <= 1
    steps = [record for record in found.records if isinstance(record, Step) and record.tokens]
    assert len(steps) >= 200
    assert all(name.startswith("request ") for step in steps for name in step.tokens)


MISFIT = """
from rig.engine.recorder import source
source.KNOWN.clear()
from rig.engine.recorder.plugin import load
load()
from rig.engine.repro.bench import Bench, Setup
bench = Bench(Setup())
bench.add("one")
print("went on", bench.settle().empty)
"""


@pytest.mark.timeout(300)  # a process that imports vLLM
def test_a_recorder_that_does_not_fit_leaves_the_engine_as_it_is(tmp_path: Path) -> None:
    pytest.importorskip("vllm")
    environment = {**os.environ, ENVIRONMENT: str(tmp_path), "VLLM_LOGGING_LEVEL": "WARNING"}
    answer = subprocess.run(
        [sys.executable, "-c", MISFIT], env=environment, capture_output=True, text=True, timeout=250, check=False
    )
    assert answer.stdout.splitlines()[-1] == "went on True", answer.stderr
    assert list(tmp_path.glob("*.ring")) == []
    (note,) = tmp_path.glob(f"{ring.OFF_PREFIX}*")
    assert "Scheduler.schedule is not known" in note.read_text()
