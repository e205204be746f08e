"""The table of checks: every check file is in it, and a check that crashes is unknown and hides nothing."""

import pkgutil
from pathlib import Path

import pytest

from rig import checks
from rig.checks import CHECKS, judge
from rig.fold import Fold
from rig.history import Call, History
from rig.verdict import CheckResult, Verdict, merge
from tests.builders import Run


class CrashesOnACall(Fold[CheckResult]):
    def see(self, call: Call) -> None:
        raise KeyError("req-7")


class CrashesAtTheEnd(Fold[CheckResult]):
    def result(self) -> CheckResult:
        raise KeyError("req-7")


class CrashesAtOnce(Fold[CheckResult]):
    def __init__(self, history: History) -> None:
        raise KeyError("req-7")


def test_every_check_file_is_in_the_table_under_its_name() -> None:
    assert set(CHECKS) == {module.name for module in pkgutil.iter_modules(checks.__path__)}


def test_every_check_names_itself(tmp_path: Path) -> None:
    assert [result.check for result in judge(Run(tmp_path / "run").history())] == list(CHECKS)


def test_an_empty_run_is_not_a_pass(tmp_path: Path) -> None:
    assert merge(result.verdict for result in judge(Run(tmp_path / "run").history())) is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("broken", "where"), [(CrashesAtOnce, "__init__"), (CrashesOnACall, "see"), (CrashesAtTheEnd, "result")]
)
def test_a_check_that_crashes_is_unknown_and_says_where(
    tmp_path: Path, broken: type[Fold[CheckResult]], where: str
) -> None:
    run = Run(tmp_path / "run")
    run.start_call()
    crashed, whole = judge(run.history(), {"broken": broken, "refusals": CHECKS["refusals"]})
    assert (crashed.check, crashed.verdict, crashed.summary) == ("broken", Verdict.UNKNOWN, "the check itself crashed")
    assert crashed.findings[0].text.startswith(f"KeyError('req-7') in {where}, line ")
    assert whole.verdict is Verdict.PASS


def test_judging_twice_gives_the_same(tmp_path: Path) -> None:
    history = Run(tmp_path / "run").history()
    assert judge(history) == judge(history)
