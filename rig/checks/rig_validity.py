"""Rig validity: the callers themselves kept time. A rig that could not keep up proves nothing."""

import math
from collections import Counter

from rig.events.types import FramesSent
from rig.fold import Fold
from rig.history import Call, History
from rig.verdict import CheckResult, Finding, Verdict

MEDIAN_LIMIT_MS = 10.0
P99_LIMIT_MS = 50.0


class RigValidity(Fold[CheckResult]):
    """Unknown when frames left late: median 10 ms or more, or p99 50 ms or more."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        # Exact microseconds: a limit is not to be met by rounding.
        self._slips_us: Counter[int] = Counter()

    def see(self, call: Call) -> None:
        """Count every frame of the call by its slip."""
        for event in call.of(FramesSent):
            self._slips_us.update(event.slips_us)

    def result(self) -> CheckResult:
        """Unknown, too, when no frame was sent."""
        # A frame that left early does not make up for a late one.
        late_us = sorted((max(0, slip), count) for slip, count in self._slips_us.items())
        total = self._slips_us.total()
        if total == 0:
            return CheckResult("rig_validity", Verdict.UNKNOWN, "no frame was sent")
        median, p99 = _percentile_ms(late_us, total, 50), _percentile_ms(late_us, total, 99)
        summary = f"send slip of {total} frames: median {median:.1f} ms, p99 {p99:.1f} ms"
        if median >= MEDIAN_LIMIT_MS or p99 >= P99_LIMIT_MS:
            limits = f"limits are {MEDIAN_LIMIT_MS:g} ms and {P99_LIMIT_MS:g} ms"
            return CheckResult("rig_validity", Verdict.UNKNOWN, summary, (Finding(limits),))
        return CheckResult("rig_validity", Verdict.PASS, summary)


def _percentile_ms(counted_us: list[tuple[int, int]], total: int, percent: int) -> float:
    """Nearest-rank percentile of sorted values with their counts; there is at least one."""
    rank = max(1, math.ceil(total * percent / 100))
    seen = 0
    for value_us, count in counted_us:
        seen += count
        if seen >= rank:
            return value_us / 1_000
    raise AssertionError("the counts do not add up to the total")
