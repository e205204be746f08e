"""The tables: values of each side, ratio and difference, and what too few values are worth."""

from pathlib import Path

import pytest

from rig.report.comparison.content import compare
from rig.report.comparison.words import (
    MINUS,
    OVER,
    TIMES,
    check_rows,
    count_rows,
    different_rows,
    failed_checks,
    figure_rows,
    run_rows,
    signed,
    told,
)
from tests.builders import RUN_YAML, edited
from tests.report.comparison.runs import sides


def test_each_figure_has_its_sides_their_ratio_and_their_difference(tmp_path: Path) -> None:
    rows = [row.cells for row in figure_rows(compare(sides(tmp_path, [200] * 10, [300] * 10)))]
    at = next(place for place, cells in enumerate(rows) if cells[0] == "first_audio, as seen")
    before, after, ratio, difference = (cells[1:5] for cells in rows[at : at + 4])
    assert before == ("A", "10", "200 ms", "200 ms °")
    assert after == ("B", "10", "300 ms", "300 ms °")
    assert ratio == (f"B {OVER} A", "", f"{TIMES} 1.50", f"{TIMES} 1.50")
    assert difference == (f"B {MINUS} A", "", "+100 ms", "+100 ms")


def test_a_side_without_a_value_has_no_ratio(tmp_path: Path) -> None:
    rows = [row.cells for row in figure_rows(compare(sides(tmp_path, [200], [9_000])))]
    at = next(place for place, cells in enumerate(rows) if cells[0] == "first_audio, as seen")
    assert rows[at + 1][2:4] == ("0", "-")
    assert "1 turn no_reply" in rows[at + 1][-1]
    assert rows[at + 2][3] == rows[at + 3][3] == "-"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "ms", "-"),
        (1234.4, "ms", "1,234 ms"),
        (3.26, "ms", "3.3 ms"),
        (0.0123, "s", "0.012 s"),
        (2.0, "s", "2.00 s"),
    ],
)
def test_small_values_are_told_finer(value: float | None, unit: str, text: str) -> None:
    assert told(value, unit) == text  # type: ignore[arg-type]


def test_a_difference_has_a_sign_unless_it_is_told_as_nothing() -> None:
    assert (signed(12.0, "ms"), signed(-12.0, "ms"), signed(0.01, "ms")) == ("+12 ms", f"{MINUS}12 ms", "0.0 ms")


def test_verdicts_checks_and_counts_stand_side_by_side(tmp_path: Path) -> None:
    comparison = compare(sides(tmp_path, [200, 200], [200, 9_000]))
    assert [(side, verdict) for side, verdict, _ in run_rows(comparison)] == [("A", "unknown"), ("B", "fail")]
    assert ("progress", [("pass", "pass"), ("fail", "fail")]) in check_rows(comparison)
    assert ("B", "after", "progress", "fail") in [found[:4] for found in failed_checks(comparison)]
    counts = {row[0]: row[1:] for row in count_rows(comparison)}
    assert counts["turns lost: no reply, no end, or connection lost"] == ("0 of 2", "1 of 2")
    assert counts["processes of the server that died"] == ("0", "0")


def test_facts_that_differ_are_rows(tmp_path: Path) -> None:
    rows = different_rows(compare(sides(tmp_path, [200], [200], run=edited(RUN_YAML, return_s=11))))
    assert ("run.deadlines.return_s", "10", "11") in rows
