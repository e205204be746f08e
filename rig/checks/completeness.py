"""Completeness: what was planned really ran, and nothing recorded was lost. Short of it the verdict is unknown."""

from rig.events.bus import EventsFilled, ProducerIncomplete, ProducerRefused, ProducerStatus
from rig.events.types import Act, ActTaken, EndReason, SessionReady
from rig.history import History
from rig.measure.barge_in_stop import measure_cancel, measure_speech
from rig.measure.reconnect import measure_new_session, measure_resumed
from rig.verdict import CheckResult, Finding, Verdict

BARGE_INS = (Act.BARGE_IN_SPEECH, Act.BARGE_IN_CANCEL)


def check(history: History) -> CheckResult:
    """Unknown for anything short of the plan or the run's own requirements."""
    findings = (
        *_run_end(history),
        *_callers(history),
        *_requirements(history),
        *_journals(history),
        *_producers(history),
    )
    if findings:
        return CheckResult("completeness", Verdict.UNKNOWN, findings[0].text, findings)
    tried = sum(event.act in BARGE_INS for event in history.of(ActTaken))
    summary = (
        f"{sessions(history)} sessions, {cut_replies(history)} replies cut by {tried} barge-ins, "
        f"{returns(history)} returns got first audio"
    )
    filled = history.of(EventsFilled)
    if filled:
        count = sum(event.events for event in filled)
        summary += f"; {count} events of {_names(filled)} filled from the spool, none lost"
    return CheckResult("completeness", Verdict.PASS, summary)


def sessions(history: History) -> int:
    """Sessions that were opened; a resumed one was counted when it was opened."""
    return sum(not event.resumed for event in history.of(SessionReady))


def cut_replies(history: History) -> int:
    """Replies that a barge-in cut: the server ended them after the act and they had not ended by themselves."""
    return len(measure_speech(history).values_ns) + len(measure_cancel(history).values_ns)


def returns(history: History) -> int:
    """Returns after a hang-up that got first audio."""
    return len(measure_new_session(history).values_ns) + len(measure_resumed(history).values_ns)


def _run_end(history: History) -> list[Finding]:
    ended = history.ended
    if ended is None:
        return [Finding("the run has no end: the rig itself died")]
    if ended.reason is not EndReason.PLANNED:
        return [Finding(f"the run ended early: {ended.reason}, {ended.detail}")]
    return []


def _callers(history: History) -> list[Finding]:
    ran = {call.start.caller for call in history.calls.values()}
    missing = sorted(set(range(history.plan.callers)) - ran)
    return [Finding(f"callers {missing} of {history.plan.callers} made no call")] if missing else []


def _requirements(history: History) -> list[Finding]:
    require = history.config.require
    counts = {
        "sessions": (sessions(history), require.sessions),
        "cut_replies": (cut_replies(history), require.cut_replies),
        "returns": (returns(history), require.returns),
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
    return found


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


def _names(filled: list[EventsFilled]) -> str:
    return ", ".join(sorted({event.producer for event in filled}))
