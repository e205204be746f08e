"""Memory: no process of the server grows steadily while it is under load.

Each process's resident memory during the load, after a warm-up, in medians of equal spans of time. The growth is the
Theil-Sen slope (the median of the slopes of all pairs; a few outliers do not move it) with a 95 % confidence interval
from Kendall's statistic (P. K. Sen, 1968). A leak is growth whose interval excludes 0 and that, kept up for an hour,
would be more than the configured share of what the process holds, in the whole and in each half of the time: growth
in one half alone is a step up.
Cannot see: memory of the GPU; a leak smaller than the share; what a run shorter than `memory.least_s` would show (it
passes and says that it was not judged); memory of a server that somebody else runs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from rig.clock import NS_PER_S, from_s, to_s
from rig.config.pipeline import ExternalServer
from rig.events.types import MemorySampled, Phase, PhaseEntered
from rig.fold import Fold
from rig.verdict import CheckResult, Finding, Verdict

SPANS = 48
"""Medians over a 48th of the load: neighbours of a sampler are no independent evidence, these nearly are."""

LEAST_SPANS = 8
Z = 1.96
"""Two-sided 95 %."""
HOUR_S = 3_600
MIB = 1 << 20


@dataclass(frozen=True)
class Growth:
    """Slope of one process's memory in bytes a second, with its interval, and the memory that it had."""

    process: str
    slope: float
    low: float
    high: float
    halves: tuple[float, float]
    """Slopes of the first and the second half."""
    level: float

    def leaks(self, share: float) -> bool:
        """Whether it is steady and more than `share` an hour."""
        return self.low > 0 and min(map(self.per_hour, (self.slope, *self.halves))) > share

    def per_hour(self, slope: float) -> float:
        """A slope as a share of the level, for an hour."""
        return slope * HOUR_S / self.level


class Memory(Fold[CheckResult]):
    """Fail for a leak; a run that is too short passes, not judged."""

    def result(self) -> CheckResult:
        """From the samples alone."""
        config = self.history.config.memory
        if isinstance(self.history.pipeline, ExternalServer):
            return CheckResult("memory", Verdict.PASS, "not applicable: an external server is not sampled")
        begin_ns, end_ns = self._load()
        length_s = to_s(end_ns - begin_ns) if begin_ns is not None else 0.0
        if begin_ns is None or length_s < config.least_s:
            why = f"{max(0.0, length_s):.0f} s of load after the warm-up, at least {config.least_s:g} s are needed"
            return CheckResult("memory", Verdict.PASS, f"not judged: {why}")
        found = [growth for growth in self._growths(begin_ns, end_ns) if growth is not None]
        if not found:
            return CheckResult("memory", Verdict.UNKNOWN, "too few samples of memory in the load")
        leaks = [one for one in found if one.leaks(config.growth_per_hour)]
        worst = max(found, key=lambda one: one.per_hour(one.slope))
        if leaks:
            findings = tuple(Finding(_told(one), to_s(begin_ns - self.history.origin_ns)) for one in leaks)
            return CheckResult("memory", Verdict.FAIL, f"{len(leaks)} processes leak: {findings[0].text}", findings)
        summary = f"{len(found)} processes over {length_s:.0f} s of load, the most growth: {_told(worst)}"
        return CheckResult("memory", Verdict.PASS, summary)

    def _load(self) -> tuple[int | None, int]:
        """The load without its warm-up."""
        history = self.history
        phases = history.of(PhaseEntered)
        loads_ns = [event.t_ns for event in phases if event.phase is Phase.LOAD]
        if not loads_ns:
            return None, history.last_ns
        # A load that is interrupted for probes is one load.
        end_ns = next((event.t_ns for event in phases if event.t_ns > loads_ns[-1]), history.last_ns)
        return loads_ns[0] + from_s(history.config.memory.warm_up_s), end_ns

    def _growths(self, begin_ns: int, end_ns: int) -> list[Growth | None]:
        samples: dict[tuple[str, int], list[MemorySampled]] = {}
        for sample in self.history.of(MemorySampled):
            if begin_ns <= sample.t_ns < end_ns:
                samples.setdefault((sample.stage, sample.pid), []).append(sample)
        width_ns = max(1, (end_ns - begin_ns) // SPANS)
        return [_growth(f"{stage} (pid {pid})", each, width_ns) for (stage, pid), each in samples.items()]


def _growth(process: str, samples: Sequence[MemorySampled], width_ns: int) -> Growth | None:
    """None for a process with too few samples to tell."""
    spans: dict[int, list[MemorySampled]] = {}
    for sample in samples:
        spans.setdefault(sample.t_ns // width_ns, []).append(sample)
    if len(spans) < LEAST_SPANS:
        return None
    points = [
        (median(one.t_ns for one in span) / NS_PER_S, median(one.rss_bytes for one in span)) for span in spans.values()
    ]
    slope, low, high = theil_sen(points)
    middle = len(points) // 2
    halves = (theil_sen(points[:middle])[0], theil_sen(points[middle:])[0])
    return Growth(process, slope, low, high, halves, median(level for _, level in points))


def theil_sen(points: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """The slope of at least three points in order of x, no x twice, with the ends of its 95 % interval."""
    count = len(points)
    slopes = sorted(
        (after[1] - before[1]) / (after[0] - before[0])
        for index, before in enumerate(points)
        for after in points[index + 1 :]
    )
    spread = Z * math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    low = max(0, math.floor((len(slopes) - spread) / 2))
    high = min(len(slopes) - 1, math.ceil((len(slopes) + spread) / 2))
    return median(slopes), slopes[low], slopes[high]


def _told(growth: Growth) -> str:
    shares = [f"{growth.per_hour(slope) * 100:.1f}" for slope in (growth.slope, growth.low, growth.high)]
    interval = f"95 % interval {shares[1]} to {shares[2]}"
    return f"{growth.process} {shares[0]} % an hour ({interval}) of {growth.level / MIB:.0f} MiB"
