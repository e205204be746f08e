"""Writes docs/metrics.md from the catalogue of metrics: `.venv/bin/python scripts/metrics_page.py`.

A house test fails when the page is not what this makes of it.
"""

from pathlib import Path

from rig.metrics.catalogue import COUNTS, GROUPS, LABELS, METRICS, RTF, SECONDS, SECONDS_FAST, Kind, Metric

PAGE = Path(__file__).resolve().parent.parent / "docs" / "metrics.md"

BUCKETS = {
    SECONDS: ("seconds", "upstream's of the time to the first audio packet"),
    SECONDS_FAST: ("fine", "upstream's for what has to be quick"),
    RTF: ("rtf", "upstream's of the real-time factor, with an edge at 1"),
    COUNTS: ("counts", "for small numbers"),
}

HEAD = """# Metrics

The rig as Prometheus sees it. Made from `rig/metrics/catalogue.py` by `scripts/metrics_page.py`.

    .venv/bin/rig run configs/runs/smoke.yaml --metrics-port 9646

serves `http://127.0.0.1:9646/metrics` while the run goes on: Prometheus text, or OpenMetrics for those who ask for
it. It is off unless asked for. The same in a run file:

    metrics:
      enabled: true
      host: 127.0.0.1     # 0.0.0.0 for a Prometheus on another host; --metrics-host on the command line
      port: 9646          # 0 takes a free one, and the rig says which
      linger_s: 15        # go on serving after the verdict, so that it is scraped; Ctrl-C ends it

A port that is taken is one line before anything is started, and exit code 3.

When a run is over its folder has `metrics.prom` (text format 0.0.4, without times, for node_exporter's textfile
collector or a push gateway) and `metrics.openmetrics` (with the time of the run's end on every sample, for
`promtool tsdb create-blocks-from openmetrics`). They are made from the journals: `rig report results/RUN_ID` makes
them anew.

## Prometheus and Grafana

    prometheus --config.file=configs/prometheus/local.yml

scrapes a rig and a server on this machine; `configs/prometheus/prometheus.yml` is for containers named `rig` and
`server`. In `configs/grafana/` lie a dashboard of both and what Grafana needs to find it: mount
`configs/grafana/provisioning` as `/etc/grafana/provisioning` and `configs/grafana/dashboards` as
`/var/lib/grafana/dashboards`. The dashboard is made by `scripts/dashboard.py`. Tests hold every metric and label in
it against what a real run served, and against a list of the server's (`configs/grafana/server-metrics.yaml`) whose
names are looked up in the installed engine. Prometheus evaluates all of its expressions. Not tried: Grafana itself.

A run that is over is scraped no more: verdict, findings and deaths show the last value in the time range.

## What to know

- While a run goes on the metrics come from its journals as they grow. Counters move at once. What callers hear is
  measured in whole calls, as in the report, so a call's values come about 5 s after it has ended.
- The verdict is made at the end. Until then `rig_verdict` and `rig_check_verdict` are absent, and
  `rig_check_findings` has only what three of the checks have found so far.
- A metric without a value is absent, never 0. Counters begin at 0 with the first call of their scenario.
- Latencies count from the planned time. The `corrected` ones also have what stalls suppressed (coordinated omission).
- In histograms of figures the edges and the sum are right to 0.1 %.
- No call, session, response or turn is a label. `run_id` and the seed are labels of `rig_run_info` alone.
"""


def render() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(_group(title, metrics) for title, metrics in GROUPS.items()), _buckets(), _labels()])


def _group(title: str, metrics: tuple[Metric, ...]) -> str:
    rows = [
        f"| `{metric.shown}` | {_kind(metric)} | {', '.join(f'`{label}`' for label in metric.labels)} | {metric.help} |"
        for metric in metrics
    ]
    return "\n".join(
        [f"## {title}\n", "| metric | kind | labels | what it is |", "| --- | --- | --- | --- |", *rows, ""]
    )


def _kind(metric: Metric) -> str:
    return f"histogram, {BUCKETS[metric.buckets][0]}" if metric.kind is Kind.HISTOGRAM else metric.kind


def _buckets() -> str:
    rows = [
        f"| {name} | {', '.join(f'{edge:g}' for edge in edges)} | {text} |" for edges, (name, text) in BUCKETS.items()
    ]
    return "\n".join(["## Buckets\n", "| name | edges | what they are |", "| --- | --- | --- |", *rows, ""])


def _labels() -> str:
    used = sorted({label for metric in METRICS.values() for label in metric.labels if label in LABELS})
    rows = [f"| `{label}` | {LABELS[label]} |" for label in used]
    return "\n".join(["## Labels\n", "| label | values |", "| --- | --- |", *rows, ""])


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
