"""Counts and waits by time, in bins of one width that doubles while the run goes on: memory does not grow with it."""

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Protocol

from rig.clock import NS_PER_MS, NS_PER_S, to_s

FIRST_WIDTH_NS = NS_PER_S // 4
MAX_BINS = 2_048
"""Two to a pixel of a wide plot; 24 h come to bins of 64 s."""

BUCKETS_PER_E = 50
"""Waits are kept in buckets 2 % wide."""


class Series(Protocol):
    """What an axis keeps in step."""

    def halve(self) -> None:
        """Put each two neighbouring bins together."""


class Axis:
    """Which bin a moment belongs to, for all series made with it."""

    def __init__(self, origin_ns: int, width_ns: int = FIRST_WIDTH_NS, max_bins: int = MAX_BINS) -> None:
        self.width_ns = width_ns
        self._origin_ns = origin_ns
        self._max_bins = max_bins
        self._series: list[Series] = []

    def keep_in_step(self, series: Series) -> None:
        """Let this series follow when the bins get wider."""
        self._series.append(series)

    def place(self, t_ns: int) -> int:
        """The bin of a moment; makes all bins wider until it fits. What came before the origin is in the first."""
        place = max(0, t_ns - self._origin_ns) // self.width_ns
        while place >= self._max_bins:
            self.width_ns *= 2
            for series in self._series:
                series.halve()
            place = max(0, t_ns - self._origin_ns) // self.width_ns
        return place

    @property
    def width_s(self) -> float:
        """Width of a bin in seconds."""
        return to_s(self.width_ns)


class Counts:
    """How often something happened, by bin."""

    def __init__(self, axis: Axis) -> None:
        self._axis = axis
        self._counts: defaultdict[int, int] = defaultdict(int)
        axis.keep_in_step(self)

    def add(self, t_ns: int, by: int = 1) -> None:
        """Count something at a moment."""
        place = self._axis.place(t_ns)
        self._counts[place] += by

    def halve(self) -> None:
        """See Series."""
        wider: defaultdict[int, int] = defaultdict(int)
        for place, count in self._counts.items():
            wider[place // 2] += count
        self._counts = wider

    def values(self, bins: int) -> list[int]:
        """One number a bin."""
        return [self._counts.get(place, 0) for place in range(bins)]


class Peaks:
    """The largest value seen in each bin; None where none was."""

    def __init__(self, axis: Axis) -> None:
        self._axis = axis
        self._peaks: dict[int, float] = {}
        axis.keep_in_step(self)

    def add(self, t_ns: int, value: float) -> None:
        """Take a value in."""
        place = self._axis.place(t_ns)
        self._peaks[place] = max(value, self._peaks.get(place, value))

    def halve(self) -> None:
        """See Series."""
        wider: dict[int, float] = {}
        for place, value in self._peaks.items():
            wider[place // 2] = max(value, wider.get(place // 2, value))
        self._peaks = wider

    def values(self, bins: int) -> list[float | None]:
        """One value a bin, or None."""
        return [self._peaks.get(place) for place in range(bins)]


class Waits:
    """Distributions of waits by bin; percentiles are within 2 %."""

    def __init__(self, axis: Axis) -> None:
        self._axis = axis
        self._bins: dict[int, dict[int, int]] = {}
        axis.keep_in_step(self)

    def add(self, t_ns: int, wait_ns: int) -> None:
        """Take in a wait that ended at a moment."""
        place = self._axis.place(t_ns)
        counts = self._bins.setdefault(place, {})
        bucket = bucket_of(wait_ns)
        counts[bucket] = counts.get(bucket, 0) + 1

    def halve(self) -> None:
        """See Series."""
        wider: dict[int, dict[int, int]] = {}
        for place, counts in self._bins.items():
            into = wider.setdefault(place // 2, {})
            for bucket, count in counts.items():
                into[bucket] = into.get(bucket, 0) + count
        self._bins = wider

    def percentiles_ms(self, bins: int, percent: float) -> list[float | None]:
        """One percentile a bin, None where nothing was waited for."""
        return [percentile_ms(self._bins.get(place), percent) for place in range(bins)]


def bucket_of(wait_ns: int) -> int:
    """The bucket of a wait; below a millisecond there is one bucket."""
    return round(math.log(max(wait_ns / NS_PER_MS, 1.0)) * BUCKETS_PER_E)


def percentile_ms(counts: Mapping[int, int] | None, percent: float) -> float | None:
    """Nearest-rank percentile of counts by bucket, in milliseconds; None where there is none."""
    if not counts:
        return None
    rank = max(1, math.ceil(sum(counts.values()) * percent / 100))
    seen = 0
    for bucket in sorted(counts):
        seen += counts[bucket]
        if seen >= rank:
            return math.exp(bucket / BUCKETS_PER_E)
    raise AssertionError("the counts do not add up to the total")
