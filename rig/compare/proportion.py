"""In how many of n runs something happened: the interval of its rate, and the test of two such counts. Exact both."""

from collections.abc import Callable
from math import comb

_STEPS = 60
"""Bisections of [0, 1]: far below what a double can tell apart in a rate."""

_SAME = 1 + 1e-9
"""Tables as likely as the one seen count as extreme as it, whatever the rounding."""


def clopper_pearson(hits: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The exact interval of a rate (Clopper and Pearson, 1934): it holds the true one in `level` of all cases or more.

    Nothing tried: 0 to 1.
    """
    if n == 0:
        return 0.0, 1.0
    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else _root(lambda rate: _at_least(hits, n, rate) < tail)
    high = 1.0 if hits == n else _root(lambda rate: _at_most(hits, n, rate) > tail)
    return low, high


def fisher(hits_a: int, n_a: int, hits_b: int, n_b: int) -> float:
    """Two-sided p of Fisher's exact test: how often chance alone gives counts as unlike as these, or more so."""
    both, n = hits_a + hits_b, n_a + n_b
    chances = {k: comb(n_a, k) * comb(n_b, both - k) for k in range(max(0, both - n_b), min(n_a, both) + 1)}
    seen = chances[hits_a]
    return min(1.0, sum(each for each in chances.values() if each <= seen * _SAME) / comb(n, both))


def _at_least(hits: int, n: int, rate: float) -> float:
    return sum(comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(hits, n + 1))


def _at_most(hits: int, n: int, rate: float) -> float:
    return sum(comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(hits + 1))


def _root(is_below: Callable[[float], bool]) -> float:
    """Where a condition that holds for small rates ceases to hold."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return (low + high) / 2
