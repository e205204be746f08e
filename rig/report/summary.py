"""summary.json: a superset of what `vllm bench serve --save-result` writes, names and units as there."""

import json
from typing import Any

from rig.clock import to_s, utc_label
from rig.config.pipeline import PipelineConfig
from rig.events.types import MemorySampled, Outcome, PipelineReady
from rig.history import History
from rig.marks import OUTPUT_RATE_HZ
from rig.measure.figure import Figure
from rig.measure.load import load_summary
from rig.report.judgement import Judgement

FAILED = frozenset({Outcome.LOST, Outcome.NO_REPLY, Outcome.NO_END, Outcome.REFUSED})


def summarise(judgement: Judgement) -> dict[str, Any]:
    """All of it; a value is null where nothing was measured."""
    history = judgement.history
    totals = judgement.totals
    duration_s = to_s(history.last_ns - history.origin_ns)
    return {
        "date": utc_label(history.headers[0].wall_ns) if history.headers else None,
        "backend": "openai-realtime-duplex",
        "endpoint_type": "openai-realtime-duplex",
        "label": history.pipeline.hardware_label,
        "model_id": history.pipeline.served_model_name,
        "num_prompts": totals.behaviours.total(),
        "max_concurrency": history.config.load.callers,
        "duration": duration_s,
        "request_rate": getattr(history.config.load.arrivals, "rate", None),
        "burstiness": getattr(history.config.load.arrivals, "burstiness", None),
        "load_summary": load_summary(totals.starts, history.plan, history.config.load.duration_s),
        "completed": totals.calls[Outcome.DONE],
        "failed": sum(totals.calls[outcome] for outcome in FAILED),
        "total_audio_duration_s": totals.samples / OUTPUT_RATE_HZ,
        "verdict": judgement.verdict,
        "seed": history.config.seed,
        "plan_sha256": history.plan.sha256(),
        "sessions": totals.sessions,
        "refused": totals.refused,
        "cut_replies": totals.cut_replies,
        "returns_with_first_audio": totals.returns,
        "boot_s": boot_s(history),
        "peak_rss_bytes": peak_rss_bytes(history),
        **{key: value for figure in judgement.figures for key, value in _flat(figure).items()},
        "figures": {figure.name: figure for figure in judgement.figures},
    }


def _flat(figure: Figure) -> dict[str, float | int | None]:
    return {
        f"mean_{figure.name}_ms": figure.mean_ms,
        f"median_{figure.name}_ms": figure.p50_ms,
        f"p95_{figure.name}_ms": figure.p95_ms,
        f"p99_{figure.name}_ms": figure.p99_ms,
    }


def boot_s(history: History) -> float | None:
    """Seconds from the start of the server's process until it took a duplex session."""
    ready = next(iter(history.of(PipelineReady)), None)
    return None if ready is None else to_s(ready.boot_ns)


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
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
