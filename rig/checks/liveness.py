"""Liveness: no process of the server died, and no line that only a fault writes stands in its log, until it is stopped.

Deaths are seen by pidfd when they happen, with exit status or signal. A finding names the process, its last words and
what callers did in the ten seconds before. One log line is known and without harm and only counted (rig/explained.py).
Cannot see: a process that lives and does nothing (that is `progress`); a fault that writes none of the known lines.
"""

from collections.abc import Sequence

from rig.clock import NS_PER_S, to_s
from rig.config.pipeline import ExternalServer
from rig.events.types import ActTaken, EndReason, LogSignature, PipelineReady, ProcessDied, ProcessSeen
from rig.explained import EXPLAINABLE, early_hang_ups_ns, unexplained
from rig.fold import Fold
from rig.history import Call, History
from rig.last_words import died_of
from rig.verdict import CheckResult, Finding, Verdict

BLAME_WINDOW_NS = 10 * NS_PER_S


class Liveness(Fold[CheckResult]):
    """Fail for a death or a fatal log line, unknown when the server was never ready."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._deaths = history.deaths
        self._logged = [event for event in history.of(LogSignature) if not event.expected]
        self._hang_ups_ns: list[int] = []
        self._acts: list[list[ActTaken]] = [[] for _ in self._deaths]

    def see(self, call: Call) -> None:
        """Keep what the caller did shortly before a death, and what may explain an error in the log."""
        if self._logged:
            self._hang_ups_ns.extend(early_hang_ups_ns(call))
        if not self._deaths:
            return
        for act in call.of(ActTaken):
            for death, acts in zip(self._deaths, self._acts, strict=True):
                if 0 <= death.t_ns - act.t_ns <= BLAME_WINDOW_NS:
                    acts.append(act)

    def result(self) -> CheckResult:
        """Unknown when nobody watched to the end."""
        history, deaths = self.history, self._deaths
        signatures = unexplained(self._logged, self._hang_ups_ns)
        findings = (
            *(_death(history, death, acts) for death, acts in zip(deaths, self._acts, strict=True)),
            *(_log(history, event) for event in signatures),
        )
        if deaths:
            first = deaths[0]
            summary = f"{first.stage} (pid {first.pid}) {first.how} {_at(history, first.t_ns)}"
            if exception := died_of(first.last_lines):
                summary += f", after {exception}"
            elif logged := _logged_before(first, signatures):
                before_s = to_s(first.t_ns - logged.t_ns)
                summary += f", {before_s:.1f} s after {logged.stage} logged {logged.signature}: {logged.line}"
            if len(deaths) > 1:
                summary += f", then {len(deaths) - 1} more"
            return CheckResult("liveness", Verdict.FAIL, summary, findings)
        if signatures:
            summary = f"no process died, but the log of {signatures[0].stage} shows {signatures[0].signature}"
            return CheckResult("liveness", Verdict.FAIL, summary, findings)
        return _without_deaths(history, len(self._logged))


def _logged_before(death: ProcessDied, signatures: Sequence[LogSignature]) -> LogSignature | None:
    """The first fault in the log that a death without a word of its own may have come of."""
    shortly = (event for event in signatures if 0 <= death.t_ns - event.t_ns <= BLAME_WINDOW_NS)
    return min(shortly, key=lambda event: event.t_ns, default=None)


def _without_deaths(history: History, explained: int) -> CheckResult:
    ended = history.ended
    if not history.of(PipelineReady):
        why = "the server was never ready" if ended is None else f"the server was never ready: {ended.detail}"
        return CheckResult("liveness", Verdict.UNKNOWN, why)
    if ended is None:
        return CheckResult("liveness", Verdict.UNKNOWN, "the rig died first: nobody watched the server to the end")
    if ended.reason is EndReason.RIG_ERROR:
        return CheckResult("liveness", Verdict.UNKNOWN, f"the rig failed first: {ended.detail}")
    if ended.reason is EndReason.ENGINE_LOST:
        # No death was recorded, so whoever watched the processes is gone, too.
        return CheckResult("liveness", Verdict.UNKNOWN, f"the server was lost, and how is not known: {ended.detail}")
    if isinstance(history.pipeline, ExternalServer):
        return CheckResult(
            "liveness", Verdict.PASS, "not applicable: the processes of an external server are not watched"
        )
    if not history.of(ProcessSeen):
        return CheckResult("liveness", Verdict.UNKNOWN, "no process of the server was ever seen")
    known = f"; known and without harm: {explained} x {EXPLAINABLE}" if explained > 0 else ""
    return CheckResult("liveness", Verdict.PASS, f"no process of the server died{known}")


def _at(history: History, t_ns: int) -> str:
    return f"at {to_s(t_ns - history.origin_ns):.2f} s ({history.phase_at(t_ns)})"


def _death(history: History, death: ProcessDied, acted: list[ActTaken]) -> Finding:
    acts = [
        f"{act.call} {act.act} {to_s(death.t_ns - act.t_ns):.2f} s before"
        for act in sorted(acted, key=lambda act: act.t_ns)
    ]
    callers = "; callers in the last 10 s: " + ", ".join(acts) if acts else "; no caller acted in the last 10 s"
    words = f"; last words: {death.last_lines[-1].strip()}" if death.last_lines else ""
    text = f"{death.stage} (pid {death.pid}, {death.title}) {death.how} {_at(history, death.t_ns)}{callers}{words}"
    return Finding(text, to_s(death.t_ns - history.origin_ns))


def _log(history: History, event: LogSignature) -> Finding:
    more = f" (and {event.left_out} more since the last event)" if event.left_out > 0 else ""
    return Finding(f"{event.stage} logged {event.signature}: {event.line}{more}", to_s(event.t_ns - history.origin_ns))
