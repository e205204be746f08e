"""What a run cannot tell, and how rare a fault may still be."""

from pathlib import Path

import pytest

from rig.report import judge_folder
from rig.report.html import page
from rig.report.limits import failure_bound, limits
from rig.report.markdown import render
from tests.report.runs import whole


@pytest.mark.parametrize(("sessions", "bound"), [(1, 0.95), (100, 0.02951), (5_700, 0.000525)])
def test_sessions_without_a_fault_bound_their_share(sessions: int, bound: float) -> None:
    assert failure_bound(sessions) == pytest.approx(bound, rel=1e-3)


def test_the_bound_is_the_share_at_which_no_fault_is_seen_once_in_twenty_runs() -> None:
    assert (1 - failure_bound(37)) ** 37 == pytest.approx(0.05)


def test_a_run_that_passed_says_how_rare_a_fault_may_still_be(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    run.history()
    judgement = judge_folder(run.folder)
    (told,) = [line for line in limits(judgement) if line.startswith("How rare a fault is")]
    assert f"{judgement.totals.sessions} sessions" in told
    assert told in render(judgement)
    assert told.split(" (")[0] in page.of(judgement)


def test_a_run_that_failed_bounds_nothing(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    run.dies(7.0)
    run.history()
    assert not [line for line in limits(judge_folder(run.folder)) if line.startswith("How rare")]
