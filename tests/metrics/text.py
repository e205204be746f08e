"""Samples of an exposition, as Prometheus' own parsers read them."""

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_prometheus

from rig.metrics.board import openmetrics_text, prometheus_text

Samples = dict[str, float]


def samples_of(families: list[Family]) -> Samples:
    """Value by name and labels, the same in both text formats."""
    strict = openmetrics_samples(openmetrics_text(families, None).decode())
    # What the older format calls a gauge or an unknown has the same samples.
    assert strict == prometheus_samples(prometheus_text(families).decode())
    return strict


def openmetrics_samples(text: str) -> Samples:
    """Read by the strict parser, which checks names, types, units, buckets and order."""
    return _samples(list(parse_openmetrics(text)))  # type: ignore[no-untyped-call]


def prometheus_samples(text: str) -> Samples:
    """Read by the parser of the text format 0.0.4."""
    return _samples(list(parse_prometheus(text)))


def _samples(families: list[Family]) -> Samples:
    found: Samples = {}
    for family in families:
        for sample in family.samples:
            name = series(sample.name, **sample.labels)
            assert name not in found, f"{name} stands twice"
            found[name] = sample.value
    return found


def series(name: str, **labels: str) -> str:
    """A series as it is written in a query, with its labels in order."""
    inner = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    return f"{name}{{{inner}}}" if inner else name
