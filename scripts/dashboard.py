"""Writes configs/grafana/dashboards/rig.json: `.venv/bin/python scripts/dashboard.py`.

A dashboard by hand is a thousand lines in which nobody sees a mistake; here a panel is a line or a few. A house test
fails when the file is not what this makes.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parent.parent / "configs" / "grafana" / "dashboards" / "rig.json"

WIDTH = 24
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
RIG = 'instance=~"$rig"'
SERVER = 'instance=~"$server"'
LOAD = f'{RIG}, scenario!="slots"'
HELD = ', held="yes"'
GREEN, RED, ORANGE, BLUE = "green", "red", "orange", "blue"

Query = tuple[str, str]
"""An expression, and how its series are called."""


@dataclass(frozen=True)
class Panel:
    """One panel. `mappings` are texts for values; `limit` is a line from which values are bad; `named` shows
    the name of a series in place of its value."""

    title: str
    queries: Sequence[Query]
    kind: str = "timeseries"
    unit: str = "short"
    width: int = 8
    height: int = 7
    text: str = ""
    mappings: dict[float, tuple[str, str]] = field(default_factory=dict)
    empty: str = ""
    limit: float | None = None
    stacked: bool = False
    named: bool = False


def small(title: str, query: str, name: str = "", **more: Any) -> Panel:
    """One value."""
    return Panel(title, [(query, name)], "stat", width=4, height=4, **more)


def rate(selector: str) -> str:
    """Per second, around each point."""
    return f"rate({selector}[$__rate_interval])"


def increase(selector: str) -> str:
    """How many, around each point."""
    return f"increase({selector}[$__rate_interval])"


def cases(more: str = "") -> str:
    """Replies whose continuity was judged, in the range shown."""
    return f'sum(increase(rig_rate_cases_total{{{RIG}, rate="audio_continuity_ok"{more}}}[$__range]))'


def quantiles(metric: str, by: str = "scenario", where: str = LOAD) -> list[Query]:
    """Median and 99th percentile of a histogram in the time shown at each point."""
    name = " ".join(f"{{{{{label}}}}}" for label in by.split(", "))
    summed = f"sum by (le, {by}) ({rate(f'{metric}_bucket{{{where}}}')})"
    return [(f"histogram_quantile({part}, {summed})", f"p{part * 100:g} {name}") for part in (0.5, 0.99)]


def lasting(expression: str) -> str:
    """The last value in the range shown: a run that is over is scraped no more."""
    return f"last_over_time({expression}[$__range])"


SLOTS_TEXT = "Slots without a connected session; after a hang-up fewer are free until the server's grace is over."
VERDICTS = {0.0: ("pass", GREEN), 1.0: ("FAIL", RED), 2.0: ("unknown", ORANGE)}
NONE_OR_SOME = {0.0: ("none", GREEN)}

ROWS: dict[str, Sequence[Panel]] = {
    "The run": (
        small("Verdict", lasting(f"rig_verdict{{{RIG}}}"), "verdict", mappings=VERDICTS, empty="not yet"),
        small(
            "Phase",
            f"rig_run_phase{{{RIG}}} == 1",
            "{{rig_run_phase}}",
            empty="no run",
            text="The name says it.",
            named=True,
        ),
        small("Left of the phase", f"rig_phase_time_left_seconds{{{RIG}}}", unit="s", empty="not known"),
        small("Deaths", f"sum({lasting(f'rig_process_deaths_total{{{RIG}}}')})", mappings=NONE_OR_SOME, limit=1),
        small("Callers in a call", f"rig_callers{{{RIG}}}"),
        small("Session slots free", f"rig_session_slots_free{{{RIG}}}", text=SLOTS_TEXT),
        Panel(
            "Checks: found so far, or in all",
            [(f"sum by (check) ({lasting(f'rig_check_findings{{{RIG}}}')})", "{{check}}")],
            "bargauge",
            width=8,
            text="While the run goes on only of liveness, progress and connections.",
            limit=1,
        ),
        Panel(
            "Checks: verdict",
            [(f"max by (check) ({lasting(f'rig_check_verdict{{{RIG}}}')})", "{{check}}")],
            "stat",
            width=8,
            mappings=VERDICTS,
            empty="when the run is over",
        ),
        Panel("Deaths by stage", [(f"rig_process_deaths_total{{{RIG}}}", "{{stage}}")], width=8, limit=1),
    ),
    "The callers": (
        Panel(
            "Turns by outcome",
            [(f"sum by (outcome) ({rate(f'rig_turns_total{{{LOAD}}}')})", "{{outcome}}")],
            unit="ops",
            stacked=True,
        ),
        Panel(
            "Callers, sessions and slots",
            [
                (f"rig_callers{{{RIG}}}", "callers in a call"),
                (f"rig_sessions_open{{{RIG}}}", "sessions open"),
                (f"rig_session_slots{{{RIG}}}", "slots of the server"),
                (f"rig_caller_slots{{{RIG}}}", "callers planned"),
            ],
        ),
        Panel(
            "What callers did", [(f"sum by (act) ({increase(f'rig_acts_total{{{LOAD}}}')})", "{{act}}")], stacked=True
        ),
        Panel(
            "Calls",
            [
                (f"sum by (scenario) (rig_calls_started_total{{{LOAD}}})", "begun {{scenario}}"),
                (f"sum by (outcome) (rig_calls_total{{{LOAD}}}) > 0", "ended {{outcome}}"),
            ],
        ),
        Panel(
            "Refused and lost",
            [
                (f"sum by (code) (rig_refusals_total{{{RIG}}})", "refused {{code}}"),
                (f"sum by (by) (rig_connections_lost_total{{{RIG}}})", "lost {{by}}"),
                (f"sum(rig_connect_failures_total{{{RIG}}})", "no connection"),
            ],
            text="A refusal within the server's rules is no fault; a lost connection is.",
        ),
        Panel(
            "Sessions",
            [
                (f"sum(rig_sessions_opened_total{{{LOAD}}})", "opened"),
                (f"sum(rig_sessions_resumed_total{{{LOAD}}})", "resumed"),
            ],
        ),
    ),
    "What callers hear": (
        Panel("First audio", quantiles("rig_first_audio_seconds"), unit="s", width=12),
        Panel(
            "First audio, corrected for coordinated omission",
            quantiles("rig_first_audio_corrected_seconds"),
            unit="s",
            width=12,
        ),
        Panel("Barge-in: speech to silence", quantiles("rig_barge_in_stop_speech_seconds"), unit="s"),
        Panel("Barge-in: cancel to silence", quantiles("rig_barge_in_stop_cancel_seconds"), unit="s"),
        Panel(
            "Came back: to first audio",
            [
                *[(query, f"{name} new") for query, name in quantiles("rig_reconnect_first_audio_new_seconds")],
                *[(query, f"{name} resumed") for query, name in quantiles("rig_reconnect_first_audio_resumed_seconds")],
            ],
            unit="s",
        ),
        Panel("Between audio deltas", quantiles("rig_chunk_gap_seconds"), unit="s"),
        Panel(
            "Replies without a gap over 100 ms",
            [(f"{cases(HELD)} / {cases()}", "audio_continuity_ok")],
            unit="percentunit",
        ),
        Panel("Connect to session", quantiles("rig_connect_seconds"), unit="s"),
    ),
    "The rig itself": (
        Panel(
            "Send slip",
            quantiles("rig_send_slip_seconds"),
            unit="s",
            limit=0.05,
            text="From a median of 10 ms or a p99 of 50 ms on the verdict is unknown.",
        ),
        Panel("Calls began late", quantiles("rig_schedule_delay_seconds"), unit="s"),
        Panel(
            "Journals and bus",
            [
                (f"rig_journal_missing_events_total{{{RIG}}}", "events missing"),
                (f"rig_journal_damaged_lines_total{{{RIG}}}", "lines damaged"),
                (f"rig_bus_filled_events_total{{{RIG}}}", "events filled from spools"),
                (f"rig_bus_broker_exits_total{{{RIG}}}", "broker exits"),
                (f"1 - rig_bus_up{{{RIG}}}", "bus down"),
            ],
        ),
    ),
    "The server, seen from outside": (
        Panel("Resident memory", [(f"rig_process_resident_memory_bytes{{{RIG}}}", "{{stage}} {{pid}}")], unit="bytes"),
        Panel("Processes", [(f"sum by (stage, state) (rig_processes{{{RIG}}})", "{{stage}} {{state}}")]),
        Panel("GET /health", quantiles("rig_health_probe_seconds", "status", RIG), unit="s"),
    ),
    "The server, as it says itself": (
        Panel(
            "Requests in the stages",
            [
                (f"vllm:num_requests_running{{{SERVER}}}", "running {{stage}}"),
                (f"vllm:num_requests_waiting{{{SERVER}}}", "waiting {{stage}}"),
            ],
            text="A stage without steps keeps its last value: an idle server may show requests that are gone.",
        ),
        Panel("KV cache in use", [(f"vllm:kv_cache_usage_perc{{{SERVER}}}", "{{stage}}")], unit="percentunit"),
        Panel(
            "Preemptions", [(f"sum by (stage) ({increase(f'vllm:num_preemptions_total{{{SERVER}}}')})", "{{stage}}")]
        ),
        Panel(
            "Time to first audio packet, server and caller",
            [
                *quantiles("vllm_omni:audio_ttfp_s", "stage", SERVER),
                (
                    f"histogram_quantile(0.99, sum by (le) ({rate(f'rig_first_audio_seconds_bucket{{{LOAD}}}')}))",
                    "p99 callers",
                ),
            ],
            unit="s",
            text="The server counts from its request, callers from the end of their speech; the buckets are the same.",
        ),
        Panel("Time to first token", quantiles("vllm:time_to_first_token_seconds", "stage", SERVER), unit="s"),
        Panel(
            "Requests that ended",
            [
                (
                    f"sum by (finished_reason) ({increase(f'vllm_omni:requests_success_total{{{SERVER}}}')})",
                    "{{finished_reason}}",
                ),
                (f"sum by (reason) ({increase(f'vllm_omni:requests_failed_total{{{SERVER}}}')})", "failed {{reason}}"),
            ],
        ),
        Panel("Sessions with server VAD", [(f"vllm_omni:realtime_vad_active_sessions{{{SERVER}}}", "{{model_name}}")]),
        Panel(
            "VAD: silence to end of speech",
            quantiles("vllm_omni:realtime_vad_endpoint_delay_s", "model_name", SERVER),
            unit="s",
        ),
        Panel(
            "Requests in the pipeline",
            [
                (f"vllm_omni:num_requests_running{{{SERVER}}}", "running"),
                (f"vllm_omni:num_requests_waiting{{{SERVER}}}", "waiting"),
            ],
        ),
    ),
}


def render() -> str:
    """The whole dashboard as JSON."""
    board = {
        "uid": "omni-realtime-rig",
        "title": "omni-realtime-rig",
        "description": "Did an engine die, hang or lose a reply, and what did callers hear meanwhile?",
        "tags": ["voice", "vllm-omni"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "5s",
        "time": {"from": "now-15m", "to": "now"},
        "timezone": "browser",
        "templating": {
            "list": [
                _datasource(),
                _instances("rig", "rig_run_info"),
                _instances("server", "vllm_omni:num_requests_running"),
            ]
        },
        "panels": list(_panels()),
    }
    return json.dumps(board, indent=2) + "\n"


def _datasource() -> dict[str, Any]:
    return {"name": "datasource", "label": "Source", "type": "datasource", "query": "prometheus"}


def _instances(name: str, metric: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": name.capitalize(),
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": f"label_values({metric}, instance)", "refId": name},
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _panels() -> Iterator[dict[str, Any]]:
    number = top = 0
    for title, panels in ROWS.items():
        number += 1
        place = {"x": 0, "y": top, "w": WIDTH, "h": 1}
        yield {"id": number, "type": "row", "title": title, "collapsed": False, "panels": [], "gridPos": place}
        top += 1
        left = lowest = 0
        for panel in panels:
            if left + panel.width > WIDTH:
                left, top = 0, top + lowest
                lowest = 0
            number += 1
            yield _panel(panel, number, {"x": left, "y": top, "w": panel.width, "h": panel.height})
            left, lowest = left + panel.width, max(lowest, panel.height)
        top += lowest


def _panel(panel: Panel, number: int, place: dict[str, int]) -> dict[str, Any]:
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.text,
        "datasource": SOURCE,
        "gridPos": place,
        "targets": [
            {"refId": chr(ord("A") + index), "datasource": SOURCE, "expr": query, "legendFormat": name or "__auto"}
            for index, (query, name) in enumerate(panel.queries)
        ],
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": _options(panel),
    }


def _defaults(panel: Panel) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": GREEN if panel.limit is not None else BLUE, "value": None}]
    if panel.limit is not None:
        steps.append({"color": RED, "value": panel.limit})
    defaults: dict[str, Any] = {"unit": panel.unit, "thresholds": {"mode": "absolute", "steps": steps}}
    if panel.empty:
        defaults["noValue"] = panel.empty
    if panel.mappings:
        options = {f"{value:g}": {"text": text, "color": color} for value, (text, color) in panel.mappings.items()}
        defaults["mappings"] = [{"type": "value", "options": options}]
    if panel.kind == "timeseries":
        defaults["min"] = 0
        defaults["custom"] = {
            "lineWidth": 1,
            "fillOpacity": 30 if panel.stacked else 0,
            "showPoints": "auto",
            "spanNulls": False,
            "stacking": {"mode": "normal" if panel.stacked else "none"},
            "thresholdsStyle": {"mode": "dashed" if panel.limit is not None else "off"},
        }
    return defaults


def _options(panel: Panel) -> dict[str, Any]:
    if panel.kind == "timeseries":
        return {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}}
    options: dict[str, Any] = {"reduceOptions": {"calcs": ["lastNotNull"], "values": False}}
    if panel.kind == "stat":
        options |= {"textMode": "name" if panel.named else "auto", "colorMode": "value", "graphMode": "none"}
    if panel.kind == "bargauge":
        options |= {"orientation": "horizontal", "displayMode": "lcd"}
    return options


if __name__ == "__main__":
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(render(), encoding="utf-8")
