"""How much larger a latency is on one side than on the other: the ratio over pairs of runs, with its interval.

Each pair gives one ratio, of run B to run A with the same calls; the figure is their geometric mean. Its interval is a
bootstrap over pairs: pairs are drawn with replacement, as many as there are. For few pairs that interval is too narrow,
so its percentiles lie further out, as a t distribution would have them (the expanded percentile interval of
T. Hesterberg, "What Teachers Should Know About the Bootstrap", 2015). It can never reach beyond the smallest and the
largest ratio, and of n pairs even these enclose the true ratio only in 1 - 2^(1-n) of all cases: with fewer pairs than
`least_pairs` there is no interval at that level.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

import msgspec
import numpy as np

DRAWS = 20_000
SEED = 1


class Ratio(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """B to A; `low` and `high` are None with too few pairs for the level. `smallest`, `largest`: of single pairs."""

    pairs: int
    level: float
    value: float
    low: float | None
    high: float | None
    smallest: float
    largest: float

    @property
    def width_percent(self) -> float | None:
        """How wide the interval is, in percent of the ratio."""
        return None if self.low is None or self.high is None else (self.high - self.low) / self.value * 100


def least_pairs(level: float) -> int:
    """The fewest pairs whose smallest and largest ratio enclose the true one with this confidence."""
    return 1 + math.ceil(-math.log2(1 - level) - 1e-9)


def paired_ratio(pairs: Sequence[tuple[float, float]], level: float = 0.95, seed: int = SEED) -> Ratio | None:
    """The ratio of the second to the first of each pair, from those with two values above 0; None for none."""
    logs = np.array([math.log(b / a) for a, b in pairs if a > 0 and b > 0], dtype=np.float64)
    n = len(logs)
    if n == 0:
        return None
    low = high = None
    if n >= least_pairs(level):
        draws = np.random.default_rng(seed).integers(0, n, size=(DRAWS, n))
        tail = expanded_tail(level, n)
        low, high = (float(edge) for edge in np.exp(np.quantile(logs[draws].mean(axis=1), (tail, 1 - tail))))
    smallest, largest = math.exp(logs.min()), math.exp(logs.max())
    return Ratio(n, level, math.exp(logs.mean()), low, high, smallest, largest)


def expanded_tail(level: float, n: int) -> float:
    """The share of the bootstrap below the interval, for n values: what a normal tail has beyond the t quantile."""
    return NormalDist().cdf(-math.sqrt(n / (n - 1)) * t_quantile(1 - (1 - level) / 2, n - 1))


def t_quantile(share: float, freedom: int) -> float:
    """Student's t: below which value this share (above one half) lies, by bisection of `_t_below`."""
    low, high = 0.0, 1.0
    while _t_below(high, freedom) < share:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_below(middle, freedom) < share else (low, middle)
    return (low + high) / 2


def _t_below(t: float, freedom: int) -> float:
    """The distribution function of Student's t for t >= 0 (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    if freedom % 2 == 0:
        term = total = 1.0
        for k in range(1, freedom // 2):
            term *= cosine * cosine * (2 * k - 1) / (2 * k)
            total += term
        return 0.5 + sine * total / 2
    total = 0.0
    if freedom > 1:
        term = total = cosine
        for k in range(1, (freedom - 1) // 2):
            term *= cosine * cosine * (2 * k) / (2 * k + 1)
            total += term
    return 0.5 + (angle + sine * total) / math.pi
