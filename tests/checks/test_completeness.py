"""Completeness: anything short of what was planned, required or recorded makes the run unknown, never pass."""

import json
from pathlib import Path

import pytest

from rig.checks.completeness import Completeness
from rig.events.bus import EventsFilled, ProducerIncomplete, ProducerState, ProducerStatus
from rig.events.types import Act, Connect, EndReason
from rig.fold import result_of
from rig.measure.totals import TotalsFold
from rig.verdict import Verdict
from tests.builders import RUN_YAML, Run, edited


def whole_run(folder: Path, run: str = RUN_YAML) -> Run:
    """One call with a reply cut by response.cancel, and a return with a new session that got first audio."""
    made = Run(folder, run=run)
    made.ready(1.0)
    made.start_call(2.0)
    made.connect(2.0, ready_s=2.5)
    made.audio(4.0)
    made.act(4.5, Act.BARGE_IN_CANCEL)
    made.server_says(4.6, "response.done", "cancelled")
    made.act(5.0, Act.HANG_UP_RST, turn=1)
    made.close(5.0)
    made.connect(5.0, connection=1, why=Connect.NEW_SESSION, ready_s=5.5)
    made.audio(8.0, connection=1, turn=2, response_id="r1")
    return made


def requiring(**least: int) -> str:
    """RUN_YAML with other requirements."""
    return edited(RUN_YAML, sessions=f"1\n  {json.dumps(least)[1:-1]}".replace('"', "").replace(", ", "\n  "))


def test_a_run_that_met_its_requirements_passes(tmp_path: Path) -> None:
    run = whole_run(tmp_path / "run", requiring(cut_replies=1, returns=1))
    run.stop()
    result = result_of(Completeness, run.history())
    assert result.verdict is Verdict.PASS
    assert result.summary == "2 sessions, 1 replies cut by 1 barge-ins, 1 returns got first audio"


@pytest.mark.parametrize(
    ("run_yaml", "told"),
    [
        (edited(RUN_YAML, sessions=3), "2 sessions, the run requires 3"),
        (requiring(cut_replies=2), "1 cut replies, the run requires 2"),
        (requiring(returns=2), "1 returns, the run requires 2"),
    ],
)
def test_a_run_short_of_a_requirement_is_unknown(tmp_path: Path, run_yaml: str, told: str) -> None:
    run = whole_run(tmp_path / "run", run_yaml)
    run.stop()
    result = result_of(Completeness, run.history())
    assert (result.verdict, result.summary) == (Verdict.UNKNOWN, told)


def test_a_resumed_session_is_no_new_one(tmp_path: Path) -> None:
    run = whole_run(tmp_path / "run")
    run.close(9.0, connection=1)
    run.connect(9.5, connection=2, why=Connect.RESUME, ready_s=10.0, resumed=True)
    assert result_of(TotalsFold, run.history()).sessions == 2


def test_a_barge_in_into_a_reply_that_had_ended_cuts_nothing(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    run.act(4.5, Act.BARGE_IN_SPEECH)
    run.server_says(4.6, "response.done", "completed")
    assert result_of(TotalsFold, run.history()).cut_replies == 0


def test_a_return_without_audio_is_none(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    run.connect(5.0, connection=1, why=Connect.NEW_SESSION, ready_s=5.5)
    assert result_of(TotalsFold, run.history()).returns == 0


def test_a_rig_that_died_is_unknown(tmp_path: Path) -> None:
    run = whole_run(tmp_path / "run")
    result = result_of(Completeness, run.history(closed=False))
    assert result.verdict is Verdict.UNKNOWN
    assert [finding.text for finding in result.findings] == [
        "the run has no end: the rig itself died",
        "callers.jsonl: its writer did not end in order",
        "rig.jsonl: its writer did not end in order",
        "1 call has no end, its caller was lost: c000-0000",
    ]


@pytest.mark.parametrize("reason", [reason for reason in EndReason if reason is not EndReason.PLANNED])
def test_a_run_that_ended_early_is_unknown(tmp_path: Path, reason: EndReason) -> None:
    run = whole_run(tmp_path / "run")
    run.stop(reason=reason, detail="why")
    result = result_of(Completeness, run.history())
    assert (result.verdict, result.summary) == (Verdict.UNKNOWN, f"the run ended early: {reason}, why")


def test_callers_who_made_no_call_are_named(tmp_path: Path) -> None:
    run = whole_run(tmp_path / "run", edited(RUN_YAML, callers=4))
    run.start_call(2.0, "c002-0000", caller=2)
    run.stop()
    result = result_of(Completeness, run.history())
    assert (result.verdict, result.summary) == (Verdict.UNKNOWN, "callers [1, 3] of 4 made no call")


def test_a_line_lost_from_a_journal_is_unknown(tmp_path: Path) -> None:
    run = whole_run(tmp_path / "run")
    run.stop()
    run.history()
    lines = run.path("callers").read_bytes().splitlines(keepends=True)
    # Line 8 is cut short and line 9 is gone: both are missing, one is unreadable.
    run.path("callers").write_bytes(b"".join([*lines[:7], lines[7][:10] + b"\n", *lines[9:]]))
    result = result_of(Completeness, run.history())
    assert result.verdict is Verdict.UNKNOWN
    assert "callers.jsonl: 2 events missing, 1 lines unreadable" in [finding.text for finding in result.findings]


def test_a_file_that_is_no_journal_is_unknown(tmp_path: Path) -> None:
    run = whole_run(tmp_path / "run")
    run.stop()
    run.path("other").write_text("hello\n")
    assert "other.jsonl does not begin with a journal header" in result_of(Completeness, run.history()).summary


def test_journals_of_two_hosts_do_not_compare(tmp_path: Path) -> None:
    run = whole_run(tmp_path / "run")
    run.stop()
    run.history()
    header, rest = run.path("callers").read_bytes().split(b"\n", 1)
    foreign = json.loads(header) | {"boot_id": "another"}
    run.path("callers").write_bytes(json.dumps(foreign).encode() + b"\n" + rest)
    result = result_of(Completeness, run.history())
    assert result.verdict is Verdict.UNKNOWN
    assert result.summary == "the journals come from 2 boots or hosts: their times do not compare"


def test_a_call_that_cannot_be_judged_is_unknown(tmp_path: Path) -> None:
    run = whole_run(tmp_path / "run")
    run.close(6.0, "c000-0001")
    run.stop()
    result = result_of(Completeness, run.history())
    assert (result.verdict, result.summary) == (
        Verdict.UNKNOWN,
        "1 calls cannot be judged: their first event is lost",
    )


def test_an_open_load_whose_calls_did_not_all_begin_is_unknown(tmp_path: Path) -> None:
    pause = "  pause_s: {low: 0.1, high: 0.2}\n"
    run = Run(tmp_path / "run", run=RUN_YAML.replace(pause, "  arrivals: {kind: constant, rate: 0.2}\n"))
    run.ready(1.0)
    run.start_call(2.0, "o000000")
    run.connect(2.0, "o000000", ready_s=2.5)
    run.stop()
    result = result_of(Completeness, run.history())
    assert (result.verdict, result.summary) == (Verdict.UNKNOWN, "1 of 2 planned calls never began: o000001")


def test_a_producer_that_stayed_short_makes_the_run_unknown_under_its_name(tmp_path: Path) -> None:
    run = whole_run(tmp_path / "run")
    run.rig(9.0, ProducerIncomplete, producer="caller-far", role="caller", why="it did not end")
    run.stop()
    result = result_of(Completeness, run.history())
    assert result.verdict is Verdict.UNKNOWN
    assert result.summary == "caller-far is not complete: it did not end"


def test_a_producer_that_was_short_and_whose_whole_journal_was_brought_since_is_complete(tmp_path: Path) -> None:
    run = whole_run(tmp_path / "run")
    run.rig(9.0, ProducerIncomplete, producer="callers", role="callers", why="it did not end")
    run.stop()
    assert result_of(Completeness, run.history()).verdict is Verdict.PASS


def test_a_producer_that_was_announced_and_of_which_nothing_is_here_makes_the_run_unknown(tmp_path: Path) -> None:
    run = whole_run(tmp_path / "run")
    online = {"role": "caller", "host": "far", "pid": 9, "state": ProducerState.ONLINE}
    run.rig(2.0, ProducerStatus, producer="caller-far", **online)
    run.stop()
    assert result_of(Completeness, run.history()).summary == "caller-far was announced and nothing of it is here"


def test_what_was_filled_from_the_spool_is_said_and_changes_no_verdict(tmp_path: Path) -> None:
    run = whole_run(tmp_path / "run")
    run.rig(9.0, EventsFilled, producer="callers", events=12, size_bytes=900)
    run.stop()
    result = result_of(Completeness, run.history())
    assert result.verdict is Verdict.PASS
    assert result.summary.endswith("; 12 events of callers filled from the spool, none lost")
