"""Whether a run is no worse than its baseline: pass, fail, unknown, or unbaselined where no baseline counts."""

from rig.report.gate.baseline import Baseline, newest_run, read_baseline, save_baseline
from rig.report.gate.decide import Answer, Decision, decide
from rig.report.gate.tell import GATE_FILE, as_json, as_markdown, as_text

__all__ = [
    "GATE_FILE",
    "Answer",
    "Baseline",
    "Decision",
    "as_json",
    "as_markdown",
    "as_text",
    "decide",
    "newest_run",
    "read_baseline",
    "save_baseline",
]
