"""Turn identity: no reply and no session is another's, by id and by what the sound itself says."""

from pathlib import Path

import pytest

from rig.checks.turn_identity import STREAMS_APART, TurnIdentity
from rig.events.types import Connect, MarkRun, Outcome
from rig.fold import result_of
from rig.verdict import CheckResult, Verdict
from tests.builders import EXTERNAL_YAML, Run

OWN, NEW = 11, 22


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A call with one session and one reply, its stream 0."""
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    run.connect(2.0, ready_s=2.5, voice=OWN)
    reply(run, 5.0, "r0", stream=0)
    return run


def reply(
    run: Run, at_s: float, response_id: str, *, stream: int, voice: int = OWN, connection: int = 0, turn: int = 0
) -> None:
    """A response is created and its first chunk is heard."""
    run.server_says(at_s, "response.created", turn=turn, response_id=response_id, connection=connection)
    marks = [MarkRun(voice, stream, 0, 1)]
    run.audio(at_s + 0.1, turn=turn, connection=connection, response_id=response_id, marks=marks)


def judged(run: Run) -> CheckResult:
    return result_of(TurnIdentity, run.history())


def test_replies_of_their_own_turns_pass(run: Run) -> None:
    reply(run, 9.0, "r1", stream=1, turn=1)
    assert (judged(run).verdict, judged(run).summary) == (Verdict.PASS, "2 replies, each of its own turn and session")


def test_a_reply_that_nobody_asked_for_is_counted_and_no_fault(run: Run) -> None:
    reply(run, 9.0, "r1", stream=1, turn=-1)
    assert judged(run).summary == "2 replies, each of its own turn and session; 1 answered no turn"


def test_a_response_id_of_two_sessions_fails(run: Run) -> None:
    run.start_call(3.0, "c001-0000", caller=1)
    run.connect(3.0, "c001-0000", ready_s=3.5, session_id="t", voice=NEW)
    run.audio(6.0, "c001-0000", response_id="r0", marks=[MarkRun(NEW, 1, 0, 1)])
    result = judged(run)
    assert result.verdict is Verdict.FAIL
    assert {"response r0 came in the sessions s and t", "response r0 came in the sessions t and s"} & {
        finding.text.partition(": ")[2] for finding in result.findings
    }


def test_a_response_that_is_created_twice_fails(run: Run) -> None:
    run.server_says(9.0, "response.created", response_id="r0")
    assert judged(run).findings[0].text == "c000-0000: response r0 was created twice"


def test_a_creation_that_a_resume_replays_is_the_same_one(run: Run) -> None:
    run.server_says(9.0, "response.created", response_id="r1", server_seq=5)
    run.server_says(9.5, "response.created", response_id="r1", server_seq=5)
    assert judged(run).verdict is Verdict.PASS


def test_one_response_for_two_turns_fails(run: Run) -> None:
    run.turn_ended(6.0, Outcome.DONE, turn=0)
    run.turn_ended(9.0, Outcome.DONE, turn=1)
    finding = judged(run).findings[0]
    assert (finding.text, finding.at_s) == ("c000-0000: response r0 answered the turns 0 and 1", 9.0)


def test_the_reply_to_the_previous_turn_after_a_resume_fails(run: Run) -> None:
    run.connect(7.0, connection=1, why=Connect.RESUME, ready_s=7.5, resumed=True, generation=2, voice=OWN)
    reply(run, 9.0, "r1", stream=0, connection=1, turn=1)
    result = judged(run)
    assert result.verdict is Verdict.FAIL
    assert result.findings[0].text == (
        "c000-0000: response r1 (turn 1) is the reply r0 (turn 0) again: both are stream 0"
    )


def test_a_reply_that_goes_on_after_a_resume_is_one_reply(run: Run) -> None:
    run.connect(7.0, connection=1, why=Connect.RESUME, ready_s=7.5, resumed=True, generation=2, voice=OWN)
    run.audio(8.0, connection=1, marks=[MarkRun(OWN, 0, 1, 1)])
    assert judged(run).summary == "1 replies, each of its own turn and session"


def test_the_old_turns_reply_in_a_new_session_fails(run: Run) -> None:
    run.connect(7.0, connection=1, why=Connect.NEW_SESSION, ready_s=7.5, session_id="t", voice=NEW)
    reply(run, 9.0, "r1", stream=1, voice=OWN, connection=1, turn=1)
    text = judged(run).findings[0].text
    assert text == "c000-0000: response r1 is in the voice of a session that the caller has left"


def test_two_streams_in_one_response_fail(run: Run) -> None:
    run.audio(6.0, marks=[MarkRun(OWN, 3, 0, 1)])
    assert judged(run).findings[0].text == "c000-0000: response r0 holds two replies: streams 0 and 3"


@pytest.mark.parametrize(("between", "verdict"), [(STREAMS_APART - 1, Verdict.FAIL), (STREAMS_APART, Verdict.PASS)])
def test_a_stream_number_may_come_again_after_many_replies_of_others(run: Run, between: int, verdict: Verdict) -> None:
    run.start_call(3.0, "c001-0000", caller=1)
    run.connect(3.0, "c001-0000", ready_s=3.5, session_id="t", voice=NEW)
    for index in range(between):
        run.audio(6.0, "c001-0000", response_id=f"x{index}", marks=[MarkRun(NEW, 1 + index, 0, 1)])
    reply(run, 9.0, "r1", stream=0, turn=1)
    assert judged(run).verdict is verdict


def test_a_session_id_that_is_given_twice_fails(run: Run) -> None:
    run.start_call(3.0, "c001-0000", caller=1)
    run.connect(3.0, "c001-0000", ready_s=3.5, session_id="s", voice=NEW)
    assert "session s was given to" in judged(run).findings[0].text


def test_resuming_a_session_of_somebody_else_fails(run: Run) -> None:
    run.connect(7.0, connection=1, why=Connect.RESUME, ready_s=7.5, resumed=True, session_id="t")
    assert judged(run).findings[0].text == "c000-0000: session t was resumed, which the caller never had"


def test_without_marks_ids_alone_are_compared(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", pipeline=EXTERNAL_YAML)
    run.start_call(2.0)
    run.connect(2.0, ready_s=2.5)
    run.audio(5.0)
    assert judged(run).summary.endswith("compared by id only, this sound carries no marks")


def test_a_run_without_a_reply_is_unknown(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    assert judged(run).verdict is Verdict.UNKNOWN
