"""The values behind a figure, as far as its histogram tells them apart."""

from typing import Any

import pytest

from rig.measure.figure import Figure
from rig.measure.histogram import Histogram, lowest_of

PER_UNIT = {"ms": 1_000, "s": 1_000_000, "ratio": 1_000_000, "count": 1_000_000}


def values(figure: Figure) -> list[float]:
    """Every value that was seen, ascending, in the figure's unit; each at most 0.1 % low."""
    histogram = Histogram.decode(figure.hdr)
    lowest = lowest_of(histogram.indices).tolist()
    pairs = zip(lowest, histogram.counts.tolist(), strict=True)
    return [value / PER_UNIT[figure.unit] for value, count in pairs for _ in range(count)]


def about(*expected: float) -> Any:
    """These values, ascending, within the histogram's 0.1 %."""
    return pytest.approx(list(expected), rel=1e-3)
