"""Judgement: one check a file, each a fold over the calls of a history with three values.

`CHECKS` is the explicit table; a new check is a new file and a line here. A check that crashes is unknown, never pass.
"""

from collections.abc import Mapping

from rig.checks.audio import Audio
from rig.checks.completeness import Completeness
from rig.checks.connections import Connections
from rig.checks.liveness import Liveness
from rig.checks.memory import Memory
from rig.checks.progress import Progress
from rig.checks.refusals import Refusals
from rig.checks.resume import Resume
from rig.checks.rig_validity import RigValidity
from rig.checks.shutdown import Shutdown
from rig.checks.slots import Slots
from rig.checks.stale_audio import StaleAudio
from rig.checks.turn_identity import TurnIdentity
from rig.fold import Crash, Fold, Guarded, run_folds
from rig.history import History
from rig.verdict import CheckResult, Finding, Verdict

CHECKS: Mapping[str, type[Fold[CheckResult]]] = {
    "liveness": Liveness,
    "progress": Progress,
    "connections": Connections,
    "refusals": Refusals,
    "resume": Resume,
    "slots": Slots,
    "audio": Audio,
    "stale_audio": StaleAudio,
    "turn_identity": TurnIdentity,
    "memory": Memory,
    "shutdown": Shutdown,
    "completeness": Completeness,
    "rig_validity": RigValidity,
}


def judge(history: History, checks: Mapping[str, type[Fold[CheckResult]]] = CHECKS) -> tuple[CheckResult, ...]:
    """Run every check, and nothing else, over the history."""
    folds = [Guarded(check, history) for check in checks.values()]
    run_folds(history, folds)
    return results(checks, folds)


def results(checks: Mapping[str, object], folds: list[Guarded[CheckResult]]) -> tuple[CheckResult, ...]:
    """What the checks came to, when all calls have passed by; a crash must neither hide the others nor pass."""
    return tuple(_result(name, fold) for name, fold in zip(checks, folds, strict=True))


def _result(name: str, fold: Guarded[CheckResult]) -> CheckResult:
    try:
        return fold.result()
    except Crash as crash:
        return CheckResult(name, Verdict.UNKNOWN, "the check itself crashed", (Finding(str(crash)),))
