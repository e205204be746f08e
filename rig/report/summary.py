"""summary.json: a superset of what `vllm bench serve --save-result` writes, names and units as there."""

import json
from typing import Any

from rig.clock import to_s, utc_label
from rig.config.pipeline import PipelineConfig
from rig.events.types import MemorySampled, Outcome, PipelineReady
from rig.history import History
from rig.marks import OUTPUT_RATE_HZ
from rig.measure.figure import Figure, Stats, window_ns
from rig.measure.load import load_summary
from rig.measure.totals import LOST_TURNS
from rig.report.judgement import Judgement

UPSTREAM_NAMES = {"first_audio": "audio_ttfp"}
"""Upstream's name of a figure that has another one here: the time to the first audio packet."""

UPSTREAM_ONLY = (
    "tokenizer_id",
    "request_goodput",
    "total_input_tokens",
    "total_output_tokens",
    "output_throughput",
    "total_token_throughput",
    "max_output_tokens_per_s",
    "max_concurrent_requests",
)

FAILED = LOST_TURNS | {Outcome.REFUSED}


def summarise(judgement: Judgement) -> dict[str, Any]:
    """All of it; a value is null where nothing was measured."""
    history = judgement.history
    totals = judgement.totals
    duration_s = to_s(history.last_ns - history.origin_ns)
    return {
        **_of_the_run(judgement),
        **_upstream_nulls(),
        "duration": duration_s,
        "request_rate": getattr(history.config.load.arrivals, "rate", None),
        "burstiness": getattr(history.config.load.arrivals, "burstiness", None),
        "load_summary": load_summary(totals.starts, history.plan, history.config.load.duration_s),
        "completed": totals.calls[Outcome.DONE],
        "failed": sum(totals.calls[outcome] for outcome in FAILED),
        "request_throughput": _per_s(totals.calls[Outcome.DONE], duration_s),
        "total_audio_duration_s": totals.samples / OUTPUT_RATE_HZ,
        "total_audio_frames": totals.samples,
        "audio_throughput": _per_s(totals.samples / OUTPUT_RATE_HZ, duration_s),
        "rtfx": _per_s(to_s(totals.spoken_ns), duration_s),
        "sessions": totals.sessions,
        "refused": totals.refused,
        "cut_replies": totals.cut_replies,
        "returns_with_first_audio": totals.returns,
        "calls_by_outcome": totals.calls,
        "turns_by_outcome": totals.turns,
        "turns_by_behaviour": totals.turns_by_behaviour,
        "turns_by_window": [
            {"begin_s": window * to_s(window_ns(history)), **counts}
            for window, counts in sorted(totals.turns_by_window.items())
        ],
        "boot_s": boot_s(history),
        "peak_rss_bytes": peak_rss_bytes(history),
        **{key: value for figure in judgement.figures for key, value in _flat(figure).items()},
        "figures": {figure.name: figure for figure in judgement.figures},
    }


def _of_the_run(judgement: Judgement) -> dict[str, Any]:
    history = judgement.history
    return {
        "date": utc_label(history.headers[0].wall_ns) if history.headers else None,
        "backend": "openai-realtime-duplex",
        "endpoint_type": "openai-realtime-duplex",
        "label": history.pipeline.hardware_label,
        "model_id": history.pipeline.served_model_name,
        "num_prompts": judgement.totals.behaviours.total(),
        "max_concurrency": history.config.load.callers,
        "verdict": judgement.verdict,
        "seed": history.config.seed,
        "plan_sha256": history.plan.sha256(),
    }


def _upstream_nulls() -> dict[str, None]:
    """Keys of upstream's result that nothing here measures: tokens are not counted, callers follow no rate."""
    metrics = ("ttft", "tpot", "itl", "e2el")
    statistics = [f"{kind}_{metric}_ms" for metric in metrics for kind in ("mean", "median", "std", "p99")]
    return dict.fromkeys((*UPSTREAM_ONLY, *statistics))


def _per_s(amount: float, duration_s: float) -> float | None:
    return amount / duration_s if duration_s > 0 else None


def _flat(figure: Figure) -> dict[str, float | None]:
    """A figure's statistics under upstream's spelling; without a suffix of its own they are what was really seen."""
    suffix = {"ms": "_ms", "s": "_s", "ratio": "", "count": ""}[figure.unit]
    flat: dict[str, float | None] = {}
    for name in (figure.name, *([UPSTREAM_NAMES[figure.name]] if figure.name in UPSTREAM_NAMES else [])):
        flat |= _statistics(f"{name}{suffix}", figure.uncorrected)
        if figure.corrected is not None:
            flat |= _statistics(f"{name}_corrected{suffix}", figure.corrected)
    if figure.rate is not None:
        rate = figure.rate.name
        flat[rate if rate.endswith("_rate") else f"{rate}_rate"] = figure.rate.value
    return flat


def _statistics(name: str, stats: Stats) -> dict[str, float | None]:
    return {
        f"mean_{name}": stats.mean,
        f"median_{name}": stats.p50,
        f"std_{name}": stats.std,
        f"p50_{name}": stats.p50,
        f"p90_{name}": stats.p90,
        f"p95_{name}": stats.p95,
        f"p99_{name}": stats.p99,
        f"p99.9_{name}": stats.p999,
    }


def boot_s(history: History) -> float | None:
    """Seconds from the start of the server's process until it took a duplex session; None where it ran already."""
    ready = next(iter(history.of(PipelineReady)), None)
    return None if ready is None or ready.earlier_runs > 0 else to_s(ready.boot_ns)


def boot_told(history: History) -> str:
    """The boot, for people."""
    ready, boot = next(iter(history.of(PipelineReady)), None), boot_s(history)
    if boot is not None:
        return f"{boot:.1f} s"
    return "not ready" if ready is None else f"none: the server had served {ready.earlier_runs} runs before"


def peak_rss_bytes(history: History) -> int | None:
    """Largest sum over the server's processes of their latest resident memory; shared pages count in each."""
    latest: dict[int, int] = {}
    peak: int | None = None
    for sample in history.of(MemorySampled):
        latest[sample.pid] = sample.rss_bytes
        peak = max(peak or 0, sum(latest.values()))
    return peak


def is_tiny_cpu(history: History) -> bool:
    """Whether the figures come from the tiny checkpoint: engine behaviour, not voice quality or speed."""
    return isinstance(history.pipeline, PipelineConfig) and history.pipeline.model.kind == "tiny"


def provenance(history: History) -> dict[str, Any]:
    """What provenance.json holds, empty when the rig died before it was written."""
    path = history.folder / "provenance.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
