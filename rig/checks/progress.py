"""Progress: every turn that was spoken reaches audio and exactly one terminal event, before the deadlines of the run.

This is what sees a frozen or wedged engine whose processes all live and whose /health answers. A finding names the
processes that were stopped by a signal at that time. An event that a resume replays under its old number is not a
second one.
Cannot see: a reply that is wrong, or slower than a person would bear but within the deadlines; the end of a reply
that nobody waited for, because its caller hung up for good.
"""

from collections import Counter
from dataclasses import dataclass

from rig.clock import from_s, to_s
from rig.events.types import Outcome, ProcessPaused, ServerEvent, TurnEnded
from rig.fold import Fold
from rig.history import Call, History
from rig.verdict import CheckResult, Finding, Findings, Verdict

TERMINAL = "response.done"

STUCK = {
    Outcome.NO_REPLY: "no audio within {first_audio_s:g} s of the end of speech",
    Outcome.NO_END: "no terminal event within {reply_s:g} s of the first audio",
}


@dataclass(frozen=True)
class _Pause:
    """A process that stood still; `to_ns` is None when nobody saw it go on."""

    process: str
    from_ns: int
    to_ns: int | None


class Progress(Fold[CheckResult]):
    """Fail for a turn that got stuck or a reply that ended twice, unknown when no turn was answered at all."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        deadlines = history.config.deadlines
        self._stuck = {outcome: text.format(**deadlines.model_dump()) for outcome, text in STUCK.items()}
        self._waited_ns = {
            Outcome.NO_REPLY: from_s(deadlines.first_audio_s),
            Outcome.NO_END: from_s(deadlines.reply_s),
        }
        self._pauses = _pauses(history)
        self._outcomes: Counter[Outcome] = Counter()
        self._findings = Findings()
        self._doubled = 0

    def see(self, call: Call) -> None:
        """Look at how each turn of the call ended, and how often each reply did."""
        for event in call.of(TurnEnded):
            self._outcomes[event.outcome] += 1
            if event.outcome in self._stuck:
                text = f"turn {event.turn} of {event.call}: {self._stuck[event.outcome]}"
                self._found(event, text + self._paused(event.t_ns - self._waited_ns[event.outcome], event.t_ns))
        ends: dict[str, ServerEvent] = {}
        for end in call.of(ServerEvent):
            if end.name != TERMINAL or end.response_id is None:
                continue
            first = ends.setdefault(end.response_id, end)
            if first is not end and (end.server_seq is None or end.server_seq != first.server_seq):
                self._doubled += 1
                told = " and ".join(one.detail or "no status" for one in (first, end))
                self._found(end, f"response {end.response_id} of {end.call} ended twice: {told}")

    def result(self) -> CheckResult:
        """Unknown when no turn was answered."""
        outcomes, found = self._outcomes, self._findings
        if found.count > 0:
            findings = found.in_time()
            parts = []
            if stuck := found.count - self._doubled:
                parts.append(f"{stuck} of {sum(outcomes.values())} turns got stuck")
            if self._doubled:
                parts.append(f"{self._doubled} terminal events came for replies that had ended")
            summary = f"{', '.join(parts)}, the first at {findings[0].at_s:.1f} s"
            return CheckResult("progress", Verdict.FAIL, summary, findings, found.more)
        answered = outcomes[Outcome.DONE] + outcomes[Outcome.CUT]
        if answered == 0:
            return CheckResult("progress", Verdict.UNKNOWN, "no turn was answered")
        unfinished = outcomes[Outcome.UNFINISHED]
        tail = f", {unfinished} still open when the run ended" if unfinished > 0 else ""
        return CheckResult("progress", Verdict.PASS, f"{answered} turns were answered and ended{tail}")

    def _found(self, event: TurnEnded | ServerEvent, text: str) -> None:
        self._findings.add(Finding(text, to_s(event.t_ns - self.history.origin_ns), event.call))

    def _paused(self, from_ns: int, to_ns: int) -> str:
        """Who stood still in that time, as the end of a sentence."""
        told = []
        for pause in self._pauses:
            if pause.from_ns <= to_ns and (pause.to_ns is None or pause.to_ns >= from_ns):
                until = "" if pause.to_ns is None else f" to {to_s(pause.to_ns - self.history.origin_ns):.1f}"
                told.append(
                    f"{pause.process} was stopped from {to_s(pause.from_ns - self.history.origin_ns):.1f}{until} s"
                )
        return "; " + ", ".join(told) if told else ""


def _pauses(history: History) -> list[_Pause]:
    since: dict[int, ProcessPaused] = {}
    pauses: list[_Pause] = []
    for event in history.of(ProcessPaused):
        name = f"{event.stage} (pid {event.pid})"
        if event.paused:
            since.setdefault(event.pid, event)
        elif (begun := since.pop(event.pid, None)) is not None:
            pauses.append(_Pause(name, begun.t_ns, event.t_ns))
    pauses.extend(_Pause(f"{one.stage} (pid {one.pid})", one.t_ns, None) for one in since.values())
    return pauses
