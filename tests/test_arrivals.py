"""Start times: as many as the rate says, spread as the kind of arrivals says, from `Random.random` alone."""

import math
import random
import statistics
from itertools import pairwise

import pytest

from rig.arrivals import exp, exponential, gamma, log, starts_us
from rig.config.arrivals import Constant, Gamma, Poisson, Ramp

DURATION_S = 2_000
NUMBERS = [10.0**power * factor for power in range(-300, 300, 7) for factor in (1.0, 1.2345, 7.77)]


class OnlyRandom(random.Random):
    """A generator that has nothing but `random`, which is all that Python keeps the same between versions."""

    def getrandbits(self, k: int) -> int:
        raise AssertionError("only random() may be used")


def gaps_s(starts: list[int]) -> list[float]:
    return [(later - earlier) / 1e6 for earlier, later in pairwise(starts)]


def test_constant_arrivals_come_at_equal_distances_from_the_beginning() -> None:
    assert starts_us(Constant(kind="constant", rate=4), Ramp(), 1, OnlyRandom(1)) == [0, 250_000, 500_000, 750_000]


@pytest.mark.parametrize("burstiness", [0.25, 0.5, 1.0, 3.0, 20.0])
def test_gamma_gaps_have_the_mean_of_the_rate_and_the_spread_of_the_burstiness(burstiness: float) -> None:
    gaps = gaps_s(starts_us(Gamma(kind="gamma", rate=5, burstiness=burstiness), Ramp(), DURATION_S, OnlyRandom(1)))
    # scale = 1 / (rate * burstiness): the mean is 1 / rate, the squared coefficient of variation 1 / burstiness.
    assert statistics.mean(gaps) == pytest.approx(0.2, rel=0.06)
    assert statistics.variance(gaps) / 0.04 == pytest.approx(1 / burstiness, rel=0.15)


def test_the_chance_of_a_long_poisson_gap_falls_exponentially() -> None:
    gaps = gaps_s(starts_us(Poisson(kind="poisson", rate=5), Ramp(), DURATION_S, OnlyRandom(2)))
    for multiple in (1, 2, 3):
        share = sum(gap > multiple * 0.2 for gap in gaps) / len(gaps)
        assert share == pytest.approx(math.exp(-multiple), rel=0.1)


def test_a_ramp_makes_the_rate_grow_and_fall_in_a_straight_line() -> None:
    starts = starts_us(Constant(kind="constant", rate=10), Ramp(up_s=100, down_s=50), 300, OnlyRandom(1))
    # The area under the rate: a triangle of 100 s, 150 s in full, a triangle of 50 s.
    assert len(starts) == 500 + 1_500 + 250
    assert sum(at < 50e6 for at in starts) == pytest.approx(125, abs=1)
    assert sum(100e6 <= at < 250e6 for at in starts) == pytest.approx(1_500, abs=1)
    assert sum(at >= 275e6 for at in starts) == pytest.approx(62.5, abs=1)
    assert starts == sorted(starts)
    assert starts[-1] < 300e6


def test_a_load_of_nothing_but_ramps_has_half_the_calls() -> None:
    assert len(starts_us(Constant(kind="constant", rate=10), Ramp(up_s=50, down_s=50), 100, OnlyRandom(1))) == 500


def test_numbers_come_from_random_alone() -> None:
    draws = OnlyRandom(3)
    values = [exponential(draws), gamma(draws, 0.1), gamma(draws, 5)]
    assert all(value >= 0 for value in values)


def test_the_logarithm_is_that_of_the_c_library_to_its_last_bits() -> None:
    for number in NUMBERS:
        assert log(number) == pytest.approx(math.log(number), rel=1e-15, abs=1e-15)


def test_the_exponential_is_that_of_the_c_library_nearly() -> None:
    for number in (-800.0, -700.0, -50.5, -1.0, -1e-9, 0.0, 1e-9, 0.5, 30.0, 600.0):
        assert exp(number) == pytest.approx(math.exp(number), rel=1e-12, abs=1e-320)
