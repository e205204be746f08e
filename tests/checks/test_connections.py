"""Connections: what the server ended or would not take fails; a refusal is judged elsewhere."""

from pathlib import Path

import pytest

from rig.checks.connections import Connections
from rig.events import types as ev
from rig.events.types import ClosedBy
from rig.fold import result_of
from rig.verdict import Verdict
from tests.builders import Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    run.connect(2.0, ready_s=2.5)
    run.stop(100.0)
    return run


def test_connections_that_the_caller_ended_pass(run: Run) -> None:
    run.close(9.0)
    result = result_of(Connections, run.history())
    assert (result.verdict, result.summary) == (Verdict.PASS, "none of 1 sessions was ended by the server")


@pytest.mark.parametrize(
    ("by", "code", "told"),
    [
        (ClosedBy.SERVER_CLOSE_FRAME, 1011, "c000-0000: server_close_frame with code 1011 busy"),
        (ClosedBy.SERVER_EOF, None, "c000-0000: server_eof without a close frame busy"),
        (ClosedBy.SERVER_RESET, None, "c000-0000: server_reset without a close frame busy"),
    ],
)
def test_a_connection_that_the_server_ended_fails(run: Run, by: ClosedBy, code: int | None, told: str) -> None:
    run.close(9.0, by=by, code=code, reason="busy")
    result = result_of(Connections, run.history())
    assert result.verdict is Verdict.FAIL
    assert result.summary == "1 connections were lost or not taken, the first at 9.0 s"
    assert result.findings[0].text == told


def test_a_connection_that_was_not_taken_fails(run: Run) -> None:
    run.call(9.0, ev.ConnectFailed, connection=1, reason="connection refused")
    assert result_of(Connections, run.history()).findings[0].text == "c000-0000: connection refused"


def test_a_close_after_a_refusal_is_no_loss(run: Run) -> None:
    run.refuse(8.0, "c000-0000", connection=1)
    run.close(8.1, connection=1, by=ClosedBy.SERVER_CLOSE_FRAME, code=1000)
    run.call(8.2, ev.ConnectFailed, connection=1, reason="refused")
    assert result_of(Connections, run.history()).verdict is Verdict.PASS


def test_errors_of_the_server_are_counted_and_the_first_is_told(run: Run) -> None:
    run.server_says(20.0, "error", "later: no")
    run.server_says(9.0, "error", "response_not_active: Response is already complete")
    run.refuse(10.0, "c000-0000", connection=1)
    run.server_says(10.0, "error", "resource_exhausted: full", connection=1)
    result = result_of(Connections, run.history())
    assert result.verdict is Verdict.PASS
    assert result.summary.endswith(
        "; 2 errors told by the server, e.g. response_not_active: Response is already complete"
    )


def test_the_first_loss_is_the_first_in_time(run: Run) -> None:
    run.start_call(2.1, "c001-0000", caller=1)
    run.close(20.0, "c000-0000", by=ClosedBy.SERVER_EOF)
    run.close(10.0, "c001-0000", by=ClosedBy.SERVER_EOF)
    assert result_of(Connections, run.history()).summary == "2 connections were lost or not taken, the first at 10.0 s"


def test_surprises_in_the_protocol_are_told_and_do_not_fail(run: Run) -> None:
    run.call(3.0, ev.Surprise, what="unknown event session.dance")
    result = result_of(Connections, run.history())
    assert result.verdict is Verdict.PASS
    assert result.summary.endswith("; 1 surprises in the protocol, e.g. unknown event session.dance")


def test_a_run_without_a_session_is_unknown(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    assert result_of(Connections, run.history()).verdict is Verdict.UNKNOWN


def test_what_is_lost_after_the_rig_died_is_unknown_and_no_fault_of_the_server(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    run.connect(2.0, ready_s=2.5)
    run.rig(8.0, ev.HealthProbed, status=200, latency_ns=1_000_000, error=None)
    run.close(9.0, by=ClosedBy.SERVER_CLOSE_FRAME, code=1012)
    result = result_of(Connections, run.history(closed=False))
    assert result.verdict is Verdict.UNKNOWN
    assert "until the rig died at 8.0 s" in result.summary
