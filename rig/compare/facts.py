"""What one run says about its server, in the numbers that two variants are compared by."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from rig.clock import to_s
from rig.compare.cause import cause_of
from rig.events.types import EndReason, Outcome, Phase
from rig.history import History
from rig.measure.figure import Figure
from rig.measure.totals import Totals, ended, lost
from rig.verdict import CheckResult, Verdict

ANSWERED_TURNS = frozenset({Outcome.DONE, Outcome.CUT})
TIMED = ("first_audio", "response_latency", "chunk_gap", "barge_in_stop_speech", "barge_in_stop_cancel")
"""Figures that are compared, by name."""

RIG_TOO_SLOW = {"rig_validity"}


class Wait(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One figure of one run: how many values, median and 95th percentile, in milliseconds."""

    n: int
    p50: float
    p95: float


class Facts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run. `first_death_s` counts from the start of the load, None for no death or one before the load.

    `turns` are those whose end is known. `lost_slots` is the most that one probe found missing, None where no probe
    could be made.
    """

    verdict: Verdict
    sentence: str
    end: EndReason | None
    failed: tuple[str, ...]
    unknown: tuple[str, ...]
    deaths: int
    first_death_s: float | None
    cause: str
    turns: int
    answered_turns: int
    lost_turns: int
    lost_slots: int | None
    waits: Mapping[str, Wait]
    plan_sha256: str

    @property
    def died(self) -> bool:
        """Whether a process of the server died unasked."""
        return self.deaths > 0

    @property
    def believed(self) -> bool:
        """Whether it says anything about the server: it failed, or all that was planned did happen.

        A rig that was too slow spoils latencies, not the question who lived.
        """
        if not self.died and self.end not in (EndReason.PLANNED, EndReason.ENGINE_LOST):
            return False
        return self.verdict is Verdict.FAIL or set(self.unknown) <= RIG_TOO_SLOW

    @property
    def timed(self) -> bool:
        """Whether its latencies can be compared: believed, nobody died, and the callers kept time."""
        return self.believed and not self.died and not RIG_TOO_SLOW & set(self.unknown)


def facts_of(history: History, checks: Sequence[CheckResult], figures: Sequence[Figure], totals: Totals,
             sentence: str, verdict: Verdict) -> Facts:  # fmt: skip
    """The facts of a judged run."""
    deaths = history.deaths
    load_ns = history.phase_ns(Phase.LOAD)
    first_death_s = None
    if deaths and load_ns is not None and deaths[0].t_ns >= load_ns:
        first_death_s = to_s(deaths[0].t_ns - load_ns)
    end, started = history.ended, history.started
    return Facts(
        verdict=verdict,
        sentence=sentence,
        end=None if end is None else end.reason,
        failed=tuple(check.check for check in checks if check.verdict is Verdict.FAIL),
        unknown=tuple(check.check for check in checks if check.verdict is Verdict.UNKNOWN),
        deaths=len(deaths),
        first_death_s=first_death_s,
        cause=cause_of(deaths, history.folder / LOGS_DIR),
        turns=ended(totals.turns),
        answered_turns=sum(totals.turns[outcome] for outcome in ANSWERED_TURNS),
        lost_turns=lost(totals.turns),
        lost_slots=_lost_slots(history, checks),
        waits=_waits(figures),
        plan_sha256="" if started is None else started.plan_sha256,
    )


LOGS_DIR = Path("logs")


def _lost_slots(history: History, checks: Sequence[CheckResult]) -> int | None:
    """From the check of the slots: a finding is a slot that was missing."""
    check = next((check for check in checks if check.check == "slots"), None)
    if check is None or history.probe is None or check.verdict is Verdict.UNKNOWN:
        return None
    probes: dict[str, int] = {call.call: call.index for call in history.probe.calls}
    missing = [probes[finding.call] for finding in check.findings if finding.call in probes]
    return max((missing.count(number) for number in set(missing)), default=0)


def _waits(figures: Sequence[Figure]) -> dict[str, Wait]:
    """The compared figures that have values, corrected where there is a correction."""
    waits: dict[str, Wait] = {}
    for figure in figures:
        best = figure.best
        if figure.name in TIMED and figure.n > 0 and best.p50 is not None and best.p95 is not None:
            waits[figure.name] = Wait(figure.n, best.p50, best.p95)
    return waits
