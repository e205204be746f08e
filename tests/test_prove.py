"""The proof of the checks, one seed a fault: each fault of the golden server fails the check meant for it.

`make prove` does the same with 20 seeds.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rig.golden.faults import FAULTS
from rig.prove import CASES, SHARE, Case, Trial, is_good, prove, table
from rig.verdict import Verdict

NO_FAULT_TO_A_CHECK = {"none", "slow_start"}
"""A server that is slow to start is waited for."""

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trial]:
    """One run of each case, four at a time."""
    made = prove(CASES, {case.fault: 1 for case in CASES}, 4, tmp_path_factory.mktemp("prove"))
    return {trial.fault: trial for trial in made}


@pytest.mark.parametrize("case", [case for case in CASES if case.check], ids=lambda case: case.fault)
def test_a_fault_fires_and_fails_the_check_that_is_meant_for_it(case: Case, trials: dict[str, Trial]) -> None:
    trial = trials[case.fault]
    assert trial.error == ""
    assert trial.fired > 0
    assert trial.failed(case.check), trial.summaries


def test_a_healthy_server_fails_no_check(trials: dict[str, Trial]) -> None:
    trial = trials["none"]
    # On a crowded machine the rig may find itself too slow to judge; everything else must pass.
    assert {name for name, verdict in trial.verdicts.items() if verdict is not Verdict.PASS} <= {"rig_validity"}, (
        trial.error or trial.summaries
    )


def test_every_fault_is_proven_against_the_check_that_its_table_names() -> None:
    assert {case.fault: case.check for case in CASES if case.check is not None} == {
        name: entry.check for name, entry in FAULTS.items() if name not in NO_FAULT_TO_A_CHECK
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.fault)
def test_each_seed_gives_a_fault_its_own_moment_and_the_same_again(case: Case) -> None:
    specs = [case.spec(seed) for seed in range(6)]
    assert specs[:3] == specs[3:]
    assert not any(re.search(r"[{}]", spec) for spec in specs)


def trial(verdict: Verdict, *, fired: int = 1) -> Trial:
    return Trial("drop", 0, fired, {"connections": verdict, "liveness": Verdict.PASS}, {})


def test_a_trial_in_which_the_fault_did_not_fire_proves_nothing() -> None:
    case = Case("drop", "connections")
    assert is_good(case, trial(Verdict.FAIL))
    assert not is_good(case, trial(Verdict.FAIL, fired=0))
    assert not is_good(case, trial(Verdict.UNKNOWN))


@pytest.mark.parametrize(("missed", "enough"), [(1, True), (2, False)])
def test_nineteen_of_twenty_seeds_are_enough(missed: int, enough: bool) -> None:
    assert SHARE == 0.95
    found = [trial(Verdict.FAIL)] * (20 - missed) + [trial(Verdict.PASS)] * missed
    shown, good = table([Case("drop", "connections")], found)
    assert f"| `drop` | connections | {20 - missed} of 20 | - |" in shown
    assert good is enough


def test_one_healthy_run_that_does_not_pass_is_one_too_many() -> None:
    healthy = Case("none", None)
    good, bad = ({"liveness": verdict} for verdict in (Verdict.PASS, Verdict.UNKNOWN))
    assert table([healthy], [Trial("none", seed, 0, good, {}) for seed in range(50)])[1]
    assert not table([healthy], [Trial("none", 0, 0, good, {}), Trial("none", 1, 0, bad, {})])[1]


def test_a_healthy_run_with_slow_callers_is_made_again_alone_until_they_kept_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = {"rig_validity": Verdict.UNKNOWN, "liveness": Verdict.PASS}
    tried: list[str] = []

    def guarded(case: Case, seed: int, folder: Path) -> Trial:
        tried.append(folder.name)
        in_time = seed == 0 or folder.name.endswith("-again-2")
        return Trial(case.fault, seed, 0, {"liveness": Verdict.PASS} if in_time else slow, {"rig_validity": "slow"})

    monkeypatch.setattr("rig.prove._guarded", guarded)
    monkeypatch.setattr("rig.prove._pool", ThreadPoolExecutor)
    (healthy,) = [case for case in CASES if case.check is None]
    trials = prove([healthy], {"none": 2}, 2, tmp_path)
    assert sorted(tried) == ["none-0", "none-1", "none-1-again-1", "none-1-again-2"]
    assert [(one.seed, one.passed) for one in trials] == [(0, True), (1, True)]
    assert "1 healthy runs had slow callers" in capsys.readouterr().err


def test_a_case_without_a_trial_is_not_proven() -> None:
    assert not table([Case("drop", "connections")], [])[1]
