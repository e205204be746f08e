"""What the runs of one side came to, added up."""

from collections import Counter
from collections.abc import Sequence
from statistics import median

import msgspec

from rig.compare.facts import Facts
from rig.compare.proportion import clopper_pearson
from rig.verdict import Verdict


class Share(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """In `hits` of `n` runs; `low` and `high` enclose the true rate with 95 % confidence."""

    hits: int
    n: int
    low: float
    high: float

    @classmethod
    def of(cls, seen: Sequence[bool]) -> "Share":
        """How often it was seen."""
        return cls(sum(seen), len(seen), *clopper_pearson(sum(seen), len(seen)))

    def __str__(self) -> str:
        return f"{self.hits} of {self.n}"


class Side(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One side. Shares are of the runs that can be believed; `slots` of those in which a probe could be made."""

    spec: str
    runs: int
    verdicts: dict[Verdict, int]
    died: Share
    slots: Share
    failed: Share
    died_in_boot: int
    """Runs that died before the load: what they say is of the start, not of the calls."""
    first_death_s: tuple[float, float, float] | None
    """Median, least and most, in seconds after the load began; of the runs with a death under load."""
    lost_slots: int
    """The most that any probe found missing."""
    turns: int
    answered_turns: int
    lost_turns: int
    runs_with_lost_turns: Share
    checks: dict[str, int]
    """In how many runs each check failed."""
    causes: dict[str, int]

    @property
    def flaws(self) -> list[str]:
        """What still goes wrong on this side, the worst first; empty for a sound one."""
        told = []
        if self.died.hits:
            boot = f" ({self.died_in_boot} before the load)" if self.died_in_boot else ""
            told.append(f"dies in {self.died} runs{boot}")
        if self.slots.hits:
            told.append(f"loses slots in {self.slots} runs (up to {self.lost_slots})")
        if self.runs_with_lost_turns.hits:
            told.append(f"loses turns in {self.runs_with_lost_turns} runs ({self.lost_turns} of {self.turns} turns)")
        others = [f"{name} in {count}" for name, count in self.checks.items() if name not in TOLD_APART]
        if others:
            told.append(f"fails {', '.join(others)} of {self.failed.n} runs")
        elif self.failed.hits and not told:
            names = ", ".join(f"{name} in {count}" for name, count in self.checks.items())
            told.append(f"fails {names} of {self.failed.n} runs")
        return told


TOLD_APART = ("liveness", "slots", "progress", "connections")
"""Checks whose failures are told as deaths, lost slots and lost turns."""


def side_of(spec: str, runs: Sequence[Facts]) -> Side:
    """The sums over all runs of a side."""
    good = [run for run in runs if run.believed]
    deaths_s = [run.first_death_s for run in good if run.first_death_s is not None]
    return Side(
        spec=spec,
        runs=len(runs),
        verdicts=dict(sorted(Counter(run.verdict for run in runs).items())),
        died=Share.of([run.died for run in good]),
        slots=Share.of([run.lost_slots > 0 for run in good if run.lost_slots is not None]),
        failed=Share.of([run.verdict is Verdict.FAIL or run.died for run in good]),
        died_in_boot=sum(run.died and run.first_death_s is None for run in good),
        first_death_s=(median(deaths_s), min(deaths_s), max(deaths_s)) if deaths_s else None,
        lost_slots=max((run.lost_slots for run in good if run.lost_slots is not None), default=0),
        turns=sum(run.turns for run in good),
        answered_turns=sum(run.answered_turns for run in good),
        lost_turns=sum(run.lost_turns for run in good),
        runs_with_lost_turns=Share.of([run.lost_turns > 0 for run in good]),
        checks=dict(Counter(name for run in good for name in run.failed).most_common()),
        causes=dict(Counter(run.cause for run in good if run.cause).most_common()),
    )
