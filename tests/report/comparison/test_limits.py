"""A comparison says what it cannot tell, of these runs."""

from pathlib import Path
from typing import Any

import pytest

from rig.report.comparison.content import Side, compare
from rig.report.comparison.limits import NO_REASON, limits, warnings
from tests.builders import PIPELINE_YAML, RUN_YAML, edited
from tests.report.comparison.runs import HARDWARE, run_of, sides

LABEL = "machine_label: large\n"


def warned(folder: Path, right: list[int] | None = None, **made: Any) -> str:
    return "\n".join(warnings(compare(sides(folder, [100], right or [100], **made))))


def test_runs_on_one_kind_of_machine_with_one_plan_need_no_warning_about_them(tmp_path: Path) -> None:
    found = warned(tmp_path)
    assert "machine" not in found
    assert "plan" not in found


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"hardware": HARDWARE | {"cores": 4.0}}, "the machines differ (hardware.cores)"),
        ({"hardware": None}, "at least one run did not record its machine"),
        ({"run": RUN_YAML + LABEL}, "the machines differ (machine_label)"),
        ({"pipeline": edited(PIPELINE_YAML, hardware_label="other")}, "their hardware_label differs"),
        ({"run": edited(RUN_YAML, seed=8)}, "the plans differ"),
    ],
)
def test_machines_and_plans_that_differ_are_warned_of_before_the_figures(
    tmp_path: Path, made: dict[str, Any], said: str
) -> None:
    assert said in warned(tmp_path, **made)


def test_machines_that_share_a_label_are_alike_whatever_they_report(tmp_path: Path) -> None:
    left = run_of(tmp_path / "1", [100], run=RUN_YAML + LABEL)
    right = run_of(tmp_path / "2", [100], run=RUN_YAML + LABEL, hardware=HARDWARE | {"cores": 4.0})
    assert "machine" not in "\n".join(warnings(compare([Side("a", [left]), Side("b", [right])])))


def test_a_side_that_failed_or_is_not_known_is_warned_of(tmp_path: Path) -> None:
    found = warned(tmp_path, [9_000])
    assert "its run cannot be believed (verdict unknown)" in found  # `before`: it was not watched after the load
    assert "its run of side B failed" in found


def test_a_run_on_both_sides_is_told_of(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", [100])
    assert "share a run: run" in "\n".join(warnings(compare([Side("a", [run]), Side("b", [run])])))


def test_few_values_and_single_runs_are_told_of(tmp_path: Path) -> None:
    found = "\n".join(limits(compare(sides(tmp_path, [100] * 9, [100] * 12))))
    assert "there is one run on side A and B" in found
    assert "The p50 of connect, first_audio" in found
    assert "fewer than 10 values" in found
    assert NO_REASON in found


def test_a_side_of_several_runs_with_enough_values_is_not_called_small(tmp_path: Path) -> None:
    left, right = ([run_of(tmp_path / f"{side}{number}", [100] * 6) for number in "12"] for side in "ab")
    found = limits(compare([Side("a", left), Side("b", right)]))
    (p50,) = [line for line in found if line.startswith("The p50 of")]
    assert "first_audio" not in p50
    assert not any("there is one run" in line for line in found)
