"""Shutdown: a server that has to be killed fails."""

from pathlib import Path
from typing import Any

import pytest

from rig.checks.shutdown import Shutdown
from rig.events.types import CallEnded, Outcome, PipelineKept, PipelineStopped
from rig.fold import result_of
from rig.verdict import Verdict
from tests.builders import EXTERNAL_YAML, Run


def test_a_server_that_stopped_when_asked_passes(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ready()
    run.watch(70.0, 90.0)
    run.stop()
    result = result_of(Shutdown, run.history())
    assert result.verdict is Verdict.PASS
    assert result.summary == "every process stopped when asked, watched for 20.0 s after the last caller"


def test_a_watch_shorter_than_asked_for_is_unknown(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ready()
    run.watch(70.0, 85.0)
    run.stop()
    result = result_of(Shutdown, run.history())
    assert result.verdict is Verdict.UNKNOWN
    assert result.summary.endswith("watched for 15.0 s after the last caller, not for 20 s")


def test_the_watch_counts_from_the_last_call_whatever_the_phase(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ready()
    run.start_call(2.0)
    run.call(75.0, CallEnded, outcome=Outcome.DONE, detail="")
    run.watch(70.0, 90.0)
    run.stop()
    assert "watched for 15.0 s" in result_of(Shutdown, run.history()).summary


def test_a_run_that_was_stopped_before_the_watch_is_unknown(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ready()
    run.stop()
    assert result_of(Shutdown, run.history()).verdict is Verdict.UNKNOWN


def test_a_process_that_had_to_be_killed_fails(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ready()
    run.rig(90.0, PipelineStopped, forced=[102, 103])
    result = result_of(Shutdown, run.history())
    assert (result.verdict, result.summary) == (Verdict.FAIL, "2 processes did not stop when asked")
    assert [finding.text for finding in result.findings] == ["pid 102 had to be killed", "pid 103 had to be killed"]
    assert result.findings[0].at_s == 90.0


@pytest.mark.parametrize(
    "left",
    [{"segments_left": ["a.lock"] * 20, "left_in_all": 694}, {"segments_left": ["a.lock"] * 694}],
    ids=["counted", "named, as earlier versions did"],
)
def test_what_stayed_in_shared_memory_is_told_and_fails_nothing(tmp_path: Path, left: dict[str, Any]) -> None:
    run = Run(tmp_path / "run")
    run.ready()
    run.watch(70.0, 90.0)
    run.rig(90.0, PipelineStopped, forced=[], **left)
    result = result_of(Shutdown, run.history())
    assert result.verdict is Verdict.PASS
    assert "694 new files stayed in /dev/shm" in result.summary


def test_a_stop_that_nobody_saw_is_unknown(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ready()
    assert result_of(Shutdown, run.history()).verdict is Verdict.UNKNOWN


def test_a_server_that_was_never_ready_is_unknown(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.stop()
    assert result_of(Shutdown, run.history()).verdict is Verdict.UNKNOWN


def test_a_server_left_to_another_run_was_watched_and_its_stop_is_not_judged(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ready()
    run.watch(70.0, 90.0)
    run.rig(90.5, PipelineKept)
    result = result_of(Shutdown, run.history())
    assert result.verdict is Verdict.PASS
    assert "left to another run, its stop is not judged here, watched for 20.0 s" in result.summary


def test_a_server_left_after_a_short_watch_is_unknown(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ready()
    run.watch(70.0, 75.0)
    run.rig(75.5, PipelineKept)
    assert result_of(Shutdown, run.history()).verdict is Verdict.UNKNOWN


def test_a_server_that_was_left_and_then_stopped_after_all_is_judged_by_its_stop(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ready()
    run.watch(70.0, 90.0)
    run.rig(90.5, PipelineKept)
    run.rig(95.0, PipelineStopped, forced=[102])
    assert result_of(Shutdown, run.history()).verdict is Verdict.FAIL


def test_an_external_server_is_not_judged(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", pipeline=EXTERNAL_YAML)
    result = result_of(Shutdown, run.history())
    assert result.verdict is Verdict.PASS
    assert result.summary.startswith("not applicable")
