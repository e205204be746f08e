"""A run in so few words that many can be held at once, or one be kept in a file beside the code.

It holds verdicts, counts, facts, and every figure as its histogram, so that figures of several runs merge without loss.
"""

from typing import Literal

import msgspec

from rig.clock import to_s
from rig.events.types import ProcessSeen
from rig.measure.figure import Figure, Rate, Unit
from rig.measure.totals import ended, lost
from rig.report.facts import Facts, facts_of
from rig.report.judgement import Judgement
from rig.verdict import Verdict


class CheckTold(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one check came to."""

    check: str
    verdict: Verdict
    summary: str


class Measured(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One figure; the payloads are HdrHistograms in microseconds or millionths (see `rig.measure.figure`)."""

    name: str
    unit: Unit
    measurement_origin: str
    hdr: str
    hdr_corrected: str | None
    unavailable: dict[str, int]
    rate: Rate | None


class Digest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run. `deaths` is None where no process of the server was watched; `duration_s` is the whole recording."""

    run: str
    verdict: Verdict
    sentence: str
    checks: tuple[CheckTold, ...]
    deaths: int | None
    turns: dict[str, int]
    calls: int
    sessions: int
    refused: int
    cut_replies: int
    returns: int
    duration_s: float
    measures: tuple[Measured, ...]
    facts: Facts
    schema_version: Literal[1] = 1

    @property
    def turns_ended(self) -> int:
        """Turns whose end is known."""
        return ended(self.turns)

    @property
    def turns_lost(self) -> int:
        """Turns that the server left without a whole reply."""
        return lost(self.turns)


def digest_of(judgement: Judgement) -> Digest:
    """The digest of a judged run."""
    history, totals = judgement.history, judgement.totals
    watched = bool(history.of(ProcessSeen))
    return Digest(
        run=history.folder.resolve().name,
        verdict=judgement.verdict,
        sentence=judgement.sentence,
        checks=tuple(CheckTold(each.check, each.verdict, each.summary) for each in judgement.checks),
        deaths=len(history.deaths) if watched else None,
        turns={str(outcome): count for outcome, count in sorted(totals.turns.items())},
        calls=totals.behaviours.total(),
        sessions=totals.sessions,
        refused=totals.refused,
        cut_replies=totals.cut_replies,
        returns=totals.returns,
        duration_s=to_s(history.last_ns - history.origin_ns),
        measures=tuple(_measured(figure) for figure in judgement.figures),
        facts=facts_of(history),
    )


def _measured(figure: Figure) -> Measured:
    return Measured(
        name=figure.name,
        unit=figure.unit,
        measurement_origin=figure.measurement_origin,
        hdr=figure.hdr,
        hdr_corrected=figure.hdr_corrected,
        unavailable=figure.unavailable,
        rate=figure.rate,
    )
