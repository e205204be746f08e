"""Whole calls against a server on a real socket, judged by the events they record.

Calls take real time, so all of them are played at once, each against a server of its own; the tests read the journals.
"""

from itertools import pairwise

import pytest

from clients.line import NotDuplexError
from clients.turns import NO_TURN
from rig.clock import NS_PER_S
from rig.events.types import (
    Act,
    ActTaken,
    AudioReceived,
    CallEnded,
    CallStarted,
    ClosedBy,
    Connect,
    Connected,
    ConnectFailed,
    ConnectionClosed,
    ConnectStarted,
    FramesSent,
    Outcome,
    Refused,
    ServerEvent,
    SessionReady,
    Surprise,
    TurnEnded,
    UtteranceEnded,
    UtteranceStarted,
)
from rig.ids import call_id, voice
from tests.clients.calls import CASES, DEADLINES, SEED, Played, play_all


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Played]:
    return play_all(tmp_path_factory.mktemp("calls"))


@pytest.mark.parametrize("name", CASES)
def test_every_call_begins_ends_and_leaves_a_whole_journal(played: dict[str, Played], name: str) -> None:
    call = played[name]
    assert len(call.of(CallStarted)) == 1
    assert isinstance(call.events[-1], CallEnded)
    assert (call.damage.closed, call.damage.missing, call.damage.bad_lines) == (True, 0, ())
    connected = [event.connection for event in call.of(Connected)]
    assert [event.connection for event in call.of(ConnectionClosed)] == connected


def test_a_polite_call_waits_for_each_reply_and_says_goodbye(played: dict[str, Played]) -> None:
    call = played["polite"]
    assert call.outcome() is Outcome.DONE
    assert call.turns() == [(0, Outcome.DONE), (1, Outcome.DONE)]
    assert call.acts() == [Act.SAY_GOODBYE]
    assert [(event.by, event.code) for event in call.of(ConnectionClosed)] == [(ClosedBy.CALLER, 1000)]
    (first, second) = call.of(UtteranceStarted)
    assert first.t_ns < call.of(TurnEnded)[0].t_ns < second.t_ns
    assert call.server.types()[-1] == "session.close"
    assert call.server.sessions == {}


def test_a_polite_caller_speaks_only_when_the_reply_has_been_played(played: dict[str, Played]) -> None:
    call = played["polite"]
    chunks = [event for event in call.of(AudioReceived) if event.turn == 0]
    played_ns = sum(chunk.samples for chunk in chunks) * NS_PER_S // 24_000
    assert call.of(UtteranceStarted)[1].t_ns >= chunks[0].t_ns + played_ns


def test_frames_go_out_every_100_ms_from_first_to_last(played: dict[str, Played]) -> None:
    call = played["polite"]
    records = call.of(FramesSent)
    for before, after in pairwise(records):
        assert after.first_planned_ns == before.first_planned_ns + len(before.slips_us) * before.interval_ns
    assert min(slip for record in records for slip in record.slips_us) >= 0
    assert call.server.types().count("input_audio_buffer.append") == sum(len(record.slips_us) for record in records)


def test_audio_is_recorded_with_the_marks_of_the_sessions_own_voice(played: dict[str, Played]) -> None:
    call = played["polite"]
    own = voice(SEED, call_id(0, 0), 0)
    assert [event.voice for event in call.of(SessionReady)] == [own]
    runs = [run for event in call.of(AudioReceived) if event.turn == 0 for run in event.marks]
    assert {run.voice for run in runs} == {own}
    assert [(run.first, run.count) for run in runs] == [(0, 5), (5, 5), (10, 5), (15, 5)]
    assert sum(event.unreadable for event in call.of(AudioReceived)) == 0


def test_events_and_playback_are_acknowledged(played: dict[str, Played]) -> None:
    received = played["polite"].server.received
    acked = [message["server_event_seq"] for message in received if message["type"] == "session.event_ack"]
    assert acked == sorted(set(acked))
    assert acked
    played_ms = [message["played_ms"] for message in received if message["type"] == "playback.ack"]
    assert max(played_ms) == 800


def test_a_cancelled_reply_is_cut_and_the_next_turn_is_answered(played: dict[str, Played]) -> None:
    call = played["cancel"]
    assert call.turns() == [(0, Outcome.CUT), (1, Outcome.DONE)]
    (act, _) = call.of(ActTaken)
    assert act.act is Act.BARGE_IN_CANCEL
    assert act.after_audio_ms is not None
    assert act.after_audio_ms >= 300
    (cancel,) = (message for message in call.server.received if message["type"] == "response.cancel")
    assert cancel["response_id"] == call.of(TurnEnded)[0].response_id


def test_speech_over_a_reply_cuts_it_and_is_answered_as_a_turn_of_its_own(played: dict[str, Played]) -> None:
    call = played["speech"]
    assert call.turns() == [(0, Outcome.CUT), (1, Outcome.DONE)]
    act = call.of(ActTaken)[0]
    assert (act.act, act.turn) == (Act.BARGE_IN_SPEECH, 0)
    assert act.planned_ns == call.of(UtteranceStarted)[1].planned_ns
    cut = next(event for event in call.of(ServerEvent) if event.name == "response.done")
    assert (cut.turn, cut.detail) == (0, "cancelled: turn_detected")
    assert [event.turn for event in call.of(UtteranceEnded)] == [0, 1]


def test_a_reply_shorter_than_the_moment_of_the_barge_in_is_left_alone(played: dict[str, Played]) -> None:
    call = played["reply_too_short_to_interrupt"]
    assert call.acts() == [Act.SAY_GOODBYE]
    assert call.turns() == [(0, Outcome.DONE)]


def test_a_reply_that_goes_on_when_spoken_over_has_no_end(played: dict[str, Played]) -> None:
    call = played["ignores_cancel"]
    assert call.outcome() is Outcome.NO_END
    assert call.turns()[0] == (0, Outcome.NO_END)


def sound_after_goodbye(call: Played) -> int:
    kinds = [message["type"] for message in call.server.received]
    return kinds[kinds.index("session.close") :].count("input_audio_buffer.append")


def test_sound_may_go_on_after_the_goodbye_for_as_long_as_the_script_says(played: dict[str, Played]) -> None:
    call = played["late_sound"]
    assert call.outcome() is Outcome.DONE
    assert call.acts() == [Act.SAY_GOODBYE, Act.LATE_SOUND]
    assert sound_after_goodbye(call) == 5
    assert [event.by for event in call.of(ConnectionClosed)] == [ClosedBy.CALLER]
    assert call.of(Surprise) == []


def test_sound_after_the_goodbye_ends_with_the_session(played: dict[str, Played]) -> None:
    call = played["late_sound_cut_short"]
    assert call.outcome() is Outcome.DONE
    assert 1 <= sound_after_goodbye(call) < 20
    assert call.of(Surprise) == []


def test_hanging_up_before_created_leaves_nothing_to_resume_and_says_so(played: dict[str, Played]) -> None:
    call = played["before_created"]
    assert call.outcome() is Outcome.DONE
    assert call.acts() == [Act.HANG_UP_RST, Act.SAY_GOODBYE]
    assert call.of(ActTaken)[0].turn == NO_TURN
    assert call.connects() == [Connect.FIRST, Connect.NEW_SESSION]
    assert "nothing to resume" in call.of(ConnectStarted)[1].detail
    assert [event.connection for event in call.of(SessionReady)] == [1]
    assert call.turns() == [(0, Outcome.DONE)]


@pytest.mark.parametrize(
    ("name", "act"), [("while_speaking_new", Act.HANG_UP_FIN), ("during_reply_new", Act.HANG_UP_CLOSE)]
)
def test_a_caller_who_comes_back_anew_abandons_the_turn_and_speaks_again(
    played: dict[str, Played], name: str, act: Act
) -> None:
    call = played[name]
    assert call.outcome() is Outcome.DONE
    assert call.acts() == [act, Act.SAY_GOODBYE]
    assert call.connects() == [Connect.FIRST, Connect.NEW_SESSION]
    assert call.turns() == [(0, Outcome.ABANDONED), (1, Outcome.DONE)]
    assert [event.resumed for event in call.of(SessionReady)] == [False, False]
    voices = [event.voice for event in call.of(SessionReady)]
    assert voices == [voice(SEED, call_id(0, 0), index) for index in (0, 1)]
    heard = {run.voice for event in call.of(AudioReceived) if event.connection == 1 for run in event.marks}
    assert heard == {voices[1]}


def test_a_caller_comes_back_at_once(played: dict[str, Played]) -> None:
    call = played["while_speaking_new"]
    hung_up, back = call.of(ConnectionClosed)[0], call.of(ConnectStarted)[1]
    assert hung_up.by is ClosedBy.CALLER
    between = [event for event in call.events if hung_up.seq < event.seq < back.seq]
    assert [type(event) for event in between] == [TurnEnded]


def test_speech_that_was_cut_off_is_abandoned_also_by_a_caller_who_resumes(played: dict[str, Played]) -> None:
    call = played["while_speaking_resume"]
    assert call.turns() == [(0, Outcome.ABANDONED), (1, Outcome.DONE)]
    assert [event.resumed for event in call.of(SessionReady)] == [False, True]


@pytest.mark.parametrize("name", ["awaiting_resume", "during_reply_resume"])
def test_a_resumed_session_goes_on_with_its_reply(played: dict[str, Played], name: str) -> None:
    call = played[name]
    assert call.turns() == [(0, Outcome.DONE), (1, Outcome.DONE)]
    assert call.connects() == [Connect.FIRST, Connect.RESUME]
    first, again = call.of(SessionReady)
    assert (again.resumed, again.session_id, again.generation) == (True, first.session_id, 2)
    runs = [run for event in call.of(AudioReceived) if event.turn == 0 for run in event.marks]
    assert [run.first for run in runs] == [5 * index for index in range(len(runs))]
    rest = [event for event in call.of(AudioReceived) if event.turn == 0 and event.connection == 1]
    assert rest
    assert rest[0].t_ns < next(event.t_ns for event in call.of(UtteranceStarted) if event.turn == 1)
    assert call.of(Surprise) == []


def test_a_refused_resume_falls_back_to_a_new_session_and_says_so(played: dict[str, Played]) -> None:
    call = played["resume_refused"]
    assert call.outcome() is Outcome.DONE
    assert call.connects() == [Connect.FIRST, Connect.RESUME, Connect.NEW_SESSION]
    assert [event.code for event in call.of(Refused)] == ["session_resume_expired"]
    assert "session_resume_expired" in call.of(ConnectStarted)[2].detail
    assert call.turns() == [(0, Outcome.ABANDONED), (1, Outcome.DONE)]


def test_a_full_server_is_asked_again(played: dict[str, Played]) -> None:
    call = played["refused_twice"]
    assert call.outcome() is Outcome.DONE
    assert [event.attempt for event in call.of(ConnectStarted)] == [1, 2, 3]
    assert [event.connection for event in call.of(Refused)] == [0, 1]
    assert [event.connection for event in call.of(SessionReady)] == [2]


def test_a_server_that_stays_full_is_given_up(played: dict[str, Played]) -> None:
    call = played["always_refused"]
    assert call.outcome() is Outcome.REFUSED
    assert len(call.of(Refused)) > 2
    assert call.of(SessionReady) == []


def test_a_refusal_that_asking_again_cannot_change_is_final(played: dict[str, Played]) -> None:
    call = played["wrongly_set_up"]
    assert call.outcome() is Outcome.REFUSED
    assert len(call.of(Refused)) == 1


def test_a_turn_without_audio_is_no_reply_and_the_caller_hangs_up_politely(played: dict[str, Played]) -> None:
    call = played["silent"]
    assert call.outcome() is Outcome.NO_REPLY
    assert call.turns() == [(0, Outcome.NO_REPLY)]
    assert call.acts() == [Act.SAY_GOODBYE]
    waited_ns = call.of(TurnEnded)[0].t_ns - call.of(UtteranceEnded)[0].planned_ns
    assert waited_ns >= DEADLINES.first_audio_s * NS_PER_S


def test_a_reply_without_terminal_event_is_no_end(played: dict[str, Played]) -> None:
    call = played["endless"]
    assert call.outcome() is Outcome.NO_END
    assert call.turns() == [(0, Outcome.NO_END)]
    assert call.acts() == [Act.SAY_GOODBYE]


def test_no_session_before_the_deadline_is_a_failed_connect(played: dict[str, Played]) -> None:
    call = played["no_session"]
    assert call.outcome() is Outcome.NO_REPLY
    (failed,) = call.of(ConnectFailed)
    assert "no session within 2 s" in failed.reason


@pytest.mark.parametrize(
    ("name", "by", "code"),
    [
        ("broken_by_reset", ClosedBy.SERVER_RESET, None),
        ("broken_by_eof", ClosedBy.SERVER_EOF, None),
        ("broken_by_1011", ClosedBy.SERVER_CLOSE_FRAME, 1011),
    ],
)
def test_a_connection_that_the_server_ends_is_lost(
    played: dict[str, Played], name: str, by: ClosedBy, code: int | None
) -> None:
    call = played[name]
    assert call.outcome() is Outcome.LOST
    assert call.turns() == [(0, Outcome.LOST)]
    assert call.acts() == []
    assert [(event.by, event.code) for event in call.of(ConnectionClosed)] == [(by, code)]


def test_a_reply_without_sound_is_waited_over(played: dict[str, Played]) -> None:
    call = played["listens_first"]
    assert call.turns() == [(0, Outcome.DONE)]
    assert len({event.response_id for event in call.of(ServerEvent) if event.name == "response.created"}) == 2


def test_a_reply_nobody_asked_for_belongs_to_no_turn_and_disturbs_none(played: dict[str, Played]) -> None:
    call = played["speaks_unasked"]
    assert call.turns() == [(0, Outcome.DONE), (1, Outcome.DONE)]
    assert NO_TURN in {event.turn for event in call.of(AudioReceived)}


def test_an_unknown_event_is_counted_and_never_fatal(played: dict[str, Played]) -> None:
    call = played["unknown_event"]
    assert call.outcome() is Outcome.DONE
    assert [event.what for event in call.of(Surprise)] == ["unknown event type response.telepathy"]


def test_a_server_without_duplex_is_a_mistake_of_the_set_up(played: dict[str, Played]) -> None:
    assert isinstance(played["not_duplex"].error, NotDuplexError)
    assert "does not speak duplex" in str(played["not_duplex"].error)


def test_healthy_calls_hold_no_surprise(played: dict[str, Played]) -> None:
    broken = ("unknown_event", "ignores_cancel", "no_session")
    assert {name: call.of(Surprise) for name, call in played.items() if call.of(Surprise) and name not in broken} == {}
