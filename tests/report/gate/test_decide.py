"""The decision: unbaselined beats unknown beats fail beats an unjudged limit beats pass."""

from typing import Any

import pytest

from rig.config.gate import Gate
from rig.errors import UsageError
from rig.measure.figure import Rate
from rig.report.digest import Digest
from rig.report.gate import Answer, Baseline, decide
from rig.report.gate.decide import State
from rig.verdict import Verdict
from tests.report.gate.digests import baseline, digest


def gate(limit: dict[str, Any] | None = None, **fields: Any) -> Gate:
    """Limits on the median of the first audio: 1.5 times the baseline unless said otherwise."""
    measures = {"first_audio": {"p50": limit or {"max_ratio": 1.5}}}
    return Gate.model_validate({"measures": measures} | fields)


def answer(run: Digest, base: Baseline, limits: Gate | None = None) -> Answer:
    return decide(run, base, limits or gate()).answer


TEN = [100.0] * 10


def test_a_run_within_its_limits_passes() -> None:
    decision = decide(digest(*[149] * 10), baseline(*TEN), gate())
    assert (decision.answer, decision.answer.exit_code) == (Answer.PASS, 0)
    assert {line.state for line in decision.lines} == {State.HELD}
    assert decision.sentence == "PASS: 4 limits held, 0 not judged"


def test_a_figure_beyond_its_ratio_fails_and_says_by_how_much() -> None:
    decision = decide(digest(*[160] * 10), baseline(*TEN), gate())
    assert (decision.answer, decision.answer.exit_code) == (Answer.FAIL, 1)
    assert decision.sentence == (
        "FAIL: 1 of 4 limits broken: first_audio p50: 160 ms (1.60 times), baseline 100 ms, at most 1.5 times"
    )


def test_a_difference_within_the_slack_breaks_no_ratio() -> None:
    limit = gate({"max_ratio": 1.5, "slack": 60})
    assert answer(digest(*[159] * 10), baseline(*TEN), limit) is Answer.PASS
    assert answer(digest(*[161] * 10), baseline(*TEN), limit) is Answer.FAIL


def test_an_absolute_limit_and_a_ratio_must_both_hold() -> None:
    limit = gate({"max_ratio": 1.5, "max": 120})
    assert answer(digest(*[119] * 10), baseline(*TEN), limit) is Answer.PASS
    assert answer(digest(*[130] * 10), baseline(*TEN), limit) is Answer.FAIL
    assert answer(digest(*[130] * 10), baseline(*[60] * 10), gate({"max_ratio": 1.5, "max": 200})) is Answer.FAIL


def test_a_baseline_of_nothing_leaves_the_slack_alone() -> None:
    limit = gate({"max_ratio": 2, "slack": 5})
    assert answer(digest(*[4] * 10), baseline(*[0] * 10), limit) is Answer.PASS
    assert answer(digest(*[6] * 10), baseline(*[0] * 10), limit) is Answer.FAIL


@pytest.mark.parametrize("verdict", list(Verdict))
@pytest.mark.parametrize("waits", [TEN, [900.0] * 10, []])
def test_without_a_baseline_that_counts_a_run_neither_passes_nor_fails(verdict: Verdict, waits: list[float]) -> None:
    run = digest(*waits, facts={"hardware.cores": "4"}, verdict=verdict, deaths=1)
    decision = decide(run, baseline(*TEN), gate())
    assert (decision.answer, decision.answer.exit_code) == (Answer.UNBASELINED, 2)
    assert decision.sentence == "UNBASELINED: the baseline does not count: hardware.cores: 2 and 4"
    assert decision.lines == ()


def test_all_facts_that_differ_are_listed_and_the_first_are_named() -> None:
    changed = {f"run.load.key{number}": "x" for number in range(9)}
    decision = decide(digest(*TEN, facts=changed), baseline(*TEN), gate())
    assert [each.key for each in decision.differing] == sorted(changed)
    assert decision.sentence.endswith("run.load.key3: not recorded and x; and 5 more")


def test_a_run_of_before_the_machine_was_recorded_is_unbaselined() -> None:
    assert answer(digest(*TEN, drop=("hardware",)), baseline(*TEN)) is Answer.UNBASELINED
    assert answer(digest(*TEN), baseline(*TEN, drop=("hardware",))) is Answer.UNBASELINED


@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.UNKNOWN])
def test_a_baseline_that_did_not_pass_does_not_count(verdict: Verdict) -> None:
    decision = decide(digest(*TEN), baseline(*TEN, verdict=verdict), gate())
    assert decision.answer is Answer.UNBASELINED
    assert "verdict of the baseline" in decision.sentence


@pytest.mark.parametrize("waits", [TEN, [900.0] * 10])
def test_a_run_that_cannot_be_believed_neither_passes_nor_fails(waits: list[float]) -> None:
    run = digest(*waits, verdict=Verdict.UNKNOWN, sentence="UNKNOWN: rig_validity: too slow")
    decision = decide(run, baseline(*TEN), gate())
    assert (decision.answer, decision.answer.exit_code) == (Answer.UNKNOWN, 2)
    assert "rig_validity: too slow" in decision.sentence


def test_a_failed_run_fails_unless_that_is_allowed() -> None:
    run = digest(*TEN, verdict=Verdict.FAIL)
    assert answer(run, baseline(*TEN)) is Answer.FAIL
    assert answer(run, baseline(*TEN), gate(verdicts=("pass", "fail"))) is Answer.PASS


@pytest.mark.parametrize(
    ("fields", "limits", "expected"),
    [
        ({"deaths": 1}, {}, Answer.FAIL),
        ({"deaths": 1}, {"max_deaths": 1}, Answer.PASS),
        ({"deaths": None}, {}, Answer.UNKNOWN),
        ({"deaths": None}, {"max_deaths": None}, Answer.PASS),
        ({"turns": {"done": 99, "lost": 1}}, {}, Answer.FAIL),
        ({"turns": {"done": 99, "lost": 1}}, {"max_lost_turns": 0.01}, Answer.PASS),
        ({"turns": {"done": 98, "no_reply": 2}}, {"max_lost_turns": 0.01}, Answer.FAIL),
        ({"turns": {"unfinished": 3}}, {}, Answer.UNKNOWN),
        ({"turns": {}}, {"max_lost_turns": None}, Answer.PASS),
    ],
)
def test_deaths_and_lost_turns_are_limited(fields: dict[str, Any], limits: dict[str, Any], expected: Answer) -> None:
    assert answer(digest(*TEN, **fields), baseline(*TEN), gate(**limits)) is expected


@pytest.mark.parametrize(("mine", "theirs"), [(9, 10), (10, 9), (0, 10)])
def test_too_few_values_on_either_side_are_not_judged_and_that_is_no_pass(mine: int, theirs: int) -> None:
    decision = decide(digest(*[100] * mine), baseline(*[100] * theirs), gate())
    (line,) = [line for line in decision.lines if line.what == "first_audio p50"]
    assert (line.state, line.text) == (
        State.NOT_JUDGED,
        f"{mine} values in the run, {theirs} in the baseline, 10 needed",
    )
    assert (decision.answer, decision.answer.exit_code) == (Answer.UNKNOWN, 2)


def test_an_optional_limit_may_go_unjudged_but_something_must_be_judged() -> None:
    optional = {"max_ratio": 1.5, "optional": True}
    tail = {"first_audio": {"p50": {"max_ratio": 1.5}, "p99": optional}}
    decision = decide(digest(*TEN), baseline(*TEN), Gate.model_validate({"measures": tail}))
    assert (decision.answer, decision.sentence) == (Answer.PASS, "PASS: 4 limits held, 1 not judged")
    alone = Gate.model_validate({"measures": {"first_audio": {"p99": optional}}})
    assert answer(digest(*TEN), baseline(*TEN), alone) is Answer.UNKNOWN


def test_few_values_are_judged_where_the_file_asks_for_it() -> None:
    limit = gate({"max_ratio": 1.5, "least_n": 2})
    assert answer(digest(100, 100), baseline(100, 100), limit) is Answer.PASS
    assert answer(digest(100), baseline(100, 100), limit) is Answer.UNKNOWN


def test_an_absolute_limit_needs_no_values_in_the_baseline() -> None:
    assert answer(digest(*TEN), baseline(), gate({"max": 200})) is Answer.PASS


def test_a_broken_limit_beats_one_that_was_not_judged() -> None:
    both = {"first_audio": {"p50": {"max_ratio": 1.5}, "p99": {"max_ratio": 1.5}}}
    limits = Gate.model_validate({"measures": both})
    assert answer(digest(*[900] * 10), baseline(*TEN), limits) is Answer.FAIL


def test_runs_of_a_baseline_are_pooled() -> None:
    base = Baseline((digest(*[100] * 5, run="1"), digest(*[200] * 5, run="2")))
    decision = decide(digest(*TEN), base, gate())
    assert decision.answer is Answer.PASS
    assert decision.baseline == "1, 2"


@pytest.mark.parametrize(
    ("mine", "limit", "expected"),
    [
        ((9, 10), {"min": 0.9}, Answer.PASS),
        ((8, 10), {"min": 0.9}, Answer.FAIL),
        ((8, 10), {"max_drop": 0.2}, Answer.PASS),
        ((7, 10), {"max_drop": 0.2}, Answer.FAIL),
        ((9, 9), {"min": 0.9}, Answer.UNKNOWN),
        ((9, 9), {"min": 0.9, "optional": True}, Answer.PASS),
    ],
)
def test_rates_are_limited(mine: tuple[int, int], limit: dict[str, Any], expected: Answer) -> None:
    run = digest(*TEN, yields=Rate("yield_rate", *mine, mine[0] / mine[1]))
    base = baseline(*TEN, yields=Rate("yield_rate", 10, 10, 1.0))
    assert answer(run, base, gate(rates={"yield_rate": limit})) is expected


def test_what_differs_on_purpose_is_told_and_does_not_hinder() -> None:
    run = digest(*TEN, facts={"versions.vllm-omni": "0.31.0"})
    decision = decide(run, baseline(*TEN), gate(under_test=("versions.vllm-omni",)))
    assert decision.answer is Answer.PASS
    assert [str(each) for each in decision.under_test] == ["versions.vllm-omni: 0.30.0 and 0.31.0"]


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"measures": {"first_adio": {"p50": {"max": 1}}}}, "gate.measures.first_adio: .*did you mean `first_audio`"),
        ({"rates": {"yield_latency": {"min": 1}}}, "gate.rates.yield_latency: .*did you mean `yield_rate`"),
        ({"rates": {"zzz": {"min": 1}}}, "known here: yield_rate"),
    ],
)
def test_a_figure_that_does_not_exist_is_a_mistake_and_no_pass(limits: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        decide(digest(*TEN), baseline(*TEN), Gate.model_validate(limits))
