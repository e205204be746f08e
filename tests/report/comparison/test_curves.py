"""Distributions laid over each other: each line says the value at a percentile and ends where its values end."""

from pathlib import Path

import pytest

from rig.report.comparison.content import Comparison, compare
from rig.report.comparison.curves import COLUMNS_PER_DECADE, Curves, curves_of, readout, render
from tests.report.comparison.runs import sides
from tests.report.html.test_markup import Reader


def curves(comparison: Comparison) -> Curves:
    return curves_of(next(each for each in comparison.figures if each.name == "first_audio"))


def test_a_line_holds_the_value_at_each_percentile(tmp_path: Path) -> None:
    found = curves(compare(sides(tmp_path, [100, 200, 300, 400], [400] * 4)))
    by_percent = dict(zip(found.percents, found.values[0], strict=True))
    for percent, value in by_percent.items():
        assert value == pytest.approx(100 * min(4, 1 + percent // 25), rel=1e-3), percent
    assert set(found.values[1]) == {found.values[1][0]}


def test_percentiles_are_spread_so_that_each_tenth_of_the_rest_is_as_wide(tmp_path: Path) -> None:
    percents = curves(compare(sides(tmp_path, [100] * 60, [200]))).percents
    assert percents[COLUMNS_PER_DECADE] == pytest.approx(90, abs=0.5)
    assert percents == sorted(percents)


def test_a_line_ends_where_its_values_end_and_a_side_without_values_has_none(tmp_path: Path) -> None:
    found = curves(compare(sides(tmp_path, [100] * 50, [200] * 5)))
    long, short = ([value for value in line if value is not None] for line in found.values)
    assert len(long) == len(found.percents)
    assert len(short) == len(long) - COLUMNS_PER_DECADE  # a tenth of the values: a decade less
    assert found.values[1][len(short) :] == [None] * COLUMNS_PER_DECADE
    assert curves(compare(sides(tmp_path / "none", [100], [9_000]))).values[1] == [None] * 31


def test_the_scale_begins_at_nothing_and_holds_the_largest(tmp_path: Path) -> None:
    assert curves(compare(sides(tmp_path, [100], [450]))).top == 500


def test_a_plot_can_be_reached_by_key_and_says_what_it_shows(tmp_path: Path) -> None:
    figure = next(each for each in compare(sides(tmp_path, [100], [450])).figures if each.name == "first_audio")
    drawn = curves_of(figure)
    read = Reader(render(3, figure, drawn, "AB"))
    attributes = dict(read.attributes)
    assert (attributes["tabindex"], attributes["data-plot"]) == ("0", "3")
    assert "A: p50 100 ms" in str(attributes["aria-label"])
    assert [value for name, value in read.attributes if name == "class" and "side-" in str(value)] == [
        "stroke side-A",
        "stroke side-B",
    ]
    (told,) = readout([(figure, drawn)], "AB")
    assert told["unit"] == "ms"
    assert len(told["percents"]) == len(drawn.percents)  # type: ignore[arg-type]
