from pathlib import Path

import pytest

from rig.events import ring
from rig.recorder import folder
from tests.builders import EXTERNAL_YAML, GOLDEN_YAML, PIPELINE_YAML, Run
from tests.recorder.rings import GONE, HandRing


def test_the_rings_of_all_stages_are_read_in_their_order(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    for stage in (2, 0, 1):
        HandRing(run.folder, stage).add(3.0, GONE)
    found = folder.load(run.history())
    assert [folder.stage_of(one) for one in found.rings] == ["thinker", "talker", "code2wav"]
    assert found.problems == ()
    assert folder.not_recorded(run.history()) is None


@pytest.mark.parametrize(
    ("pipeline", "why"),
    [
        (PIPELINE_YAML, "no engine wrote a ring"),
        (PIPELINE_YAML + "recorder: false\n", "switched off in the pipeline file"),
        (GOLDEN_YAML, "this server has no recorder"),
        (EXTERNAL_YAML, "this server has no recorder"),
    ],
)
def test_without_rings_it_says_why(tmp_path: Path, pipeline: str, why: str) -> None:
    run = Run(tmp_path / "run", pipeline=pipeline)
    assert folder.not_recorded(run.history()) == why
    assert folder.load(run.history()).rings == ()


def test_what_a_process_said_that_was_not_recorded_is_the_reason(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    (run.folder / ring.FOLDER).mkdir()
    line = "flight recorder off in process 7: Scheduler.schedule is another source"
    (run.folder / ring.FOLDER / f"{ring.OFF_PREFIX}7.txt").write_text(line + "\n")
    assert folder.not_recorded(run.history()) == line
    assert folder.load(run.history()).problems == (line,)


def test_a_ring_of_another_boot_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(tmp_path / "run")
    monkeypatch.setattr("rig.engine.recorder.writer.boot_id", lambda: "another")
    HandRing(run.folder).add(3.0, GONE)
    found = folder.load(run.history())
    assert found.rings == ()
    assert "another clock" in found.problems[0]


def test_a_file_that_is_no_ring_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    HandRing(run.folder, 0).add(3.0, GONE)
    (run.folder / ring.FOLDER / "stage-1.9.ring").write_bytes(b"not one")
    found = folder.load(run.history())
    assert len(found.rings) == 1
    assert "stage-1.9.ring is no ring" in found.problems[0]
