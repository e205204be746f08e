"""Distributions: as seen and corrected side by side, by behaviour, over time, with what could not be measured."""

from collections.abc import Callable

import pytest

from rig.measure.figure import Bin, Figure, Rate, Stats, Unit
from rig.report.html import distributions
from rig.report.html.distributions import told


def stats(value: float | None = 1.0, n: int = 1) -> Stats:
    return Stats(n, *[value] * 9)


EMPTY = stats(None, 0)


@pytest.fixture
def figure() -> Callable[..., Figure]:
    def make(**fields: object) -> Figure:
        whole: dict[str, object] = {
            "name": "first_audio", "measurement_origin": "from here to there", "unit": "ms", "uncorrected": stats(),
            "corrected": None, "expected_interval": None, "unavailable": {}, "rate": None, "by_behaviour": {},
            "bin_s": 60.0, "bins": [], "hdr": "", "hdr_corrected": None,
        }  # fmt: skip
        return Figure(**(whole | fields))  # type: ignore[arg-type]

    return make


def test_corrected_stands_below_what_was_seen(figure: Callable[..., Figure]) -> None:
    html = distributions.render([figure(uncorrected=stats(900.0, 10), corrected=stats(2400.0, 13))])
    seen, corrected = html.index("<td>as seen</td>"), html.index("<td>corrected</td>")
    assert seen < html.index("900 ms") < corrected < html.index("2,400 ms")
    assert 'class="dashed"' in html


def test_a_figure_that_is_not_corrected_has_one_row(figure: Callable[..., Figure]) -> None:
    assert "<td>corrected</td>" not in distributions.render([figure()])


def test_what_could_not_be_measured_is_counted_and_is_no_zero(figure: Callable[..., Figure]) -> None:
    html = distributions.render([figure(uncorrected=EMPTY, unavailable={"turn no_reply": 3})])
    assert "3 turn no_reply" in html
    assert "no value" in html
    assert "0 ms" not in html


def test_behaviours_have_a_column_each_and_a_dash_where_there_is_nothing(figure: Callable[..., Figure]) -> None:
    both = figure(by_behaviour={"polite": stats(5.0, 2), "hang_up": stats(7.0, 4)})
    one = figure(name="connect", by_behaviour={"polite": stats(6.0, 1)})
    html = distributions.render([both, one])
    assert '<th scope="col" class="num">hang_up</th><th scope="col" class="num">polite</th>' in html
    assert '<td class="num">7 ms, 7 ms (4)</td><td class="num">5 ms, 5 ms (2)</td>' in html
    assert '<td class="num">-</td><td class="num">6 ms, 6 ms (1)</td>' in html


def test_windows_without_values_are_gaps(figure: Callable[..., Figure]) -> None:
    html = distributions.render([figure(bins=[Bin(0.0, stats(10.0)), Bin(120.0, stats(10.0))])])
    assert 'd="M0 4H1M2 4H3"' in html
    assert "windows of 60 s" in html


def test_a_figure_of_one_window_is_not_drawn_over_time(figure: Callable[..., Figure]) -> None:
    assert "Over time" not in distributions.render([figure(bins=[Bin(0.0, stats())])])


def test_rates_are_told_with_their_cases(figure: Callable[..., Figure]) -> None:
    html = distributions.render([figure(rate=Rate("yield_rate", 1, 4, 0.25)), figure(rate=Rate("none", 0, 0, None))])
    assert '<td class="num">25.0 %</td><td class="num">1 of 4</td>' in html
    assert '<td class="num">-</td><td class="num">0 of 0</td>' in html


def test_origins_say_in_what_rhythm_values_were_expected(figure: Callable[..., Figure]) -> None:
    html = distributions.render([figure(expected_interval="the length of the audio", corrected=stats())])
    assert "from here to there; expected every: the length of the audio" in html


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(None, "ms", "-"), (0.0, "ms", "0 ms"), (1234.4, "ms", "1,234 ms"), (1.5, "s", "1.50 s"), (3.0, "count", "3"),
     (0.5, "ratio", "0.50")],
)  # fmt: skip
def test_values_are_told_in_their_unit(value: float | None, unit: Unit, text: str) -> None:
    assert told(value, unit) == text


def test_a_figure_that_was_always_zero_has_no_strip(figure: Callable[..., Figure]) -> None:
    assert "all 0" in distributions.render([figure(unit="count", uncorrected=stats(0.0, 5))])
