"""Progress: every turn that was spoken is answered with audio and ends, before the deadlines of the run.

This is what sees a frozen or wedged engine whose processes all live and whose /health answers.
Cannot see: a reply that is wrong, or slower than a person would bear but within the deadlines.
"""

from collections import Counter

from rig.clock import to_s
from rig.events.types import Outcome, TurnEnded
from rig.fold import Fold
from rig.history import Call, History
from rig.verdict import CheckResult, Finding, Findings, Verdict

STUCK = {
    Outcome.NO_REPLY: "no audio within {first_audio_s:g} s of the end of speech",
    Outcome.NO_END: "no terminal event within {reply_s:g} s of the first audio",
}


class Progress(Fold[CheckResult]):
    """Fail for a turn that got stuck, unknown when no turn was answered at all."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        deadlines = history.config.deadlines.model_dump()
        self._stuck = {outcome: text.format(**deadlines) for outcome, text in STUCK.items()}
        self._outcomes: Counter[Outcome] = Counter()
        self._findings = Findings()

    def see(self, call: Call) -> None:
        """Look at how each turn of the call ended."""
        for event in call.of(TurnEnded):
            self._outcomes[event.outcome] += 1
            if event.outcome in self._stuck:
                text = f"turn {event.turn} of {event.call}: {self._stuck[event.outcome]}"
                self._findings.add(Finding(text, to_s(event.t_ns - self.history.origin_ns), event.call))

    def result(self) -> CheckResult:
        """Unknown when no turn was answered."""
        outcomes, found = self._outcomes, self._findings
        if found.count > 0:
            findings = found.in_time()
            total = sum(outcomes.values())
            summary = f"{found.count} of {total} turns got stuck, the first at {findings[0].at_s:.1f} s"
            return CheckResult("progress", Verdict.FAIL, summary, findings, found.more)
        answered = outcomes[Outcome.DONE] + outcomes[Outcome.CUT]
        if answered == 0:
            return CheckResult("progress", Verdict.UNKNOWN, "no turn was answered")
        unfinished = outcomes[Outcome.UNFINISHED]
        tail = f", {unfinished} still open when the run ended" if unfinished > 0 else ""
        return CheckResult("progress", Verdict.PASS, f"{answered} turns were answered and ended{tail}")
