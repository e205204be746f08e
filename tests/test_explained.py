"""A known server error is excused only by a caller who hung up before there was a session, one for one."""

from pathlib import Path

import pytest

from rig.checks.liveness import Liveness
from rig.events import types as ev
from rig.fold import result_of
from rig.verdict import Verdict
from tests.builders import Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run(tmp_path / "run")
    run.ready(1.0)
    run.start_call(2.0)
    return run


def logs(run: Run, at_s: float, signature: str = "read_after_disconnect", left_out: int = 0) -> None:
    fields = {"signature": signature, "stage": "api_server", "line": "WebSocketDisconnected", "expected": False}
    run.rig(at_s, ev.LogSignature, **fields, left_out=left_out)


def verdict(run: Run) -> Verdict:
    run.stop()
    return result_of(Liveness, run.history()).verdict


def test_after_a_hang_up_before_the_session_was_ready_it_is_counted_and_passes(run: Run) -> None:
    run.connect(3.0)
    run.act(3.1, ev.Act.HANG_UP_RST)
    logs(run, 3.2)
    run.stop()
    result = result_of(Liveness, run.history())
    assert result.verdict is Verdict.PASS
    assert result.summary == "no process of the server died; known and without harm: 1 x read_after_disconnect"


def test_after_a_hang_up_of_a_ready_session_it_is_a_fault(run: Run) -> None:
    run.connect(3.0, ready_s=3.05)
    run.act(3.1, ev.Act.HANG_UP_RST)
    logs(run, 3.2)
    assert verdict(run) is Verdict.FAIL


def test_without_any_hang_up_it_is_a_fault(run: Run) -> None:
    run.connect(3.0, ready_s=3.05)
    run.act(3.1, ev.Act.BARGE_IN_CANCEL)
    logs(run, 3.2)
    assert verdict(run) is Verdict.FAIL


@pytest.mark.parametrize("at_s", [2.9, 14.0])
def test_before_or_long_after_the_hang_up_it_is_a_fault(run: Run, at_s: float) -> None:
    run.connect(3.0)
    run.act(3.1, ev.Act.HANG_UP_FIN)
    logs(run, at_s)
    assert verdict(run) is Verdict.FAIL


def test_one_hang_up_excuses_one_error(run: Run) -> None:
    run.connect(3.0)
    run.act(3.1, ev.Act.HANG_UP_CLOSE)
    logs(run, 3.2)
    logs(run, 3.3)
    assert verdict(run) is Verdict.FAIL


def test_errors_left_out_of_a_storm_need_excuses_too(run: Run) -> None:
    run.connect(3.0)
    run.act(3.1, ev.Act.HANG_UP_CLOSE)
    logs(run, 3.2, left_out=1)
    assert verdict(run) is Verdict.FAIL


def test_no_other_error_is_excused(run: Run) -> None:
    run.connect(3.0)
    run.act(3.1, ev.Act.HANG_UP_RST)
    logs(run, 3.2, "traceback")
    assert verdict(run) is Verdict.FAIL
