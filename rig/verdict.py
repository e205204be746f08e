"""Verdicts: pass, fail, unknown; fail beats unknown beats pass; each has its exit code."""

import enum
import heapq
import math
from collections.abc import Iterable

import msgspec


class Verdict(enum.StrEnum):
    """What a check, or a run, came to."""

    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "unknown"

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail, 2 unknown (3 is left for bad usage or config)."""
        return {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.UNKNOWN: 2}[self]


USAGE_EXIT_CODE = 3


class Finding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One piece of evidence: a sentence, and when and in which call it was seen (seconds since the run began)."""

    text: str
    at_s: float | None = None
    call: str | None = None


class CheckResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one check came to, in a sentence, with its evidence; `more` findings were counted and not kept."""

    check: str
    verdict: Verdict
    summary: str
    findings: tuple[Finding, ...] = ()
    more: int = 0


KEPT_FINDINGS = 1_000


class Findings:
    """Findings of a check while it reads: all are counted, the first in time are kept."""

    def __init__(self, keep: int = KEPT_FINDINGS) -> None:
        self.count = 0
        self._keep = keep
        # The latest of those kept is on top, so that an earlier one can take its place.
        self._kept: list[tuple[float, int, Finding]] = []

    def add(self, finding: Finding) -> None:
        """Take one in."""
        entry = (-_when(finding), -self.count, finding)
        self.count += 1
        if len(self._kept) < self._keep:
            heapq.heappush(self._kept, entry)
        else:
            heapq.heappushpop(self._kept, entry)

    @property
    def more(self) -> int:
        """How many were counted and not kept."""
        return self.count - len(self._kept)

    def in_time(self) -> tuple[Finding, ...]:
        """Those kept, in the order in which they were seen; those without a time come last."""
        return tuple(finding for _, _, finding in sorted(self._kept, key=lambda entry: (-entry[0], -entry[1])))


def _when(finding: Finding) -> float:
    return math.inf if finding.at_s is None else finding.at_s


def merge(verdicts: Iterable[Verdict]) -> Verdict:
    """Fail beats unknown beats pass; nothing checked is unknown."""
    found = set(verdicts)
    if Verdict.FAIL in found:
        return Verdict.FAIL
    return Verdict.PASS if found == {Verdict.PASS} else Verdict.UNKNOWN
