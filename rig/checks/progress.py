"""Progress: every turn that was spoken is answered with audio and ends, before the deadlines of the run.

This is what sees a frozen or wedged engine whose processes all live and whose /health answers.
Cannot see: a reply that is wrong, or slower than a person would bear but within the deadlines.
"""

from rig.clock import to_s
from rig.events.types import Outcome, TurnEnded
from rig.history import History
from rig.verdict import CheckResult, Finding, Verdict, in_time

STUCK = {
    Outcome.NO_REPLY: "no audio within {first_audio_s:g} s of the end of speech",
    Outcome.NO_END: "no terminal event within {reply_s:g} s of the first audio",
}


def check(history: History) -> CheckResult:
    """Fail for a turn that got stuck, unknown when no turn was answered at all."""
    turns = [(call, event) for call in history.calls.values() for event in call.of(TurnEnded)]
    deadlines = history.config.deadlines.model_dump()
    findings = in_time(
        Finding(
            f"turn {event.turn} of {event.call}: {STUCK[event.outcome].format(**deadlines)}",
            to_s(event.t_ns - history.origin_ns),
            event.call,
        )
        for _, event in turns
        if event.outcome in STUCK
    )
    answered = sum(event.outcome in (Outcome.DONE, Outcome.CUT) for _, event in turns)
    if findings:
        summary = f"{len(findings)} of {len(turns)} turns got stuck, the first at {findings[0].at_s:.1f} s"
        return CheckResult("progress", Verdict.FAIL, summary, findings)
    if answered == 0:
        return CheckResult("progress", Verdict.UNKNOWN, "no turn was answered")
    unfinished = sum(event.outcome is Outcome.UNFINISHED for _, event in turns)
    tail = f", {unfinished} still open when the run ended" if unfinished > 0 else ""
    return CheckResult("progress", Verdict.PASS, f"{answered} turns were answered and ended{tail}")
