"""The ratio of latencies: right in the middle, and with intervals that hold what they promise."""

import math

import numpy as np
import pytest

from rig.compare.ratio import Ratio, expanded_tail, least_pairs, paired_ratio, t_quantile


def ratio(values: list[float], level: float = 0.95) -> Ratio:
    found = paired_ratio([(100.0, 100.0 * value) for value in values], level)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("share", "freedom", "t"),
    [
        (0.975, 1, 12.706),
        (0.975, 2, 4.303),
        (0.975, 5, 2.571),
        (0.975, 10, 2.228),
        (0.995, 7, 3.499),
        (0.95, 30, 1.697),
    ],
)
def test_t_quantiles_are_those_of_the_tables(share: float, freedom: int, t: float) -> None:
    assert t_quantile(share, freedom) == pytest.approx(t, abs=1e-3)


def test_the_tail_of_many_values_is_the_ordinary_one_and_smaller_for_few() -> None:
    assert expanded_tail(0.95, 10_000) == pytest.approx(0.025, rel=0.01)
    assert expanded_tail(0.95, 6) < expanded_tail(0.95, 20) < 0.025


def test_twice_as_slow_in_every_pair_is_exactly_two() -> None:
    found = ratio([2.0] * 8)
    assert (found.value, found.low, found.high) == pytest.approx((2.0, 2.0, 2.0))
    assert found.width_percent == pytest.approx(0.0, abs=1e-9)


def test_half_and_double_cancel_out() -> None:
    found = ratio([0.5, 2.0])
    assert found.value == pytest.approx(1.0)
    assert (found.smallest, found.largest) == pytest.approx((0.5, 2.0))


@pytest.mark.parametrize(("level", "pairs"), [(0.95, 6), (0.99, 8), (0.5, 2)])
def test_below_the_least_number_of_pairs_there_is_no_interval(level: float, pairs: int) -> None:
    assert least_pairs(level) == pairs
    values = [1.0 + 0.01 * number for number in range(pairs)]
    assert ratio(values, level).low is not None
    few = ratio(values[:-1], level)
    assert (few.low, few.high, few.width_percent) == (None, None, None)


def test_pairs_without_two_values_are_left_out() -> None:
    assert paired_ratio([(0.0, 5.0), (5.0, 0.0)]) is None
    found = paired_ratio([(0.0, 5.0), (10.0, 30.0)])
    assert found is not None
    assert found.pairs == 1
    assert found.value == pytest.approx(3.0)


def test_the_same_pairs_give_the_same_interval_and_the_sides_changed_round_its_inverse() -> None:
    values = [1.1, 0.9, 1.3, 1.0, 1.2, 0.8, 1.05]
    found, again = ratio(values), ratio(values)
    assert found == again
    turned = paired_ratio([(100.0 * value, 100.0) for value in values])
    assert turned is not None
    assert turned.value == pytest.approx(1 / found.value)


@pytest.mark.parametrize("pairs", [6, 8, 12])
def test_the_interval_holds_the_true_ratio_in_about_95_percent_of_all_cases(pairs: int) -> None:
    """300 comparisons whose sides differ by 1.2 on average, with the noise of single runs: a known answer."""
    random = np.random.default_rng(7)
    inside = 0
    for _ in range(300):
        found = ratio([math.exp(value) for value in random.normal(math.log(1.2), 0.2, pairs)])
        assert found.low is not None
        assert found.high is not None
        inside += found.low <= 1.2 <= found.high
    # Four standard deviations of 300 draws are 5 %.
    assert 0.90 <= inside / 300 <= 1.0
