"""Completeness: what was planned really ran, and nothing recorded was lost. Short of it the verdict is unknown.

The run came to its planned end, every caller slot made a call (every planned call, in an open loop), what the run file
requires did happen, no call is without an end, and no journal has a gap, an unreadable line or no end. It never fails:
it says whether the others can be believed.
Cannot see: whether the plan itself was hard enough to find anything.
"""

from rig.events.bus import EventsFilled, ProducerIncomplete, ProducerRefused, ProducerStatus
from rig.events.types import CallEnded, EndReason
from rig.fold import Fold, Guarded
from rig.history import Call, History
from rig.measure.load import NAMED, never_started
from rig.measure.totals import Totals, TotalsFold
from rig.verdict import CheckResult, Finding, Verdict


class Completeness(Fold[CheckResult]):
    """Unknown for anything short of the plan or the run's own requirements."""

    def __init__(self, history: History, totals: Guarded[Totals] | None = None) -> None:
        """`totals` counts all calls already where somebody else needs them too."""
        super().__init__(history)
        self._counted = totals
        self._totals = TotalsFold(history)
        self._endless: list[str] = []

    def see(self, call: Call) -> None:
        """Count."""
        if self._counted is None:
            self._totals.see(call)
        if not call.of(CallEnded):
            self._endless.append(call.start.call)

    def result(self) -> CheckResult:
        """Everything that is short, the most telling first."""
        history, totals = self.history, (self._counted or self._totals).result()
        findings = (
            *_run_end(history),
            *_callers(history, totals),
            *_requirements(history, totals),
            *_journals(history),
            *_endless(history, self._endless),
            *_producers(history),
        )
        if findings:
            return CheckResult("completeness", Verdict.UNKNOWN, findings[0].text, findings)
        summary = (
            f"{totals.sessions} sessions, {totals.cut_replies} replies cut by {totals.barge_ins} barge-ins, "
            f"{totals.returns} returns got first audio{_filled(history)}"
        )
        return CheckResult("completeness", Verdict.PASS, summary)


def _run_end(history: History) -> list[Finding]:
    ended = history.ended
    if ended is None:
        return [Finding("the run has no end: the rig itself died")]
    if ended.reason is not EndReason.PLANNED:
        return [Finding(f"the run ended early: {ended.reason}, {ended.detail}")]
    return []


def _callers(history: History, totals: Totals) -> list[Finding]:
    if history.plan.is_open:
        lost = never_started(totals.starts, history.plan)
        text = f"{len(lost)} of {len(history.plan.calls)} planned calls never began: {', '.join(lost[:NAMED])}"
        return [Finding(text)] if lost else []
    missing = sorted(set(range(history.plan.callers)) - totals.callers)
    return [Finding(f"callers {missing} of {history.plan.callers} made no call")] if missing else []


def _requirements(history: History, totals: Totals) -> list[Finding]:
    require = history.config.require
    counts = {
        "sessions": (totals.sessions, require.sessions),
        "cut_replies": (totals.cut_replies, require.cut_replies),
        "returns": (totals.returns, require.returns),
    }
    return [
        Finding(f"{found} {name.replace('_', ' ')}, the run requires {least}")
        for name, (found, least) in counts.items()
        if found < least
    ]


def _journals(history: History) -> list[Finding]:
    found = [Finding(text) for text in history.unreadable]
    boots = {header.boot_id for header in history.headers}
    if len(boots) > 1:
        found.append(Finding(f"the journals come from {len(boots)} boots or hosts: their times do not compare"))
    for damage in history.damage:
        if damage.missing > 0 or damage.bad_lines:
            lost = f"{damage.missing} events missing, {len(damage.bad_lines)} lines unreadable"
            found.append(Finding(f"{damage.path.name}: {lost}"))
        if not damage.closed:
            found.append(Finding(f"{damage.path.name}: its writer did not end in order"))
    if history.lost_starts > 0:
        found.append(Finding(f"{history.lost_starts} calls cannot be judged: their first event is lost"))
    return found


def _endless(history: History, calls: list[str]) -> list[Finding]:
    """What a caller's process that was killed takes along."""
    if not calls or all(damage.closed for damage in history.damage):
        return []
    what = (
        "1 call has no end, its caller was lost"
        if len(calls) == 1
        else f"{len(calls)} calls have no end, their callers were lost"
    )
    return [Finding(f"{what}: {', '.join(sorted(calls)[:NAMED])}")]


def _producers(history: History) -> list[Finding]:
    """Producers that the bus told of and whose events are not here to their end, under their names."""
    here = {header.producer for header in history.headers}
    whole = {damage.path.stem for damage in history.damage if damage.closed and damage.missing == 0}
    found = [
        Finding(f"{event.producer} is not complete: {event.why}")
        for event in history.of(ProducerIncomplete)
        if event.producer not in whole
    ]
    announced = {event.producer for event in history.of(ProducerStatus)}
    found += [Finding(f"{name} was announced and nothing of it is here") for name in sorted(announced - here)]
    found += [Finding(f"{event.producer} was refused: {event.why}") for event in history.of(ProducerRefused)]
    return found


def _filled(history: History) -> str:
    filled = history.of(EventsFilled)
    if not filled:
        return ""
    names = ", ".join(sorted({event.producer for event in filled}))
    return f"; {sum(event.events for event in filled)} events of {names} filled from the spool, none lost"
