"""Exact statistics of counts, held against published values."""

from math import comb

import pytest

from rig.compare.proportion import clopper_pearson, fisher


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [
        (0, 10, 0.0, 0.3085),
        (5, 10, 0.1871, 0.8129),
        (10, 10, 0.6915, 1.0),
        (6, 6, 0.5407, 1.0),
        (1, 20, 0.0013, 0.2487),
    ],
)
def test_the_interval_is_that_of_the_tables(hits: int, n: int, low: float, high: float) -> None:
    assert clopper_pearson(hits, n) == pytest.approx((low, high), abs=1e-4)


def test_nothing_tried_tells_nothing() -> None:
    assert clopper_pearson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.5, 0.9])
def test_the_interval_holds_the_true_rate_in_at_least_95_percent_of_all_cases(rate: float) -> None:
    n = 12
    chance = {k: comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(n + 1)}
    inside = [k for k in chance if clopper_pearson(k, n)[0] <= rate <= clopper_pearson(k, n)[1]]
    assert sum(chance[k] for k in inside) >= 0.95


def test_a_higher_level_gives_a_wider_interval() -> None:
    narrow, wide = clopper_pearson(3, 10, 0.9), clopper_pearson(3, 10, 0.99)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


@pytest.mark.parametrize(
    ("table", "p"),
    [
        ((6, 6, 0, 6), 2 / comb(12, 6)),
        ((4, 4, 0, 4), 2 / comb(8, 4)),
        ((3, 3, 0, 3), 0.1),
        # Fisher's lady tasting tea: 3 of 4 right, two-sided.
        ((3, 4, 1, 4), 0.4857),
        ((1, 10, 11, 14), 0.00276),
        ((5, 5, 5, 5), 1.0),
    ],
)
def test_fishers_test_gives_the_published_p(table: tuple[int, int, int, int], p: float) -> None:
    assert fisher(*table) == pytest.approx(p, rel=0.01)


def test_both_sides_are_treated_alike() -> None:
    assert fisher(5, 6, 1, 8) == fisher(1, 8, 5, 6)
