"""Values of the metrics of the catalogue, and how they become Prometheus text."""

import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    StateSetMetricFamily,
)
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from rig.metrics.catalogue import METRICS, Kind, Metric

Labels = tuple[str, ...]
Collect = Callable[[], Iterable[Family]]


@dataclass
class Buckets:
    """A histogram: how many values are at most as large as each edge and larger than the one before; their sum."""

    counts: list[int]
    total: float = 0.0


@dataclass
class Board:
    """Values by metric and labels. A name that is not in the catalogue, or a wrong number of labels, is an error."""

    _values: dict[str, dict[Labels, float]] = field(default_factory=dict)
    _buckets: dict[str, dict[Labels, Buckets]] = field(default_factory=dict)

    def count(self, name: str, *labels: str, by: float = 1) -> None:
        """Add to a counter; with `by=0` it is there before it first counts."""
        values = self._values_of(name, labels)
        values[labels] = values.get(labels, 0) + by

    def set(self, name: str, value: float, *labels: str) -> None:
        """Give a gauge its value."""
        self._values_of(name, labels)[labels] = value

    def observe(self, name: str, value: float, *labels: str) -> None:
        """Take one value into a histogram."""
        edges = _known(name, labels).buckets
        found = self._buckets.setdefault(name, {}).setdefault(labels, Buckets([0] * (len(edges) + 1)))
        found.counts[bisect.bisect_left(edges, value)] += 1
        found.total += value

    def put(self, name: str, buckets: Buckets, *labels: str) -> None:
        """Give a histogram all its values."""
        assert len(buckets.counts) == len(_known(name, labels).buckets) + 1
        self._buckets.setdefault(name, {})[labels] = buckets

    def total(self, name: str) -> float:
        """Sum of a metric over its labels."""
        return sum(self._values.get(name, {}).values())

    def families(self, metric: Metric) -> Iterator[tuple[Labels, float | Buckets]]:
        """The series of one metric."""
        yield from self._values.get(metric.name, {}).items()
        yield from self._buckets.get(metric.name, {}).items()

    def _values_of(self, name: str, labels: Labels) -> dict[Labels, float]:
        _known(name, labels)
        return self._values.setdefault(name, {})


def _known(name: str, labels: Labels) -> Metric:
    metric = METRICS[name]
    if len(labels) != len(metric.labels):
        raise ValueError(f"{name} has the labels {metric.labels}, not {labels}")
    return metric


def families(boards: Sequence[Board]) -> list[Family]:
    """What some boards hold, in the order of the catalogue; a metric without a value is left out."""
    found = []
    for metric in METRICS.values():
        series = [item for board in boards for item in board.families(metric)]
        if series:
            found.append(_family(metric, series))
    return found


def _family(metric: Metric, series: list[tuple[Labels, float | Buckets]]) -> Family:
    match metric.kind:
        case Kind.HISTOGRAM:
            histogram = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels, unit=metric.unit)
            for labels, value in series:
                assert isinstance(value, Buckets)
                histogram.add_metric(labels, _cumulative(metric.buckets, value.counts), value.total)
            return histogram
        case Kind.INFO:
            info = InfoMetricFamily(metric.name, metric.help)
            for labels, _ in series:
                info.add_metric((), dict(zip(metric.labels, labels, strict=True)))
            return info
        case Kind.STATESET:
            states = StateSetMetricFamily(metric.name, metric.help)
            states.add_metric((), {labels[0]: value == 1 for labels, value in series})
            return states
    kind = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
    family = kind(metric.name, metric.help, labels=metric.labels, unit=metric.unit)
    for labels, value in series:
        assert not isinstance(value, Buckets)
        family.add_metric(labels, value)
    return family


def _cumulative(edges: Sequence[float], counts: Sequence[int]) -> list[tuple[str, float]]:
    names = [*(str(edge) for edge in edges), "+Inf"]
    return [(name, sum(counts[: place + 1])) for place, name in enumerate(names)]


class Source(Collector):
    """Families as a collector."""

    def __init__(self, collect: Collect) -> None:
        self._collect = collect

    def collect(self) -> Iterable[Family]:
        """See Collector."""
        return self._collect()


def prometheus_text(found: Sequence[Family]) -> bytes:
    """The text format 0.0.4, which every tool reads; without times."""
    return generate_latest(_registry(found))


def openmetrics_text(found: Sequence[Family], at_s: float | None) -> bytes:
    """OpenMetrics; with a Unix time on every sample, where there is one, so that a database can take it in later."""
    stamped = found if at_s is None else [_stamped(family, at_s) for family in found]
    text: bytes = generate_openmetrics(_registry(stamped))  # type: ignore[no-untyped-call]
    return text


def _stamped(family: Family, at_s: float) -> Family:
    stamped = Family(family.name, family.documentation, family.type, family.unit)
    stamped.samples = [Sample(one.name, one.labels, one.value, at_s) for one in family.samples]
    return stamped


def _registry(found: Sequence[Family]) -> CollectorRegistry:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Source(lambda: found))
    return registry
