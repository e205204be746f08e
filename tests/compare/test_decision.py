"""From pairs of runs to one word and an exit code."""

from collections.abc import Sequence

import pytest

from rig.compare.decision import Comparison, Word, compare
from rig.compare.facts import Facts
from rig.events.types import EndReason
from rig.verdict import Verdict
from tests.compare.runs import dead, failed, passed, waiting


def compared(a: Sequence[Facts], b: Sequence[Facts]) -> Comparison:
    return compare("none", "fix", dict(enumerate(zip(a, b, strict=True))))


def word(a: Sequence[Facts], b: Sequence[Facts]) -> tuple[Word, int]:
    decision = compared(a, b).decision
    return decision.word, decision.exit_code


def losing_slots(count: int = 2) -> Facts:
    return failed("slots", lost_slots=count)


def test_a_side_that_dies_in_6_of_6_beside_one_that_passes_is_better() -> None:
    found = compared([dead()] * 6, [passed()] * 6)
    assert (found.decision.word, found.decision.exit_code) == (Word.BETTER, 0)
    assert found.decision.sentence == "better: B lives; deaths: 6 of 6 runs on A, 0 of 6 runs on B (p = 0.0022)"
    assert word([passed()] * 6, [dead()] * 6) == (Word.WORSE, 1)


def test_a_side_that_lives_but_loses_slots_is_not_called_better() -> None:
    found = compared([dead()] * 6, [losing_slots(3)] * 6).decision
    assert (found.word, found.exit_code) == (Word.TRADED, 1)
    assert found.sentence.startswith("lives, but loses slots in 6 of 6 runs (up to 3)")


def test_a_side_that_lives_but_loses_turns_or_fails_another_check_says_so() -> None:
    losing = compared([dead()] * 6, [passed()] * 5 + [failed("progress", lost_turns=2)]).decision
    assert losing.sentence.startswith("lives, but loses turns in 1 of 6 runs (2 of 240 turns)")
    failing = compared([dead()] * 6, [passed()] * 5 + [failed("audio")]).decision
    assert failing.sentence.startswith("lives, but fails audio in 1 of 6 runs")
    assert losing.exit_code == failing.exit_code == 1


def test_a_log_that_shows_a_fault_without_a_death_is_a_flaw_too() -> None:
    found = compared([dead()] * 6, [failed("liveness")] * 6).decision
    assert found.sentence.startswith("lives, but fails liveness in 6 of 6 runs")


def test_a_side_that_dies_less_and_not_never_is_told_so() -> None:
    found = compared([dead()] * 10, [passed()] * 9 + [dead()]).decision
    assert found.word is Word.TRADED
    assert found.sentence.startswith("dies less, but dies in 1 of 10 runs")


def test_fewer_than_four_pairs_prove_nothing_whatever_comes_out() -> None:
    assert word([dead()] * 3, [passed()] * 3) == (Word.CANNOT_TELL, 2)
    assert "4 are the least" in compared([dead()] * 3, [passed()] * 3).decision.sentence
    assert word([dead()] * 4, [passed()] * 4) == (Word.BETTER, 0)


def test_a_difference_that_chance_makes_often_is_no_difference_and_no_sameness() -> None:
    found = compared([dead()] * 2 + [passed()] * 4, [passed()] * 6).decision
    assert found.word is Word.CANNOT_TELL
    assert "deaths 2 of 6 runs on A, 0 of 6 runs on B (p = 0.45)" in found.sentence


def test_two_sides_that_always_die_are_the_same_and_do_not_let_b_through() -> None:
    assert word([dead()] * 6, [dead()] * 6) == (Word.SAME, 1)


def test_slots_decide_when_nobody_dies_and_before_turns() -> None:
    losing_turns = failed("progress", lost_turns=5)
    assert word([losing_slots()] * 6, [passed()] * 6) == (Word.BETTER, 0)
    found = compared([losing_slots()] * 6, [losing_turns] * 6).decision
    assert found.sentence.startswith("keeps more slots, but loses turns in 6 of 6 runs")


def test_lost_turns_decide_from_six_pairs_on() -> None:
    losing = [failed("progress", lost_turns=number + 1) for number in range(6)]
    assert word(losing, [passed()] * 6)[0] is Word.BETTER
    some = [passed(lost_turns=2)] * 5
    assert word(some, [passed()] * 5)[0] is Word.CANNOT_TELL


def test_a_check_that_fails_on_b_alone_is_worse_though_everybody_lives() -> None:
    found = compared([passed()] * 6, [failed("audio")] * 6).decision
    assert (found.word, found.exit_code) == (Word.WORSE, 1)
    assert "failed runs: 0 of 6 runs on A, 6 of 6 runs on B" in found.sentence


@pytest.mark.parametrize(
    ("times", "expected"), [(1.5, (Word.WORSE, 1)), (0.6, (Word.BETTER, 0)), (1.02, (Word.SAME, 0))]
)
def test_latencies_decide_between_sides_that_are_sound(times: float, expected: tuple[Word, int]) -> None:
    noise = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 0.99]
    a = [waiting(1_000.0)] * 8
    assert word(a, [waiting(1_000.0 * times * one) for one in noise]) == expected


def test_latencies_that_scatter_leave_it_open() -> None:
    noise = [1.0, 1.6, 0.6, 1.3, 0.8, 1.0, 1.4, 0.7]
    found = compared([waiting(1_000.0)] * 8, [waiting(1_000.0 * one) for one in noise]).decision
    assert found.word is Word.CANNOT_TELL
    assert "latencies are open: first_audio" in found.sentence


def test_few_pairs_do_not_decide_by_latency() -> None:
    found = compared([waiting(1_000.0)] * 5, [waiting(3_000.0)] * 5)
    assert found.decision.word is Word.CANNOT_TELL
    assert any("a 95 % interval needs 6 pairs" in line for line in found.cannot_show)


def test_a_better_side_that_is_slower_is_told_so() -> None:
    a = [losing_slots()] * 8
    b = [waiting(1_500.0)] * 8
    found = compared(a, b).decision
    assert found.word is Word.BETTER
    assert found.sentence.endswith("it is slower (first_audio 1.50 times)")


def test_a_pair_with_a_run_that_says_nothing_is_left_out_and_named() -> None:
    silent = passed(verdict=Verdict.UNKNOWN, sentence="UNKNOWN: too few calls", unknown=("completeness",))
    found = compared([dead()] * 6, [passed()] * 5 + [silent])
    assert (found.pairs, found.used_pairs) == (6, 5)
    assert found.left_out == ("pair 6: B: UNKNOWN: too few calls",)
    assert found.decision.word is Word.BETTER
    assert word([silent], [passed()]) == (Word.CANNOT_TELL, 2)


def test_a_rig_that_was_too_slow_spoils_latencies_and_not_the_question_who_lived() -> None:
    slow = passed(verdict=Verdict.UNKNOWN, unknown=("rig_validity",))
    found = compared([dead()] * 6, [slow] * 6)
    assert found.decision.word is Word.BETTER
    assert compared([passed()] * 8, [slow] * 8).latencies == ()


def test_an_interrupted_run_says_nothing() -> None:
    assert compared([passed(end=EndReason.INTERRUPTED)], [passed()]).used_pairs == 0


def test_it_says_what_so_many_pairs_cannot_show() -> None:
    six = compared([passed()] * 6, [passed()] * 6).cannot_show
    assert six[0] == "A difference in deaths shows only from 5 of 6 runs against 0 of 6 on."
    assert "may still die in up to 46% of all runs" in six[1]
    one = compared([dead()], [passed()]).cannot_show
    assert one[0].startswith("Fewer than 4 pairs prove no difference")
