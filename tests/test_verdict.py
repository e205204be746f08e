"""Fail beats unknown beats pass, and nothing checked is unknown."""

from itertools import permutations

import pytest

from rig.verdict import USAGE_EXIT_CODE, Finding, Findings, Verdict, merge

PASS, FAIL, UNKNOWN = Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("verdicts", "merged"),
    [
        ([], UNKNOWN),
        ([PASS], PASS),
        ([PASS, PASS], PASS),
        ([PASS, UNKNOWN], UNKNOWN),
        ([PASS, FAIL], FAIL),
        ([UNKNOWN, FAIL], FAIL),
        ([PASS, UNKNOWN, FAIL], FAIL),
    ],
)
def test_fail_beats_unknown_beats_pass_in_any_order(verdicts: list[Verdict], merged: Verdict) -> None:
    assert {merge(order) for order in permutations(verdicts)} == {merged}


def test_each_verdict_has_its_exit_code_and_none_is_the_one_for_usage() -> None:
    assert [verdict.exit_code for verdict in (PASS, FAIL, UNKNOWN)] == [0, 1, 2]
    assert USAGE_EXIT_CODE == 3


def test_findings_are_told_in_the_order_in_which_they_were_seen() -> None:
    late, early, timeless = Finding("b", 2.0), Finding("a", 0.0), Finding("c")
    findings = Findings()
    for finding in (timeless, late, early):
        findings.add(finding)
    assert findings.in_time() == (early, late, timeless)


def test_of_many_findings_the_first_in_time_are_kept_and_all_are_counted() -> None:
    findings = Findings(keep=2)
    for at_s in (5.0, 1.0, 4.0, 2.0, None):
        findings.add(Finding("x", at_s))
    assert [finding.at_s for finding in findings.in_time()] == [1.0, 2.0]
    assert (findings.count, findings.more) == (5, 3)


def test_of_findings_at_the_same_moment_the_first_told_are_kept() -> None:
    findings = Findings(keep=2)
    for text in "abc":
        findings.add(Finding(text, 1.0))
    assert [finding.text for finding in findings.in_time()] == ["a", "b"]
