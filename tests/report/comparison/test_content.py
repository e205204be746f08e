"""What is held together: every run judged, figures pooled by side, facts that differ."""

from pathlib import Path

import pytest

from rig.errors import RigError, UsageError
from rig.measure.histogram import Histogram
from rig.report.comparison.content import Compared, Comparison, Side, checks_of, compare
from tests.builders import RUN_YAML, edited
from tests.report.comparison.runs import run_of, sides


def first_audio(comparison: Comparison, kind: str = "as seen") -> Compared:
    return next(each for each in comparison.figures if (each.name, each.kind) == ("first_audio", kind))


def test_figures_of_several_runs_of_a_side_are_pooled_without_loss(tmp_path: Path) -> None:
    left = [run_of(tmp_path / "1", [100, 200]), run_of(tmp_path / "2", [300])]
    right = [run_of(tmp_path / "3", [400, 500])]
    figure = first_audio(compare([Side("a", left), Side("b", right)]))
    assert figure.seen == (3, 2)
    assert figure.histograms[0] == Histogram.of([100_000, 200_000, 300_000])
    assert figure.stats[1].max == pytest.approx(500, rel=1e-3)


def test_a_figure_that_is_corrected_stands_there_twice(tmp_path: Path) -> None:
    comparison = compare(sides(tmp_path, [100], [4_900]))
    kinds = [each.kind for each in comparison.figures if each.name == "first_audio"]
    assert kinds == ["as seen", "corrected"]
    assert first_audio(comparison, "corrected").seen == (1, 1)


def test_what_differs_is_named_and_what_does_not_is_left_out(tmp_path: Path) -> None:
    other = edited(RUN_YAML, return_s=11)
    comparison = compare(sides(tmp_path, [100], [100], run=other))
    differing = {each.key: [dict(values) for values in each.values] for each in comparison.different}
    assert differing["run.deadlines.return_s"] == [{"10": 1}, {"11": 1}]
    assert differing["provenance.host"] == [{"before": 1}, {"after": 1}]
    assert {key.partition(".")[0] for key in differing} == {"run", "provenance"}


def test_runs_of_one_side_that_do_not_agree_are_counted_by_value(tmp_path: Path) -> None:
    left = [run_of(tmp_path / "1", [100]), run_of(tmp_path / "2", [100], run=edited(RUN_YAML, return_s=11))]
    comparison = compare([Side("a", left), Side("b", [run_of(tmp_path / "3", [100])])])
    found = next(each for each in comparison.different if each.key == "run.deadlines.return_s")
    assert [dict(values) for values in found.values] == [{"10": 1, "11": 1}, {"10": 1}]


def test_checks_are_counted_by_verdict_on_each_side(tmp_path: Path) -> None:
    found = checks_of(compare(sides(tmp_path, [100], [9_000])))["progress"]
    assert [dict(counter) for counter in found] == [{"pass": 1}, {"fail": 1}]


@pytest.mark.parametrize("count", [1, 5])
def test_a_comparison_has_two_to_four_sides(tmp_path: Path, count: int) -> None:
    side = Side("x", [run_of(tmp_path / "run", [100])])
    with pytest.raises(UsageError, match=f"2 to 4 sides, not {count}"):
        compare([side] * count)


def test_a_run_that_stands_twice_on_a_side_would_count_twice_and_is_refused(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", [100])
    with pytest.raises(UsageError, match="stands twice on side a"):
        compare([Side("a", [run, tmp_path / "other" / ".." / "run"]), Side("b", [run])])


def test_a_side_without_a_run_and_a_folder_that_is_no_run_are_refused(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", [100])
    with pytest.raises(UsageError, match="side b has no run"):
        compare([Side("a", [run]), Side("b", [])])
    with pytest.raises(RigError, match="not a results folder"):
        compare([Side("a", [run]), Side("b", [tmp_path])])
