"""A figure says how many values it has, which were not available and why; what is absent is None, never 0."""

from collections import Counter

import pytest

from rig.clock import NS_PER_MS
from rig.measure.figure import Figure, Measured, percentile_ms


def test_a_percentile_is_the_nearest_rank() -> None:
    # 1 to 10 ms: rank is ceil(10 * p / 100), so p50 is the 5th, p95 and p99 the 10th, p10 the 1st, p11 the 2nd.
    values = [number * NS_PER_MS for number in range(1, 11)]
    found = [percentile_ms(values, percent) for percent in (0, 10, 11, 50, 95, 99, 100)]
    assert found == [1.0, 1.0, 2.0, 5.0, 10.0, 10.0, 10.0]


@pytest.mark.parametrize("percent", [1, 50, 99])
def test_a_percentile_of_one_value_is_that_value(percent: float) -> None:
    assert percentile_ms([7 * NS_PER_MS], percent) == 7.0


def test_a_percentile_of_nothing_is_none() -> None:
    assert percentile_ms([], 50) is None


def test_a_figure_summarises_values_in_any_order() -> None:
    # 10, 30, 20 and 40 ms: mean 25, the 2nd of 4 is 20, the 4th is 40.
    values = [number * NS_PER_MS for number in (10, 30, 20, 40)]
    figure = Figure.of(Measured("wait", "a to b", values, Counter({"lost": 2, "cut": 1})))
    assert figure == Figure(
        name="wait",
        measurement_origin="a to b",
        n=4,
        mean_ms=25.0,
        p50_ms=20.0,
        p95_ms=40.0,
        p99_ms=40.0,
        max_ms=40.0,
        unavailable={"cut": 1, "lost": 2},
    )


def test_a_figure_without_values_has_none_and_no_zero() -> None:
    figure = Figure.of(Measured("wait", "a to b", [], Counter({"lost": 3})))
    assert (figure.n, figure.unavailable) == (0, {"lost": 3})
    statistics = (figure.mean_ms, figure.p50_ms, figure.p95_ms, figure.p99_ms, figure.max_ms)
    assert statistics == (None, None, None, None, None)


def test_a_value_of_zero_is_a_value() -> None:
    figure = Figure.of(Measured("wait", "a to b", [0]))
    assert (figure.n, figure.p50_ms, figure.max_ms) == (1, 0.0, 0.0)
