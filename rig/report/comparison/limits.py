"""What a comparison cannot tell, and why: said of these runs, not of runs in general."""

from collections.abc import Iterator

from rig.report.comparison.content import Comparison, Judged
from rig.report.facts import MACHINE_LABEL
from rig.report.pool import BEYOND, enough, needed
from rig.verdict import Verdict

LARGEST = "Which side has the worse maximum: the more values, the larger their maximum, and one slow reply decides it."
NO_REASON = "Why figures differ: runs side by side show that they do, and what else differs; the cause is to be shown."


def warnings(comparison: Comparison) -> list[str]:
    """What stands in the way of reading a difference of figures as one of servers: to be read before the figures."""
    return [*_machines(comparison), *_plans(comparison), *_not_passed(comparison), *_same_runs(comparison)]


def limits(comparison: Comparison) -> list[str]:
    """All of it."""
    return [*warnings(comparison), *_chance(comparison), *_few(comparison), LARGEST, NO_REASON]


def _machines(comparison: Comparison) -> Iterator[str]:
    keys = [each.key for each in comparison.different if each.key.startswith("hardware.")]
    labels = [{run.facts.get(MACHINE_LABEL) for run in side.digests} for side in comparison.sides]
    every = set().union(*labels)
    if None not in every and len(every) == 1:
        return
    recorded = all("hardware.cores" in run.facts for side in comparison.sides for run in side.digests)
    if not recorded:
        yield (
            "Whether the machines are alike: at least one run did not record its machine. A difference of times may be "
            "one of machines."
        )
    elif keys or len(every) > 1:
        named = ", ".join(keys) or MACHINE_LABEL
        yield f"Whose difference of times it is: the machines differ ({named})."
    if any(each.key == "pipeline.hardware_label" for each in comparison.different):
        yield "Whether figures of these pipelines may be held together: their hardware_label differs."


def _plans(comparison: Comparison) -> Iterator[str]:
    if any(each.key == "plan_sha256" for each in comparison.different):
        yield (
            "Whether the server differs or the load: the plans differ, so the callers did other things. Counts and the "
            "mix of replies need not match."
        )


def _not_passed(comparison: Comparison) -> Iterator[str]:
    for side in comparison.sides:
        unknown = [run.run for run in side.digests if run.verdict is Verdict.UNKNOWN]
        failed = [run.run for run in side.digests if run.verdict is Verdict.FAIL]
        if unknown:
            yield f"What side {side.letter} is like: {_runs(side, unknown)} cannot be believed (verdict unknown)."
        if failed:
            yield (
                f"How fast a sound server is: {_runs(side, failed)} of side {side.letter} failed, and a server that "
                "lost work may look fast or slow."
            )


def _runs(side: Judged, names: list[str]) -> str:
    if len(side.digests) == 1:
        return "its run"
    return f"{len(names)} of {len(side.digests)} runs"


def _same_runs(comparison: Comparison) -> Iterator[str]:
    names = [{run.run for run in side.digests} for side in comparison.sides]
    common = sorted(set.intersection(*names))
    if common:
        yield f"A difference between sides that share a run: {', '.join(common)}."


def _chance(comparison: Comparison) -> Iterator[str]:
    single = [side.letter for side in comparison.sides if len(side.digests) == 1]
    if single:
        yield (
            f"How much a figure changes from run to run: there is one run on side {' and '.join(single)}. A repetition "
            "of the same run may differ as much as these do."
        )
    else:
        yield "Whether a difference is chance: runs are pooled here, and no test of significance is made."


def _few(comparison: Comparison) -> Iterator[str]:
    for statistic in ("p50", "p95", "p99"):
        few = [
            figure.name
            for figure in comparison.figures
            if any(seen > 0 for seen in figure.seen) and not all(enough(statistic, seen) for seen in figure.seen)
        ]
        if few:
            yield (
                f"The {statistic} of {', '.join(dict.fromkeys(few))}: a side has fewer than {needed(statistic)} "
                f"values, so fewer than {BEYOND} lie beyond it (marked °)."
            )
