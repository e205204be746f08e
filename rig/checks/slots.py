"""Slots: when the callers have gone, the server can still serve as many at once as it says.

A probe follows the load, or each part of it (`slots.every_s`). Once every dropped session must be gone (grace, a tick
of the reaper, a margin), one polite caller for each of `max_sessions` slots calls, all at the same moment. All must be
taken at once and hear a reply. This is what sees slots that leaked away one by one while nobody needed them, as the
zombies of a scheduler do.
Cannot see: a slot that comes back later than the margin as such; which caller cost a slot; slots held by callers of
another client, which look the same as lost ones.
"""

from dataclasses import dataclass

from rig.clock import to_s
from rig.events.types import AudioReceived, CallEnded, ConnectionClosed, Refused, SessionReady
from rig.fold import Fold
from rig.history import Call, History
from rig.verdict import CheckResult, Finding, Verdict


@dataclass(frozen=True)
class _Probe:
    """One call of the probe: from when to when it held a slot, what stood in its way, and whether it heard a reply."""

    call: str
    began_ns: int
    ready_ns: int | None
    gone_ns: int | None
    refused: str | None
    heard: bool
    ended: str


class Slots(Fold[CheckResult]):
    """Fail when a slot or a reply was missing, unknown when the probe did not happen as planned."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._probes: list[_Probe] = []

    def see(self, call: Call) -> None:
        """Keep what became of each call of the probe."""
        if not call.is_probe:
            return
        ready, closed = call.of(SessionReady), call.of(ConnectionClosed)
        refused, ended = call.of(Refused), call.of(CallEnded)
        self._probes.append(
            _Probe(
                call.start.call,
                call.start.t_ns,
                ready[0].t_ns if ready else None,
                closed[-1].t_ns if closed else None,
                refused[0].code if refused else None,
                any(chunk.samples > 0 for chunk in call.of(AudioReceived)),
                f"{ended[-1].outcome} {ended[-1].detail}".strip() if ended else "never ended",
            )
        )

    def result(self) -> CheckResult:
        """From the calls of every probe."""
        plan, made = self.history.probe, {probe.call: probe for probe in self._probes}
        if plan is None:
            return CheckResult("slots", Verdict.PASS, "not judged: no probe of the slots was planned")
        wanted = len(plan.calls)
        findings = tuple(self._finding(one) for _, one in sorted(made.items()) if _short(one))
        if findings:
            good = len(made) - len(findings)
            summary = f"{good} of {wanted} slots took a caller and answered it when all had to be free"
            return CheckResult("slots", Verdict.FAIL, summary, findings)
        if len(made) < wanted:
            return CheckResult("slots", Verdict.UNKNOWN, f"{len(made)} of {wanted} calls of the probe were made")
        numbers = sorted({call.index for call in plan.calls})
        least = min(_at_once([made[call.call] for call in plan.calls if call.index == number]) for number in numbers)
        if least < plan.callers:
            summary = f"every caller of the probe was answered, but only {least} of {plan.callers} at the same time"
            return CheckResult("slots", Verdict.UNKNOWN, summary)
        times = "" if len(numbers) == 1 else f", in each of {len(numbers)} probes"
        summary = f"all {plan.callers} slots took and answered a caller at the same time{times}"
        return CheckResult("slots", Verdict.PASS, summary)

    def _finding(self, probe: _Probe) -> Finding:
        if probe.refused is not None:
            what = f"was refused ({probe.refused}) though every slot must be free"
        elif probe.ready_ns is None:
            what = f"got no session: {probe.ended}"
        else:
            what = f"got no audio: {probe.ended}"
        return Finding(f"{probe.call} {what}", to_s(probe.began_ns - self.history.origin_ns), probe.call)


def _short(probe: _Probe) -> bool:
    """Whether something was missing. A caller that was refused at first found its slot taken, whatever came then."""
    return probe.refused is not None or probe.ready_ns is None or not probe.heard


def _at_once(probes: list[_Probe]) -> int:
    """The most callers that held a slot at the same moment; all of them have held one."""
    begins = [probe.ready_ns for probe in probes if probe.ready_ns is not None]
    return max(
        sum(
            one.ready_ns is not None and one.ready_ns <= t_ns and (one.gone_ns is None or one.gone_ns > t_ns)
            for one in probes
        )
        for t_ns in begins
    )
