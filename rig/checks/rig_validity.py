"""Rig validity: the callers themselves kept time. A rig that could not keep up proves nothing."""

from rig.events.types import FramesSent
from rig.history import History
from rig.measure.figure import percentile_ms
from rig.verdict import CheckResult, Finding, Verdict

MEDIAN_LIMIT_MS = 10.0
P99_LIMIT_MS = 50.0


def check(history: History) -> CheckResult:
    """Unknown when frames left late: median 10 ms or more, or p99 50 ms or more."""
    slips_ns = sorted(max(0, slip) * 1_000 for event in history.of(FramesSent) for slip in event.slips_us)
    median, p99 = percentile_ms(slips_ns, 50), percentile_ms(slips_ns, 99)
    if median is None or p99 is None:
        return CheckResult("rig_validity", Verdict.UNKNOWN, "no frame was sent")
    summary = f"send slip of {len(slips_ns)} frames: median {median:.1f} ms, p99 {p99:.1f} ms"
    if median >= MEDIAN_LIMIT_MS or p99 >= P99_LIMIT_MS:
        limits = f"limits are {MEDIAN_LIMIT_MS:g} ms and {P99_LIMIT_MS:g} ms"
        return CheckResult("rig_validity", Verdict.UNKNOWN, summary, (Finding(limits),))
    return CheckResult("rig_validity", Verdict.PASS, summary)
