"""Digests for the gate, made without a run: what is not given is sound."""

from typing import Any

from rig.measure.figure import Rate
from rig.measure.histogram import Histogram
from rig.report.digest import Digest, Measured
from rig.report.gate import Baseline
from rig.verdict import Verdict

FACTS = {
    "hardware.cpu": "one",
    "hardware.cores": "2",
    "hardware.memory_gib": "15.5",
    "hardware.gpus": "none",
    "plan_sha256": "ab",
    "pipeline.hardware_label": "test",
    "pipeline.stages.talker.max_num_seqs": "4",
    "run.load.callers": "2",
    "versions.vllm-omni": "0.30.0",
    "provenance.python": "3.11.7",
    "provenance.kernel": "6.1",
    "provenance.host": "here",
    "provenance.argv": "run, there/run.yaml",
}


def digest(
    *waits_ms: float,
    facts: dict[str, str] | None = None,
    drop: tuple[str, ...] = (),
    yields: Rate | None = None,
    **fields: Any,
) -> Digest:
    """A run whose first audio took these times."""
    mine = {
        key: value for key, value in (FACTS | (facts or {})).items() if not key.startswith(drop or ("none at all",))
    }
    hdr = Histogram.of(round(wait * 1_000) for wait in waits_ms).encode()
    measures = (
        Measured("first_audio", "ms", "a to b", hdr, None, {}, None),
        Measured(
            "yield_latency",
            "ms",
            "a to b",
            Histogram.of(()).encode(),
            None,
            {},
            yields or Rate("yield_rate", 0, 0, None),
        ),
    )
    told: dict[str, Any] = {
        "run": "run",
        "verdict": Verdict.PASS,
        "sentence": "PASS: all is well",
        "checks": (),
        "deaths": 0,
        "turns": {"done": 10},
        "calls": 10,
        "sessions": 10,
        "refused": 0,
        "cut_replies": 0,
        "returns": 0,
        "duration_s": 60.0,
        "measures": measures,
        "facts": mine,
    }
    return Digest(**told | fields)


def baseline(*waits_ms: float, **fields: Any) -> Baseline:
    """A baseline of one run."""
    return Baseline((digest(*waits_ms, **{"run": "base"} | fields),))
