"""Figures of several runs as one: their histograms are added, which loses nothing.

A percentile means something only where some values lie beyond it; `enough` says where that is so.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rig.measure.figure import PER_UNIT, Rate, Stats, Unit
from rig.measure.histogram import Histogram
from rig.report.digest import Digest, Measured

BEYOND = 5
"""So many values must lie beyond a percentile before it is held against another: below, one slow reply decides it."""

PERCENTS: Mapping[str, float] = {"p50": 50, "p90": 90, "p95": 95, "p99": 99, "p999": 99.9}

_EMPTY = Histogram.of(())


@dataclass(frozen=True)
class Pooled:
    """One figure over all runs of a side. `corrected` is None where nothing is expected in a rhythm."""

    name: str
    unit: Unit
    measurement_origin: str
    seen: Histogram
    corrected: Histogram | None
    unavailable: Mapping[str, int] = field(default_factory=dict)
    rate: Rate | None = None

    @property
    def best(self) -> Histogram:
        """Corrected where there is a correction, else what was seen."""
        return self.seen if self.corrected is None else self.corrected

    @property
    def n(self) -> int:
        """How many values were really seen."""
        return self.seen.n

    def stats(self) -> Stats:
        """Statistics of `best`."""
        return Stats.of(self.best, self.unit)


def needed(statistic: str) -> int:
    """How many values a statistic needs: p50 10, p95 100, p99 500; mean and maximum as many as the median."""
    return math.ceil(round(BEYOND / (1 - PERCENTS.get(statistic, 50) / 100), 6))


def enough(statistic: str, n: int) -> bool:
    """Whether so many values, really seen, are enough for a statistic."""
    return n >= needed(statistic)


def pool(digests: Sequence[Digest]) -> dict[str, Pooled]:
    """Every figure that a run has, in the order of the runs' own tables."""
    found: dict[str, list[Measured]] = {}
    for digest in digests:
        for measured in digest.measures:
            found.setdefault(measured.name, []).append(measured)
    return {name: _pooled(parts) for name, parts in found.items()}


def scaled(value: float, unit: Unit) -> float:
    """A value of a histogram in the unit of its figure."""
    return value / PER_UNIT[unit]


def _pooled(parts: Sequence[Measured]) -> Pooled:
    first = parts[0]
    unavailable: Counter[str] = Counter()
    for part in parts:
        unavailable.update(part.unavailable)
    seen = sum((Histogram.decode(part.hdr) for part in parts), _EMPTY)
    payloads = [part.hdr_corrected for part in parts]
    corrected = None
    if all(payload is not None for payload in payloads):
        corrected = sum((Histogram.decode(payload) for payload in payloads if payload is not None), _EMPTY)
    rates = [part.rate for part in parts if part.rate is not None]
    return Pooled(
        first.name, first.unit, first.measurement_origin, seen, corrected, dict(unavailable), _added(rates)
    )  # fmt: skip


def _added(rates: Sequence[Rate]) -> Rate | None:
    if not rates:
        return None
    hits, cases = sum(rate.hits for rate in rates), sum(rate.cases for rate in rates)
    return Rate(rates[0].name, hits, cases, hits / cases if cases > 0 else None)
