"""Fail beats unknown beats pass, and nothing checked is unknown."""

from itertools import permutations

import pytest

from rig.verdict import USAGE_EXIT_CODE, Finding, Verdict, in_time, merge

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
    assert in_time([timeless, late, early]) == (early, late, timeless)
