"""What the runs of one side came to, added up."""

import pytest

from rig.compare.sides import side_of
from rig.events.types import EndReason
from rig.verdict import Verdict
from tests.compare.runs import dead, failed, passed


def test_deaths_are_counted_by_run_with_times_and_causes() -> None:
    other = dead(20.0, cause="talker: killed by SIGKILL", deaths=3)
    side = side_of("none", [dead(10.0), other, dead(14.0), passed()])
    assert (side.died.hits, side.died.n) == (3, 4)
    assert (side.died.low, side.died.high) == pytest.approx((0.194, 0.994), abs=1e-3)
    assert side.first_death_s == (14.0, 10.0, 20.0)
    assert side.causes == {"thinker: KeyError in _update_after_schedule": 2, "talker: killed by SIGKILL": 1}


def test_a_death_in_the_boot_counts_and_has_no_time() -> None:
    side = side_of("none", [dead(first_death_s=None, end=EndReason.BOOT_FAILED), dead(9.0)])
    assert (side.died.hits, side.died_in_boot, side.first_death_s) == (2, 1, (9.0, 9.0, 9.0))
    assert side.flaws[0] == "dies in 2 of 2 runs (1 before the load)"


def test_slots_are_counted_where_they_were_probed() -> None:
    side = side_of("none", [failed("slots", lost_slots=2), failed("slots", lost_slots=4), passed(), dead()])
    assert (side.slots.hits, side.slots.n, side.lost_slots) == (2, 3, 4)


def test_turns_add_up_and_runs_with_lost_ones_are_counted() -> None:
    side = side_of("none", [passed(lost_turns=1, answered_turns=39), passed(), dead()])
    assert (side.turns, side.answered_turns, side.lost_turns) == (86, 83, 3)
    assert (side.runs_with_lost_turns.hits, side.runs_with_lost_turns.n) == (2, 3)


def test_verdicts_and_failed_checks_are_counted() -> None:
    side = side_of("none", [failed("audio"), failed("audio"), failed("memory"), passed()])
    assert side.verdicts == {Verdict.FAIL: 3, Verdict.PASS: 1}
    assert side.checks == {"audio": 2, "memory": 1}
    assert side.flaws == ["fails audio in 2, memory in 1 of 4 runs"]


def test_a_sound_side_has_no_flaw_and_no_run_makes_no_share() -> None:
    assert side_of("none", [passed()] * 3).flaws == []
    side = side_of("none", [])
    assert (side.runs, side.died.n, side.first_death_s, side.flaws) == (0, 0, None, [])


def test_a_check_that_failed_without_a_loss_is_a_flaw() -> None:
    assert side_of("none", [failed("connections"), passed()]).flaws == ["fails connections in 1 of 2 runs"]


def test_a_run_that_says_nothing_counts_among_runs_and_verdicts_only() -> None:
    silent = passed(verdict=Verdict.UNKNOWN, unknown=("completeness",), turns=5)
    side = side_of("none", [silent, passed()])
    assert (side.runs, side.died.n, side.turns) == (2, 1, 40)
