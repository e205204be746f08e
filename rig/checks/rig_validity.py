"""Rig validity: the callers themselves kept time. A rig that could not keep up proves nothing.

Frames of the microphone must leave when they are due (median below 10 ms, 99th percentile below 50 ms late), and calls
that have a slot must begin when they are due. It never fails: a slow rig makes the run unknown, and
so does one whose own figures or counts crashed (added by rig/report/judgement.py).
Cannot see: that a single caller stood still while thousands kept time; lateness of what the callers read.
"""

import math
from collections import Counter
from itertools import chain

from rig.events.types import FramesSent
from rig.fold import Fold
from rig.history import Call, History
from rig.measure.load import rig_delay_ns, waited_ns
from rig.verdict import CheckResult, Finding, Verdict

MEDIAN_LIMIT_MS = 10.0
P99_LIMIT_MS = 50.0
START_P99_LIMIT_MS = 100.0
"""Calls are few beside frames, so that their p99 is often the one latest call."""


class RigValidity(Fold[CheckResult]):
    """Unknown when frames left late (median 10 ms, p99 50 ms or more) or calls began late (median 10 ms, p99 100 ms).

    A call that had to wait for a free slot is late from the moment when it had one: before that it was not the rig.
    """

    def __init__(self, history: History) -> None:
        super().__init__(history)
        # Exact microseconds: a limit is not to be met by rounding.
        self._slips_us: Counter[int] = Counter()
        self._starts_us: Counter[int] = Counter()
        self._waited = 0

    def see(self, call: Call) -> None:
        """Count every frame of the call by its slip, and the call by how late it began."""
        self._starts_us[rig_delay_ns(call.start) // 1_000] += 1
        self._waited += waited_ns(call.start) > 0
        self._slips_us.update(chain.from_iterable([event.slips_us for event in call.of(FramesSent)]))

    def result(self) -> CheckResult:
        """Unknown, too, when no frame was sent."""
        # A frame that left early does not make up for a late one.
        frames, starts = _Late(self._slips_us), _Late(self._starts_us)
        if frames.total == 0:
            return CheckResult("rig_validity", Verdict.UNKNOWN, "no frame was sent")
        summary = f"send slip of {frames.total} frames: {frames}; start slip of {starts.total} calls: {starts}"
        summary += f"; {self._waited} calls waited for a free slot" if self._waited else ""
        findings = []
        if frames.median_ms >= MEDIAN_LIMIT_MS or frames.p99_ms >= P99_LIMIT_MS:
            findings.append(Finding(f"limits of frames are {MEDIAN_LIMIT_MS:g} ms and {P99_LIMIT_MS:g} ms"))
        if starts.median_ms >= MEDIAN_LIMIT_MS or starts.p99_ms >= START_P99_LIMIT_MS:
            findings.append(Finding(f"limits of calls are {MEDIAN_LIMIT_MS:g} ms and {START_P99_LIMIT_MS:g} ms"))
        return CheckResult("rig_validity", Verdict.UNKNOWN if findings else Verdict.PASS, summary, tuple(findings))


class _Late:
    """Median and p99 of how late things were; what was early counts as in time."""

    def __init__(self, slips_us: Counter[int]) -> None:
        late_us = sorted((max(0, slip), count) for slip, count in slips_us.items())
        self.total = slips_us.total()
        self.median_ms = _percentile_ms(late_us, self.total, 50)
        self.p99_ms = _percentile_ms(late_us, self.total, 99)

    def __str__(self) -> str:
        return f"median {self.median_ms:.1f} ms, p99 {self.p99_ms:.1f} ms"


def _percentile_ms(counted_us: list[tuple[int, int]], total: int, percent: int) -> float:
    """Nearest-rank percentile of sorted values with their counts, 0 where there is none."""
    rank = max(1, math.ceil(total * percent / 100))
    seen = 0
    for value_us, count in counted_us:
        seen += count
        if seen >= rank:
            return value_us / 1_000
    return 0.0
