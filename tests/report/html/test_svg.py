"""Paths: what is drawn is what was counted."""

import re

import pytest

from rig.events.types import Act
from rig.report.html import svg
from rig.report.html.markup import el


def bars(path: str) -> list[tuple[int, int, float]]:
    """First bin, bin after the last, and height of each bar."""
    found = re.findall(r"M(\d+) 100V([\d.]+)H(\d+)V100Z", path)
    return [(int(begin), int(end), 100 - float(y)) for begin, y, end in found]


def test_a_bar_stands_over_its_bins_and_neighbours_of_one_height_are_one() -> None:
    path = svg.bars_path([0, 2, 2, 1, 0, None, 2], top=2)
    assert bars(path) == [(1, 3, 96), (3, 4, 48), (6, 7, 96)]
    assert path.count("M") == 3


def test_no_counts_make_no_path() -> None:
    assert svg.bars_path([], 1) == svg.bars_path([0, 0], 1) == svg.step_path([], 1) == ""


def test_a_line_has_steps_and_gaps() -> None:
    assert svg.step_path([None, 1, 1, 2, None, 1], top=2) == "M1 52H3V4H4M5 52H6"


def test_a_line_goes_on_to_the_end_of_its_last_bin() -> None:
    assert svg.step_path([1], top=1) == "M0 4H1"


def test_a_value_above_the_scale_does_not_leave_the_plot() -> None:
    assert bars(svg.bars_path([9], top=3)) == [(0, 1, 96)]


@pytest.mark.parametrize(
    ("values", "top"), [([], 1), ([0, None], 1), ([0.4], 0.5), ([7], 10), ([1], 1), ([4231.0, 12], 5000), ([21], 30)]
)
def test_a_scale_holds_all_values_and_ends_round(values: list[float | None], top: float) -> None:
    assert svg.nice_top(values) == pytest.approx(top)


@pytest.mark.parametrize(
    ("span", "expected"),
    [(8.0, [0, 1, 2, 3, 4, 5, 6, 7, 8]), (268.0, [0, 60, 120, 180, 240]), (0.05, [0])],
)
def test_ticks_stand_at_round_moments(span: float, expected: list[float]) -> None:
    assert svg.ticks(span) == expected


def test_a_day_has_ticks_at_whole_hours() -> None:
    assert [at_s % 3600 for at_s in svg.ticks(86_400)] == [0] * 9


def test_a_week_has_not_many_more() -> None:
    assert 2 <= len(svg.ticks(7 * 86_400)) <= 9


@pytest.mark.parametrize(("at_s", "text"), [(0, "0 s"), (12.5, "12.5 s"), (200, "3:20"), (7_500, "2:05:00")])
def test_moments_are_written_for_people(at_s: float, text: str) -> None:
    assert svg.clock_label(at_s) == text


@pytest.mark.parametrize(("value", "text"), [(1.0, "1"), (0.126, "0.13"), (100.0, "100"), (0.0, "0")])
def test_coordinates_are_short(value: float, text: str) -> None:
    assert svg.number(value) == text


def test_every_kind_of_mark_has_a_shape_of_its_own() -> None:
    assert len(set(svg.GLYPHS.values())) == len(svg.GLYPHS)
    for name in svg.GLYPHS:
        assert f'id="g-{name}"' in svg.symbols()
    assert "#g-hang_up" in svg.glyph("hang_up_fin")


def test_a_plot_is_as_wide_as_the_run_in_bins() -> None:
    assert 'viewBox="0 0 12.5 100"' in svg.plot(12.5, el("path", d="M0 0"))


def test_a_bar_that_ends_before_it_begins_is_not_drawn_backwards() -> None:
    assert 'width="0"' in svg.rect(5, 4, y=0, height=1, css="x", title="t")


@pytest.mark.parametrize("act", [act for act in Act if act is not Act.SAY_GOODBYE])
def test_every_act_but_the_goodbye_has_a_shape(act: Act) -> None:
    assert svg.glyph_of(act) in svg.GLYPHS
