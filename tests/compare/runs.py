"""Facts of runs in a few words."""

from collections.abc import Mapping
from typing import Any

from rig.compare.facts import Facts, Wait
from rig.events.types import EndReason
from rig.verdict import Verdict

WAITS: Mapping[str, Wait] = {"first_audio": Wait(20, 1_000.0, 2_000.0)}


def passed(**changes: Any) -> Facts:
    """A run in which all went well, but for `changes`."""
    fields: dict[str, Any] = {
        "verdict": Verdict.PASS,
        "sentence": "PASS: every check passed",
        "end": EndReason.PLANNED,
        "failed": (),
        "unknown": (),
        "deaths": 0,
        "first_death_s": None,
        "cause": "",
        "turns": 40,
        "answered_turns": 40,
        "lost_turns": 0,
        "lost_slots": 0,
        "waits": WAITS,
        "plan_sha256": "same",
    }
    return Facts(**(fields | changes))


def dead(at_s: float = 12.0, **changes: Any) -> Facts:
    """A run that ended with its server."""
    fields: dict[str, Any] = {
        "verdict": Verdict.FAIL,
        "sentence": "FAIL: liveness: thinker died",
        "end": EndReason.ENGINE_LOST,
        "failed": ("liveness", "connections"),
        "deaths": 1,
        "first_death_s": at_s,
        "cause": "thinker: KeyError in _update_after_schedule",
        "turns": 6,
        "answered_turns": 4,
        "lost_turns": 2,
        "lost_slots": None,
    }
    return passed(**(fields | changes))


def failed(check: str, **changes: Any) -> Facts:
    """A run that lived and failed one check."""
    return passed(**({"verdict": Verdict.FAIL, "failed": (check,)} | changes))


def waiting(p50: float, p95: float | None = None) -> Facts:
    """A run with this median of first audio, in milliseconds."""
    return passed(waits={"first_audio": Wait(20, p50, 2 * p50 if p95 is None else p95)})
