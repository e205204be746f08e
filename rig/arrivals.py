"""Start times of open-loop calls: a list of integers, drawn from one generator.

Guaranteed: the same times on every machine with IEEE 754 doubles and in every Python version. Draws use `Random.random`
alone; everything else is + - * / and the square root, which IEEE 754 defines to the last bit, and moves of the binary
point. Logarithm and exponential are made of these here, because those of the C library differ in the last bit between
systems, and one bit can turn a draw around. No power operator, for the same reason.

The way: gaps with the mean 1 are added up, and the sum is mapped to the time at which the rate has brought forth so
many calls. So a ramp changes when calls begin, not how they are spread. The gaps of `gamma` follow G. Marsaglia and
W. W. Tsang, "A simple method for generating gamma variables" (2000), the normal ones the polar method.
"""

import math
import random
from collections.abc import Callable, Iterator

from rig.config.arrivals import AtRate, Constant, Gamma, Ramp

US_PER_S = 1_000_000

_LN2 = 0.6931471805599453
_SQRT_HALF = 0.7071067811865476
_LOG_TERMS = 12
_EXP_TERMS = 16
_EXP_FLOOR = -745.0
"""Below this, e to the x is 0 in a double."""


def starts_us(arrivals: AtRate, ramp: Ramp, duration_s: float, draw: random.Random) -> list[int]:
    """Microseconds after the beginning of the load at which calls begin, all before `duration_s`."""
    return [round(at_s * US_PER_S) for at_s in _times_s(arrivals, ramp, duration_s, draw)]


def _times_s(arrivals: AtRate, ramp: Ramp, duration_s: float, draw: random.Random) -> Iterator[float]:
    whole = _calls_due(ramp, arrivals.rate, duration_s)
    gap = _gap(arrivals)
    due = 0.0 if isinstance(arrivals, Constant) else gap(draw)
    while due < whole:
        at_s = _time_s(ramp, arrivals.rate, duration_s, due)
        if at_s >= duration_s:
            return
        yield at_s
        due += gap(draw)


def _calls_due(ramp: Ramp, rate: float, duration_s: float) -> float:
    """How many calls the whole load brings forth on average: each ramp half of what its time would at full rate."""
    return rate * (duration_s - ramp.up_s / 2 - ramp.down_s / 2)


def _time_s(ramp: Ramp, rate: float, duration_s: float, due: float) -> float:
    """When `due` calls have come, on average: the area under the rate up to then is `due`."""
    rising = rate * ramp.up_s / 2
    if due < rising:
        return math.sqrt(2 * ramp.up_s * due / rate)
    at_s = ramp.up_s + (due - rising) / rate
    if at_s <= duration_s - ramp.down_s or ramp.down_s == 0:
        return at_s
    left = max(0.0, _calls_due(ramp, rate, duration_s) - due)
    return duration_s - math.sqrt(2 * ramp.down_s * left / rate)


def _gap(arrivals: AtRate) -> Callable[[random.Random], float]:
    """A drawer of gaps with the mean 1."""
    if isinstance(arrivals, Constant):
        return lambda draw: 1.0
    shape = arrivals.burstiness if isinstance(arrivals, Gamma) else 1.0
    if shape == 1:
        return exponential
    return lambda draw: gamma(draw, shape) / shape


def exponential(draw: random.Random) -> float:
    """An exponential number with the mean 1."""
    return -log(1 - draw.random())


def gamma(draw: random.Random, shape: float) -> float:
    """A gamma number with the mean `shape` and the scale 1."""
    if shape < 1:
        # A larger one is drawn and scaled down by a power of an even number.
        return gamma(draw, shape + 1) * exp(log(1 - draw.random()) / shape)
    d = shape - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        x = _normal(draw)
        v = 1 + c * x
        if v <= 0:
            continue
        v = v * v * v
        if log(1 - draw.random()) < x * x / 2 + d - d * v + d * log(v):
            return d * v


def _normal(draw: random.Random) -> float:
    while True:
        x, y = 2 * draw.random() - 1, 2 * draw.random() - 1
        square = x * x + y * y
        if 0 < square < 1:
            return x * math.sqrt(-2 * log(square) / square)


def log(x: float) -> float:
    """The natural logarithm of a positive number, to about one unit in the last place and everywhere the same."""
    mantissa, exponent = math.frexp(x)
    if mantissa < _SQRT_HALF:
        mantissa, exponent = mantissa * 2, exponent - 1
    ratio = (mantissa - 1) / (mantissa + 1)
    square = ratio * ratio
    total = 0.0
    for term in range(_LOG_TERMS, -1, -1):
        total = total * square + 1 / (2 * term + 1)
    return 2 * ratio * total + exponent * _LN2


def exp(x: float) -> float:
    """e to the power of x, for x up to 700; everywhere the same."""
    if x < _EXP_FLOOR:
        return 0.0
    shift = round(x / _LN2)
    rest = x - shift * _LN2
    total = 1.0
    for term in range(_EXP_TERMS, 0, -1):
        total = 1 + total * rest / term
    return math.ldexp(total, shift)
