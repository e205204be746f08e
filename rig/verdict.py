"""Verdicts: pass, fail, unknown; fail beats unknown beats pass; each has its exit code."""

import enum
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
    """What one check came to, in a sentence, with its evidence."""

    check: str
    verdict: Verdict
    summary: str
    findings: tuple[Finding, ...] = ()


def in_time(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings in the order in which they were seen; those without a time come last."""
    return tuple(sorted(findings, key=lambda finding: math.inf if finding.at_s is None else finding.at_s))


def merge(verdicts: Iterable[Verdict]) -> Verdict:
    """Fail beats unknown beats pass; nothing checked is unknown."""
    found = set(verdicts)
    if Verdict.FAIL in found:
        return Verdict.FAIL
    return Verdict.PASS if found == {Verdict.PASS} else Verdict.UNKNOWN
