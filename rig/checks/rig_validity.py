"""Rig validity: the callers themselves kept time. A rig that could not keep up proves nothing."""

from rig.events.types import CallStarted, FramesSent
from rig.history import History
from rig.measure.figure import percentile_ms
from rig.measure.load import rig_delay_ns, waited_ns
from rig.verdict import CheckResult, Finding, Verdict

MEDIAN_LIMIT_MS = 10.0
P99_LIMIT_MS = 50.0
START_P99_LIMIT_MS = 100.0
"""Calls are few beside frames, so that their p99 is often the one latest call."""


def check(history: History) -> CheckResult:
    """Unknown when frames left late (median 10 ms, p99 50 ms or more) or calls began late (median 10 ms, p99 100 ms).

    A call that had to wait for a free slot is late from the moment when it had one: before that it was not the rig.
    """
    slips_ns = sorted(max(0, slip) * 1_000 for event in history.of(FramesSent) for slip in event.slips_us)
    median, p99 = percentile_ms(slips_ns, 50), percentile_ms(slips_ns, 99)
    if median is None or p99 is None:
        return CheckResult("rig_validity", Verdict.UNKNOWN, "no frame was sent")
    started = sorted(rig_delay_ns(event) for event in history.of(CallStarted))
    start_median, start_p99 = percentile_ms(started, 50) or 0.0, percentile_ms(started, 99) or 0.0
    waited = sum(waited_ns(event) > 0 for event in history.of(CallStarted))
    summary = f"send slip of {len(slips_ns)} frames: median {median:.1f} ms, p99 {p99:.1f} ms"
    summary += f"; start slip of {len(started)} calls: median {start_median:.1f} ms, p99 {start_p99:.1f} ms"
    summary += f"; {waited} calls waited for a free slot" if waited else ""
    findings = []
    if median >= MEDIAN_LIMIT_MS or p99 >= P99_LIMIT_MS:
        findings.append(Finding(f"limits of frames are {MEDIAN_LIMIT_MS:g} ms and {P99_LIMIT_MS:g} ms"))
    if start_median >= MEDIAN_LIMIT_MS or start_p99 >= START_P99_LIMIT_MS:
        findings.append(Finding(f"limits of calls are {MEDIAN_LIMIT_MS:g} ms and {START_P99_LIMIT_MS:g} ms"))
    return CheckResult("rig_validity", Verdict.UNKNOWN if findings else Verdict.PASS, summary, tuple(findings))
