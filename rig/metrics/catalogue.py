"""Every metric of the rig: name, kind, labels, unit and buckets, for what is served, the documentation and the tests.

Names have the prefix `rig_` and Prometheus base units (`_seconds`, `_bytes`, `_total`). Buckets are those of upstream
(vllm_omni/metrics/definitions.py), so that what callers hear can be laid over what the server says of itself. Labels
have few values: no call, session, response or turn is ever one.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from rig.events.types import Act, ClosedBy, Outcome, Phase
from rig.measure import FIGURES
from rig.measure.figure import Measure

SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0)
"""For waits of a voice turn: upstream's buckets of the time to the first audio packet."""

SECONDS_FAST = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
"""For what has to be quick: upstream's fine buckets."""

RTF = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.25, 1.5, 2.0, 5.0, 10.0)
"""For real-time factors: upstream's, with an edge at 1."""

COUNTS = (0.0, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0)

FAST_FIGURES = frozenset(
    {"send_slip", "chunk_gap", "barge_in_stop_speech", "barge_in_stop_cancel", "yield_latency", "audio_underrun"}
)
"""Figures in seconds that have the fine buckets."""


class Kind(enum.StrEnum):
    """Kinds of metrics, as OpenMetrics calls them."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    INFO = "info"
    STATESET = "stateset"


@dataclass(frozen=True)
class Metric:
    """One metric. `name` lacks the suffixes that its kind adds: `_total`, `_info`, `_bucket`, `_sum`, `_count`."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    unit: str = ""
    buckets: tuple[float, ...] = ()

    @property
    def shown(self) -> str:
        """The name as a query has it."""
        return self.name + {Kind.COUNTER: "_total", Kind.INFO: "_info"}.get(self.kind, "")


LABELS: Mapping[str, str] = {
    "scenario": "the call's behaviour in the run file: `polite`, `barge_in`, `hang_up`; `slots` in the probe after it",
    "stage": "part of the pipeline: `api_server`, `thinker`, `talker`, `code2wav`, ...",
    "pid": "process id; only of processes that are a stage, so that there are few",
    "state": "of a process `alive`, `paused`, `dead`, `stopped`; of a producer `online`, `closed`, `lost`",
    "outcome": ", ".join(f"`{one}`" for one in Outcome),
    "act": ", ".join(f"`{one}`" for one in Act),
    "by": ", ".join(f"`{one}`" for one in ClosedBy if one is not ClosedBy.CALLER),
    "code": "error code of the refusal; beyond 20 different ones `other`",
    "status": "HTTP status, `none` where no answer came",
    "signature": "name in the table of `rig/watch/log_signatures.py`",
    "check": "name of a check",
    "figure": "name of a figure",
    "reason": "why there is no value, or why the run ended",
    "rate": "what held or did not: `audio_continuity_ok`, `yield_rate`, ...",
    "held": "`yes` or `no`",
    "rig_run_phase": ", ".join(f"`{one}`" for one in Phase),
}


def _counter(name: str, text: str, *labels: str, unit: str = "") -> Metric:
    return Metric(name, Kind.COUNTER, text, labels, unit)


def _gauge(name: str, text: str, *labels: str, unit: str = "") -> Metric:
    return Metric(name, Kind.GAUGE, text, labels, unit)


RUN = (
    Metric(
        "rig_run",
        Kind.INFO,
        "What is run: the only place of values that differ from run to run.",
        ("run_id", "seed", "plan_sha256", "model_name", "hardware_label"),
    ),
    Metric("rig_run_phase", Kind.STATESET, "What the run is doing.", ("rig_run_phase",)),
    _gauge("rig_run_start_time_seconds", "Start of the run, Unix time.", unit="seconds"),
    _gauge("rig_run_elapsed_seconds", "Time since the run began.", unit="seconds"),
    _gauge("rig_phase_time_left_seconds", "Time until the phase is over; absent where unknown.", unit="seconds"),
    _gauge("rig_run_ended", "1 with the reason of the end; absent while the run goes on.", "reason"),
    _gauge("rig_verdict", "Verdict of the run: 0 pass, 1 fail, 2 unknown; absent until it is judged."),
    _gauge("rig_check_verdict", "Verdict of each check: 0 pass, 1 fail, 2 unknown; absent until judged.", "check"),
    _gauge(
        "rig_check_findings",
        "Findings of each check; of liveness only where the server's processes are watched. "
        "While the run goes on only of liveness, progress and connections, so far.",
        "check",
    ),
)

SERVER = (
    _gauge("rig_server_boot_seconds", "Start of the server to a duplex session accepted.", unit="seconds"),
    _gauge("rig_processes", "Processes of the server that are a stage.", "stage", "state"),
    _counter("rig_process_deaths", "Processes of the server that died unasked.", "stage"),
    _gauge("rig_process_resident_memory_bytes", "Resident memory, last sample.", "stage", "pid", unit="bytes"),
    _counter("rig_log_signatures", "Lines in the server's log that only a fault writes.", "stage", "signature"),
    _counter("rig_health_probes", "GET /health of the server.", "status"),
    Metric("rig_health_probe_seconds", Kind.HISTOGRAM, "Time of GET /health.", ("status",), "seconds", SECONDS_FAST),
)

CALLERS = (
    _gauge("rig_caller_slots", "Caller slots of the plan: at most this many calls at once."),
    _gauge("rig_callers", "Callers in a call now."),
    _counter("rig_calls_started", "Calls that began.", "scenario"),
    _counter("rig_calls", "Calls that ended.", "scenario", "outcome"),
    Metric(
        "rig_schedule_delay_seconds",
        Kind.HISTOGRAM,
        "Planned start of a call to its start.",
        ("scenario",),
        "seconds",
        SECONDS_FAST,
    ),
    _counter("rig_turns", "Turns that ended.", "scenario", "outcome"),
    _counter("rig_acts", "What callers did on purpose.", "scenario", "act"),
    _counter("rig_sessions_opened", "New sessions.", "scenario"),
    _counter("rig_sessions_resumed", "Sessions that were resumed.", "scenario"),
    _counter("rig_refusals", "Sessions that the server refused; within its rules no fault.", "scenario", "code"),
    _counter("rig_connect_failures", "Connects that gave no WebSocket.", "scenario"),
    _counter("rig_connections_lost", "Connections that the server ended, refused ones left out.", "scenario", "by"),
    _counter("rig_surprises", "What the protocol does not know or allow.", "scenario"),
    _counter("rig_frames_sent", "Frames of the microphone that were sent.", "scenario"),
    _counter("rig_audio_received_seconds", "Length of the audio received.", "scenario", unit="seconds"),
    _gauge("rig_session_slots", "Session slots of the server; absent where somebody else runs it."),
    _gauge("rig_sessions_open", "Sessions with a connection now."),
    _gauge(
        "rig_session_slots_free",
        "Slots without a connected session. A session whose caller hung up holds its slot for the server's grace, so "
        "fewer may be free.",
    ),
)

BUS = (
    _gauge("rig_bus_up", "Whether the collector is connected to the broker; absent in a run without a bus."),
    _gauge("rig_bus_producers", "Producers on the bus.", "state"),
    _counter("rig_bus_filled_events", "Events that the bus did not bring and that were taken from the spools."),
    _counter("rig_bus_refused_producers", "Producers that were refused: a second one of a name, or no name."),
    _counter("rig_bus_incomplete_producers", "Producers whose journal could not be had to its end."),
    _counter("rig_bus_broker_exits", "Ends of the embedded broker; it is started again."),
    _counter("rig_journal_missing_events", "Gaps in the numbers of the journals: events that are lost, or late."),
    _counter("rig_journal_damaged_lines", "Lines of the journals that could not be read."),
)

UNMEASURED = _counter("rig_unmeasured", "Cases in which a figure has no value.", "figure", "reason")
RATE_CASES = _counter("rig_rate_cases", "Cases of a rate: in how many of them it held.", "rate", "held")

SCALE = 1e-6
"""Figures count in millionths of the metric's unit."""


def figure_metric(kind: type[Measure], *, corrected: bool = False) -> Metric:
    """The histogram of a figure, or that of its values corrected for coordinated omission."""
    unit = {"ms": "seconds", "s": "seconds", "ratio": "", "count": ""}[kind.unit]
    buckets = {"ratio": RTF, "count": COUNTS}.get(kind.unit, SECONDS_FAST if kind.name in FAST_FIGURES else SECONDS)
    name = "_".join(part for part in ("rig", kind.name, "corrected" if corrected else "", unit) if part)
    origin = kind.measurement_origin
    text = f"{origin}, with what stalls suppressed (coordinated omission)." if corrected else f"{origin}."
    return Metric(name, Kind.HISTOGRAM, text, ("scenario",), unit, buckets)


def _of_figures() -> tuple[Metric, ...]:
    metrics: list[Metric] = []
    for kind in FIGURES:
        metrics.append(figure_metric(kind))
        if kind.expected_interval is not None:
            metrics.append(figure_metric(kind, corrected=True))
    return (*metrics, UNMEASURED, RATE_CASES)


GROUPS: Mapping[str, tuple[Metric, ...]] = {
    "The run": RUN,
    "The server": SERVER,
    "The callers": CALLERS,
    "What callers hear": _of_figures(),
    "Journals and bus": BUS,
}

METRICS: Mapping[str, Metric] = {metric.name: metric for group in GROUPS.values() for metric in group}
