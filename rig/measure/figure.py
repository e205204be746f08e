"""A figure: a distribution with its origin, and what could not be measured and why.

Corrected for coordinated omission: a caller who waits through a stall does not make the requests that the plan wanted
meanwhile, and a plain distribution lacks what these would have waited. Where a measure has an expected interval, a
value of several intervals also counts as value - interval, value - 2 * interval, and so on down to the interval (as
`recordValueWithExpectedInterval` of HdrHistogram does). Both distributions are told side by side.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import ClassVar, Literal, NamedTuple, Self

import msgspec
import numpy as np

from rig.clock import NS_PER_S, to_s
from rig.events.types import CallEvent
from rig.fold import Fold
from rig.history import Call, History
from rig.measure.histogram import Histogram, Integers, indices_of, merged

Unit = Literal["ms", "s", "ratio", "count"]

MIN_BIN_S = 60
MAX_BINS = 200
FLUSH_VALUES = 1 << 16

_INDEX_BITS = 16
_BIN_BITS = 8
PER_UNIT = {"ms": 1_000, "s": 1_000_000, "ratio": 1_000_000, "count": 1_000_000}


class Table:
    """Counts by behaviour, window and bucket, sparse; values are taken in by the thousand."""

    def __init__(self) -> None:
        self._values: list[int] = []
        self._slots: list[int] = []
        self._counted: dict[int, Counter[int]] = {}
        self._table: tuple[Integers, Integers] = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))

    def add(self, slot: int, value: int) -> None:
        """Take one value in; `slot` is behaviour and window."""
        self._values.append(value)
        self._slots.append(slot)
        if len(self._values) >= FLUSH_VALUES:
            self._flush()

    def count(self, slot: int, values: Iterable[int]) -> None:
        """Take values of one slot in, of which many are the same: those cost less here than in `add`."""
        counted = self._counted.get(slot)
        if counted is None:
            counted = self._counted[slot] = Counter()
        counted.update(values)
        if len(counted) >= FLUSH_VALUES:
            self._flush()

    def histogram(self, *, behaviour: int | None = None, window: int | None = None) -> Histogram:
        """All values, or those of one behaviour or window."""
        self._flush()
        keys, counts = self._table
        wanted = np.ones(len(keys), dtype=bool)
        if behaviour is not None:
            wanted &= keys >> (_INDEX_BITS + _BIN_BITS) == behaviour
        if window is not None:
            wanted &= keys >> _INDEX_BITS & ((1 << _BIN_BITS) - 1) == window
        indices, places = np.unique(keys[wanted] & ((1 << _INDEX_BITS) - 1), return_inverse=True)
        summed = np.zeros(len(indices), dtype=np.int64)
        np.add.at(summed, places, counts[wanted])
        return Histogram(indices, summed)

    def windows(self) -> list[int]:
        """The windows that have values."""
        self._flush()
        return sorted(set((self._table[0] >> _INDEX_BITS & ((1 << _BIN_BITS) - 1)).tolist()))

    def _flush(self) -> None:
        if self._values:
            self._merge(self._values, self._slots, None)
            self._values.clear()
            self._slots.clear()
        for slot, counted in self._counted.items():
            self._merge(list(counted), [slot] * len(counted), list(counted.values()))
        self._counted.clear()

    def _merge(self, values: list[int], slots: list[int], times: list[int] | None) -> None:
        """Add values to the table, each so many times."""
        keys = np.array(slots, dtype=np.int64) << _INDEX_BITS | indices_of(np.array(values, dtype=np.int64))
        if times is None:
            keys, counts = np.unique(keys, return_counts=True)
            self._table = merged(self._table, (keys, counts.astype(np.int64)))
        else:
            self._table = merged(self._table, (keys, np.array(times, dtype=np.int64)))


class Measured:
    """What one measure found: distributions, and a count of cases without a value per reason."""

    def __init__(self, history: History) -> None:
        self.raw = Table()
        self.filled = Table()
        self.unavailable: Counter[str] = Counter()
        self.hits: Counter[bool] = Counter()
        self.behaviours: dict[str, int] = {}
        self.origin_ns = history.origin_ns
        self.bin_ns = window_ns(history)

    def slot(self, behaviour: str, at_ns: int) -> int:
        """Behaviour and window as one number."""
        place = self.behaviours.get(behaviour)
        if place is None:
            place = self.behaviours[behaviour] = len(self.behaviours)
        window = (at_ns - self.origin_ns) // self.bin_ns
        if not 0 <= window < MAX_BINS:
            window = 0 if window < 0 else MAX_BINS - 1
        return place << _BIN_BITS | window

    def add(self, behaviour: str, at_ns: int, value: int, interval: int = 0) -> None:
        """One value, in microseconds or millionths; with an expected interval also what a stall suppressed."""
        slot = self.slot(behaviour, at_ns)
        self.raw.add(slot, value)
        if interval > 0:
            for missing in suppressed(value, interval):
                self.filled.add(slot, missing)


def suppressed(value: int, interval: int) -> range:
    """What a stall of this length kept from being asked, where something is expected every `interval`."""
    return range(value - interval, interval - 1, -interval)


class Sample(NamedTuple):
    """One value of a measure with where it came from; value and interval in microseconds or millionths."""

    measure: "Measure"
    call: Call
    at_ns: int
    value: int
    interval: int
    of: CallEvent
    """The event that the value belongs to: it has the connection, and mostly the turn."""


Tap = Callable[[Sample], None]


def window_ns(history: History) -> int:
    """Width of a window: a minute, or more minutes where there would be too many windows."""
    span_s = to_s(history.heard_ns - history.origin_ns)
    minutes = int(span_s // (MIN_BIN_S * MAX_BINS)) + 1
    return minutes * MIN_BIN_S * NS_PER_S


class Measure(Fold["Figure"]):
    """Base of the measures: a fold with a name and an origin.

    `expected_interval` says from what a value can have suppressed others, None where nothing is planned in a rhythm.
    """

    name: ClassVar[str]
    measurement_origin: ClassVar[str]
    unit: ClassVar[Unit] = "ms"
    expected_interval: ClassVar[str | None] = None
    rate_name: ClassVar[str | None] = None
    load_only = True

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self.measured = Measured(history)
        self.tap: Tap | None = None
        """Who else is told of every value, None for nobody."""

    def add(self, call: Call, at_ns: int, value_ns: int, interval_ns: int = 0, *, of: CallEvent) -> None:
        """One value in nanoseconds, seen at a moment of a call, and the event that it belongs to."""
        self.measured.add(call.start.behaviour, at_ns, value_ns // 1_000, interval_ns // 1_000)
        if self.tap is not None:
            self.tap(Sample(self, call, at_ns, value_ns // 1_000, interval_ns // 1_000, of))

    def miss(self, why: str) -> None:
        """One case without a value."""
        self.measured.unavailable[why] += 1

    def result(self) -> "Figure":
        """What was measured."""
        return Figure.of(type(self), self.measured)


class Stats(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Statistics in the unit of the figure; percentiles by nearest rank, each within 0.1 %. None without a value."""

    n: int
    mean: float | None
    std: float | None
    min: float | None
    p50: float | None
    p90: float | None
    p95: float | None
    p99: float | None
    p999: float | None
    max: float | None

    @classmethod
    def of(cls, histogram: Histogram, unit: Unit) -> Self:
        """Summarise a histogram."""
        per = PER_UNIT[unit]
        percentiles = [histogram.percentile(percent) for percent in (50, 90, 95, 99, 99.9)]
        values = (histogram.mean(), histogram.std(), histogram.min(), *percentiles, histogram.max())
        return cls(histogram.n, *(None if value is None else value / per for value in values))


class Bin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One window of time that has values; `begin_s` since the run began. Corrected where the figure is."""

    begin_s: float
    stats: Stats


class Rate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """In how many of the cases something held; `value` is None without a case."""

    name: str
    hits: int
    cases: int
    value: float | None


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A figure as it is reported.

    `uncorrected` is what was seen, `corrected` has what stalls suppressed as well, None where nothing is expected in a
    rhythm (`expected_interval`). `hdr` and `hdr_corrected` are HdrHistogram payloads in microseconds or millionths.
    """

    name: str
    measurement_origin: str
    unit: Unit
    uncorrected: Stats
    corrected: Stats | None
    expected_interval: str | None
    unavailable: dict[str, int]
    rate: Rate | None
    by_behaviour: dict[str, Stats]
    bin_s: float
    bins: list[Bin]
    hdr: str
    hdr_corrected: str | None

    @property
    def best(self) -> Stats:
        """Corrected where there is a correction, else what was seen."""
        return self.uncorrected if self.corrected is None else self.corrected

    @property
    def n(self) -> int:
        """How many values were really seen."""
        return self.uncorrected.n

    @classmethod
    def of(cls, kind: type[Measure], measured: Measured) -> Self:
        """Summarise what was measured."""
        unit, is_corrected = kind.unit, kind.expected_interval is not None
        raw = measured.raw.histogram()
        corrected = raw + measured.filled.histogram() if is_corrected else None
        return cls(
            name=kind.name,
            measurement_origin=kind.measurement_origin,
            unit=unit,
            uncorrected=Stats.of(raw, unit),
            corrected=None if corrected is None else Stats.of(corrected, unit),
            expected_interval=kind.expected_interval,
            unavailable=dict(sorted(measured.unavailable.items())),
            rate=_rate(kind.rate_name, measured.hits),
            by_behaviour={
                name: Stats.of(_both(measured, behaviour=place), unit)
                for name, place in sorted(measured.behaviours.items())
            },
            bin_s=to_s(measured.bin_ns),
            bins=[
                Bin(to_s(window * measured.bin_ns), Stats.of(_both(measured, window=window), unit))
                for window in measured.raw.windows()
            ],
            hdr=raw.encode(),
            hdr_corrected=None if corrected is None else corrected.encode(),
        )

    @classmethod
    def crashed(cls, kind: type[Measure], history: History, why: str) -> Self:
        """The figure of a measure that raised: no value, and the reason."""
        measured = Measured(history)
        measured.unavailable[f"the measure itself crashed: {why}"] += 1
        return cls.of(kind, measured)


def _both(measured: Measured, *, behaviour: int | None = None, window: int | None = None) -> Histogram:
    raw = measured.raw.histogram(behaviour=behaviour, window=window)
    return raw + measured.filled.histogram(behaviour=behaviour, window=window)


def _rate(name: str | None, hits: Counter[bool]) -> Rate | None:
    if name is None:
        return None
    cases = hits.total()
    return Rate(name, hits[True], cases, hits[True] / cases if cases > 0 else None)
