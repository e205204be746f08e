"""Judgement: one check a file, each a pure function of the history with three values.

`CHECKS` is the explicit table; a new check is a new file and a line here. A check that crashes is unknown, never pass.
"""

import traceback
from collections.abc import Callable, Mapping

from rig.checks import audio, completeness, connections, liveness, progress, refusals, rig_validity, shutdown
from rig.history import History
from rig.verdict import CheckResult, Finding, Verdict

Check = Callable[[History], CheckResult]

CHECKS: Mapping[str, Check] = {
    "liveness": liveness.check,
    "progress": progress.check,
    "connections": connections.check,
    "refusals": refusals.check,
    "audio": audio.check,
    "shutdown": shutdown.check,
    "completeness": completeness.check,
    "rig_validity": rig_validity.check,
}


def judge(history: History, checks: Mapping[str, Check] = CHECKS) -> tuple[CheckResult, ...]:
    """Run every check."""
    return tuple(_guarded(name, check, history) for name, check in checks.items())


def _guarded(name: str, check: Check, history: History) -> CheckResult:
    try:
        return check(history)
    except Exception as error:  # noqa: BLE001 - a crashed check must neither hide the others nor pass
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.name}, line {last.lineno}"
        return CheckResult(name, Verdict.UNKNOWN, "the check itself crashed", (Finding(f"{error!r} in {where}"),))
