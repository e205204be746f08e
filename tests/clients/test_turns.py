"""Which turn a response belongs to."""

from clients.turns import NO_TURN, Turn, Turns
from rig.events.types import Outcome


def spoken(turns: Turns, offset_ms: int = 0, session: int = 0) -> Turn:
    turn = turns.begin("short", session)
    turn.started_ns = offset_ms
    turn.offset_ms = offset_ms
    turn.spoken_ns = offset_ms + 1_000
    return turn


def test_a_response_answers_the_newest_speech_that_the_server_heard_to_its_end() -> None:
    turns = Turns()
    first, second = spoken(turns), spoken(turns, 5_000)
    turns.speech_stopped(0, 1_500)
    assert turns.answered_by_next(0) is first
    turns.speech_stopped(0, 6_500)
    assert turns.answered_by_next(0) is second


def test_a_late_end_of_speech_is_not_taken_for_that_of_the_next_speech() -> None:
    turns = Turns()
    first, second = spoken(turns), spoken(turns, 2_000)
    turns.speech_stopped(0, 1_700)
    assert first.heard
    assert not second.heard


def test_without_a_report_of_the_server_what_was_spoken_to_its_end_counts() -> None:
    turns = Turns()
    first = spoken(turns)
    speaking = turns.begin("short", 0)
    speaking.started_ns = 1
    assert turns.answered_by_next(0) is first


def test_a_response_nobody_asked_for_belongs_to_no_turn() -> None:
    turns = Turns()
    assert turns.answered_by_next(0) is None
    turn = spoken(turns)
    turn.response_id = "running"
    assert turns.answered_by_next(0) is None
    turn.outcome = Outcome.DONE
    assert turns.answered_by_next(0) is None


def test_a_new_session_knows_nothing_of_the_old_ones_turns() -> None:
    turns = Turns()
    spoken(turns, session=0)
    assert turns.answered_by_next(1) is None


def test_a_response_without_sound_leaves_the_turn_open_for_the_next_one() -> None:
    turns = Turns()
    turn = spoken(turns)
    turn.response_id = "silent"
    assert turns.ended(turn, "completed") is None
    assert turns.answered_by_next(0) is turn


def test_the_status_of_the_terminal_event_is_the_outcome() -> None:
    turns = Turns()
    outcomes = {}
    for status in ("completed", "cancelled", "failed"):
        turn = spoken(turns)
        turn.samples = 24
        outcomes[status] = turns.ended(turn, status)
    assert outcomes == {"completed": Outcome.DONE, "cancelled": Outcome.CUT, "failed": Outcome.NO_END}


def test_a_turn_counts_once_it_is_begun_aloud() -> None:
    turns = Turns()
    turn = turns.begin("short", 0)
    assert turns.last_index == NO_TURN
    assert turns.open() == []
    turn.started_ns = 1
    assert turns.last_index == 0
    assert turns.open() == [turn]
