"""A run judged: its history, every check, every figure and the totals, from one pass over the journals."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import msgspec
from prometheus_client.metrics_core import Metric as Family

from rig.checks import CHECKS, results
from rig.checks.completeness import Completeness
from rig.fold import Crash, Guarded, run_folds
from rig.history import History, load
from rig.measure import FIGURES, figures
from rig.measure.figure import Figure
from rig.measure.totals import Totals, TotalsFold
from rig.metrics.calls import CallCounts, CallCountsFold
from rig.recorder.callers import CallerActs, CallerLog
from rig.recorder.timeline import Timelines, timelines_of
from rig.report.html.gather import Gather, Gathered
from rig.report.metrics import judged
from rig.verdict import CheckResult, Finding, Verdict, merge


@dataclass(frozen=True)
class Judgement:
    """What a run came to."""

    history: History
    checks: tuple[CheckResult, ...]
    figures: tuple[Figure, ...]
    totals: Totals
    gathered: Guarded[Gathered]
    """What the page shows of the calls; asked when the page is made, so that its errors hurt nothing else."""
    callers: Guarded[CallerActs]
    """What the callers did while the engines were recorded; asked late for the same reason."""
    measures: tuple[Guarded[Figure], ...]
    """The measures themselves, for whoever shows their values in another way."""
    counts: Guarded[CallCounts]
    """Asked when the metrics are made."""

    @property
    def verdict(self) -> Verdict:
        """Fail beats unknown beats pass."""
        return merge(check.verdict for check in self.checks)

    @cached_property
    def timelines(self) -> Timelines:
        """What the engines' recorders say of each moment that went wrong. Never raises: telling changes no verdict."""
        try:
            return timelines_of(self.history, self.checks, self.callers.result())
        except Exception as error:  # noqa: BLE001 - see above
            return Timelines((), (f"the recorders could not be read: {error!r}",))

    @cached_property
    def metrics(self) -> list[Family]:
        """The metrics of the run, with its verdict."""
        return judged(self)

    @property
    def sentence(self) -> str:
        """The verdict in one sentence, with the check that decided it."""
        complete = next(check for check in self.checks if check.check == "completeness")
        if self.verdict is Verdict.PASS:
            return f"PASS: {complete.summary}; every check passed"
        # Why a run cannot be believed is first of all what did not happen in it.
        deciding = next(check for check in (complete, *self.checks) if check.verdict is self.verdict)
        return f"{self.verdict.upper()}: {deciding.check}: {deciding.summary}"


def judge_folder(folder: Path) -> Judgement:
    """Judge what is on disk. Raises RigError when the folder is not a run's."""
    history = load(folder)
    totals = Guarded(TotalsFold, history)
    # Counting all calls once is enough.
    complete = partial(Completeness, totals=totals)
    checks = [Guarded(complete if check is Completeness else check, history) for check in CHECKS.values()]
    measures = [Guarded(measure, history) for measure in FIGURES]
    gathered = Guarded(Gather, history)
    callers = Guarded(CallerLog, history)
    counts = Guarded(CallCountsFold, history)
    run_folds(history, (*checks, *measures, totals, gathered, callers, counts))
    found, told = results(CHECKS, checks), figures(history, measures)
    crashes = [crash for crash in (*(measure.crash for measure in measures), counts.crash) if crash is not None]
    return Judgement(
        history,
        _with_crashes(found, crashes) if crashes else found,
        told,
        totals.result(),
        gathered,
        callers,
        tuple(measures),
        counts,
    )


def _with_crashes(checks: tuple[CheckResult, ...], crashes: Sequence[Crash]) -> tuple[CheckResult, ...]:
    """A rig that could not take its own figures is not valid, however well its callers kept time."""
    findings = tuple(Finding(f"a figure or a count crashed: {crash}") for crash in crashes)
    return tuple(
        msgspec.structs.replace(
            check,
            verdict=Verdict.UNKNOWN,
            summary=f"{len(crashes)} of the rig's own figures and counts crashed; {check.summary}",
            findings=(*findings, *check.findings),
        )
        if check.check == "rig_validity"
        else check
        for check in checks
    )
