"""Refusals: right while every slot can be held, wrong while one must be free.

The pipeline of these tests has 2 slots; a dropped session holds one for 30 s of grace, 5 s of the reaper's interval and
3 s of margin: 38 s after the close.
"""

from pathlib import Path

import pytest

from rig.checks.refusals import Refusals
from rig.events.types import Connect
from rig.fold import result_of
from rig.verdict import Verdict
from tests.builders import EXTERNAL_YAML, GOLDEN_YAML, Run

FIRST, SECOND, THIRD = "c000-0000", "c001-0000", "c002-0000"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Two callers hold both slots from 2 s on; a third has begun a call."""
    run = Run(tmp_path / "run")
    for caller, call in enumerate((FIRST, SECOND, THIRD)):
        run.start_call(1.0, call, caller)
    run.connect(2.0, FIRST, ready_s=2.5)
    run.connect(2.0, SECOND, ready_s=2.5)
    return run


def refused(run: Run, at_s: float, call: str = THIRD, connection: int = 0, code: str = "resource_exhausted") -> None:
    """A connect half a second before `at_s` is refused then."""
    run.connect(at_s - 0.5, call, connection=connection)
    run.refuse(at_s, call, connection=connection, code=code)


def test_a_run_without_refusals_passes(run: Run) -> None:
    result = result_of(Refusals, run.history())
    assert (result.verdict, result.summary) == (Verdict.PASS, "no new session was refused")


def test_a_refusal_while_all_slots_are_held_is_right(run: Run) -> None:
    refused(run, 5.0)
    result = result_of(Refusals, run.history())
    assert (result.verdict, result.summary) == (Verdict.PASS, "1 refusals, all while every slot could be held")


def test_a_refusal_before_the_slots_are_taken_is_wrong(run: Run) -> None:
    refused(run, 1.5)
    result = result_of(Refusals, run.history())
    assert result.verdict is Verdict.FAIL
    assert result.summary == "1 of 1 refusals came while a slot was free"
    assert result.findings[0].text == "c002-0000 was refused (resource_exhausted) while at most 0 of 2 slots were held"
    assert result.findings[0].at_s == 1.5


@pytest.mark.parametrize(
    ("at_s", "verdict"),
    [
        pytest.param(40.0, Verdict.PASS, id="within grace"),
        pytest.param(47.9, Verdict.PASS, id="within grace, reaper and margin: 10 + 38 = 48 s"),
        pytest.param(48.1, Verdict.FAIL, id="after them"),
    ],
)
def test_a_dropped_session_holds_its_slot_for_grace_and_reaper(run: Run, at_s: float, verdict: Verdict) -> None:
    run.close(10.0, FIRST)
    refused(run, at_s)
    assert result_of(Refusals, run.history()).verdict is verdict


def test_a_refused_connection_holds_no_slot(run: Run) -> None:
    run.close(10.0, FIRST)
    refused(run, 20.0, connection=0)  # right: the slot of the first caller is in its grace
    refused(run, 60.0, connection=1)  # wrong: only the second caller holds one; the refusal at 20 s does not count
    result = result_of(Refusals, run.history())
    assert result.verdict is Verdict.FAIL
    assert result.findings[0].text.endswith("while at most 1 of 2 slots were held")


def test_a_resumed_session_goes_on_holding_the_one_slot_it_had(run: Run) -> None:
    run.close(10.0, FIRST)
    run.connect(11.0, FIRST, connection=1, why=Connect.RESUME, ready_s=11.5, resumed=True)
    refused(run, 90.0)  # both sessions are still open
    assert result_of(Refusals, run.history()).verdict is Verdict.PASS


def test_a_resumed_session_does_not_count_twice(run: Run) -> None:
    run.close(10.0, FIRST)
    run.connect(11.0, FIRST, connection=1, why=Connect.RESUME, ready_s=11.5, resumed=True)
    run.close(12.0, SECOND)
    refused(run, 90.0)  # the second caller's slot is free since 50 s; the first caller's session is one, not two
    result = result_of(Refusals, run.history())
    assert result.verdict is Verdict.FAIL
    assert "at most 1 of 2" in result.findings[0].text


def test_a_refused_attempt_does_not_hide_the_resume_that_follows_it(run: Run) -> None:
    run.close(10.0, FIRST)
    refused(run, 11.0, FIRST, connection=1)
    run.connect(12.0, FIRST, connection=2, why=Connect.RESUME, ready_s=12.5, resumed=True)
    refused(run, 90.0)
    assert result_of(Refusals, run.history()).verdict is Verdict.PASS


def test_a_new_session_after_the_drop_is_a_second_slot(run: Run) -> None:
    run.close(10.0, FIRST)
    run.close(10.0, SECOND)
    run.connect(11.0, FIRST, connection=1, why=Connect.NEW_SESSION, ready_s=11.5)
    refused(run, 30.0)  # two dropped sessions in their grace and a new one
    assert result_of(Refusals, run.history()).verdict is Verdict.PASS


@pytest.mark.parametrize("code", ["resync_required", "session_resume_expired", "resource_exhausted"])
def test_a_refused_resume_is_judged_by_another_check(run: Run, code: str) -> None:
    run.close(10.0, FIRST)
    run.close(10.0, SECOND)
    run.connect(79.5, FIRST, connection=1, why=Connect.RESUME)
    run.refuse(80.0, FIRST, connection=1, code=code)
    result = result_of(Refusals, run.history())
    assert result.verdict is Verdict.PASS
    assert result.summary == "no new session was refused; 1 refused resumes are judged by `resume`"


def test_refusals_of_a_server_whose_limits_are_not_known_are_unknown(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", pipeline=EXTERNAL_YAML)
    run.start_call(1.0, THIRD)
    refused(run, 5.0)
    assert result_of(Refusals, run.history()).verdict is Verdict.UNKNOWN


def test_the_limits_of_a_golden_server_are_known(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", pipeline=GOLDEN_YAML)
    run.start_call(1.0, THIRD)
    refused(run, 5.0)
    result = result_of(Refusals, run.history())
    assert result.verdict is Verdict.FAIL
    assert result.findings[0].text.endswith("while at most 0 of 2 slots were held")
