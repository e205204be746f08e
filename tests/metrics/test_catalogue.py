"""The catalogue: Prometheus' conventions, upstream's buckets, and few labels."""

import ast
import importlib.util
import re
from pathlib import Path

import pytest

from rig.measure import FIGURES
from rig.metrics.catalogue import LABELS, METRICS, RTF, SECONDS, SECONDS_FAST, Kind, Metric, figure_metric

UPSTREAM = {"SECONDS_BUCKETS": SECONDS, "SECONDS_FAST_BUCKETS": SECONDS_FAST, "RTF_BUCKETS": RTF}


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.name)
def test_every_name_has_our_prefix_and_a_base_unit(metric: Metric) -> None:
    assert re.fullmatch(r"rig_[a-z_]+", metric.name)
    assert metric.unit in ("", "seconds", "bytes")
    assert metric.unit == "" or metric.name.endswith(metric.unit)
    assert not metric.name.endswith(("_total", "_info", "_ms", "_s"))
    assert (metric.buckets != ()) is (metric.kind is Kind.HISTOGRAM)


def test_no_label_has_as_many_values_as_there_are_calls_or_sessions() -> None:
    used = {label for metric in METRICS.values() for label in metric.labels}
    assert not used & {"call", "session", "session_id", "connection", "response", "turn", "caller", "producer"}
    only_of_the_run = {"run_id", "seed", "plan_sha256", "model_name", "hardware_label"}
    assert {metric.name for metric in METRICS.values() if only_of_the_run & set(metric.labels)} == {"rig_run"}
    assert used - only_of_the_run == set(LABELS)


def test_every_figure_has_a_histogram_and_a_corrected_one_where_it_is_corrected() -> None:
    for kind in FIGURES:
        assert METRICS[figure_metric(kind).name].help == f"{kind.measurement_origin}."
        assert (figure_metric(kind, corrected=True).name in METRICS) is (kind.expected_interval is not None)


def test_buckets_are_upstreams() -> None:
    spec = importlib.util.find_spec("vllm_omni")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("vLLM-Omni is not installed")
    source = Path(spec.submodule_search_locations[0], "metrics", "definitions.py").read_text(encoding="utf-8")
    found = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in UPSTREAM
    }
    assert found == UPSTREAM
