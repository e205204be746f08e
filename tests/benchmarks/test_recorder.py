"""What the recorder costs is told as a share of a stage's steps, by that stage's own scheduler."""

from pathlib import Path

import pytest

from benchmarks.recorder import print_shares
from rig.engine.recorder.writer import RingWriter
from rig.engine.repro.bench import Kind
from rig.events import ring

COUNTS = (1, 0, 0, 0, 100)


def stage(run: Path, number: int, scheduler: str, step_us: int) -> None:
    """A stage whose one step took so long."""
    (run / ring.FOLDER).mkdir(exist_ok=True)
    writer = RingWriter(run / ring.FOLDER / f"stage-{number}{ring.SUFFIX}", number, scheduler, {})
    writer.update(10, 1, COUNTS, 50, step_us)


def test_each_stage_has_the_share_that_its_own_scheduler_costs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stage(tmp_path, 0, "OmniARAsyncScheduler", 67_000)
    stage(tmp_path, 2, "OmniGenerationScheduler", 8_000)
    stage(tmp_path, 3, "Another", 8_000)
    print_shares(tmp_path, {Kind.OMNI_AR_ASYNC: {1: 27.0}, Kind.OMNI_GENERATION: {1: 41.0, 4: 127.0}})
    median = [line for line in capsys.readouterr().out.splitlines() if " median " in line]
    assert median == [
        "stage-0.ring: median step 67.0 ms; 0.04 % with 1",
        "stage-2.ring: median step 8.0 ms; 0.51 % with 1, 1.59 % with 4",
        "stage-3.ring: median step 8.0 ms; its scheduler was not measured",
    ]
