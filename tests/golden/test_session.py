"""One session without socket and clock: what it answers to what it hears, and when it wants to act next."""

import itertools

import pytest

from rig.clock import NS_PER_MS
from rig.config.pipeline import Golden
from rig.golden import commands
from rig.golden.session import Session

TONE = b"\x00\x20" * 1_600
"""100 ms of loud sound."""

SILENCE = bytes(3_200)


@pytest.fixture
def session() -> Session:
    settings = Golden(first_audio_ms=100, chunk_ms=200, pace_ms=50, reply_s=1.0, reply_spread=0.0)
    counter = itertools.count()
    return Session("s", 7, settings, {}, lambda: next(counter))


def hear(session: Session, tones: int, silences: int, now_ns: int = 0) -> list[str]:
    """Frames of 100 ms, all at one moment; types of what comes out."""
    for frame in [TONE] * tones + [SILENCE] * silences:
        session.obey(commands.Append(frame), now_ns)
    return kinds(session)


def kinds(session: Session) -> list[str]:
    return [event.kind for event in session.take()]


def due(session: Session) -> int | None:
    return session.due_ns


def stop_asked(session: Session) -> int | None:
    assert session.active is not None
    return session.active.stop_asked_ns


def codes(session: Session) -> list[object]:
    return [event.fields["error"]["code"] for event in session.take() if event.kind == "error"]  # type: ignore[index]


def test_speech_and_silence_make_a_turn_and_a_reply_that_is_due(session: Session) -> None:
    assert hear(session, 3, 4) == ["input_audio_buffer.speech_started"]
    assert due(session) is None
    out = hear(session, 0, 1, now_ns=1_000)
    assert out[0] == "input_audio_buffer.speech_stopped"
    assert "response.created" in out
    assert session.due_ns == 1_000 + 100 * NS_PER_MS
    assert session.speech_ended_ms == 300


def test_replies_of_all_sessions_have_mark_streams_of_their_own(session: Session) -> None:
    for _ in range(3):
        hear(session, 3, 5)
        session.tick(10**12)
    assert [reply.plan.stream for reply in session.replies.values()] == [0, 1, 2]


def test_speech_before_the_first_sound_ends_the_waiting_reply(session: Session) -> None:
    hear(session, 3, 5)
    hear(session, 2, 0, now_ns=5)
    assert session.active is not None
    assert session.active.stop_asked_ns == 5


def test_a_turn_while_a_reply_is_being_stopped_ends_it_first(session: Session) -> None:
    hear(session, 3, 5)
    out = hear(session, 3, 5)
    assert out.index("response.done") < out.index("response.created")


def test_a_manual_commit_asks_for_a_reply_only_when_told_to(session: Session) -> None:
    hear(session, 3, 0)
    session.obey(commands.Commit(respond=False), 0)
    assert "response.created" not in kinds(session)
    session.obey(commands.CreateResponse(), 0)
    assert "response.created" in kinds(session)
    session.obey(commands.CreateResponse(), 0)
    assert codes(session) == ["response_already_active"]


def test_cleared_sound_cannot_be_committed(session: Session) -> None:
    session.obey(commands.Append(TONE), 0)
    session.obey(commands.ClearInput(), 0)
    session.take()
    session.obey(commands.Commit(respond=True), 0)
    assert codes(session) == ["input_audio_buffer_empty"]


def test_a_cancel_names_the_right_reply_or_is_refused(session: Session) -> None:
    hear(session, 3, 5)
    assert session.active is not None
    session.obey(commands.Cancel("resp_of_somebody_else"), 0)
    assert codes(session) == ["response_not_active"]
    assert stop_asked(session) is None
    session.obey(commands.Cancel(session.active.id), 7)
    assert stop_asked(session) == 7
    session.tick(10**12)
    session.take()
    session.obey(commands.Cancel(None), 8)
    assert codes(session) == ["response_not_active"]


def test_clearing_the_output_ends_the_reply_at_once(session: Session) -> None:
    hear(session, 3, 5)
    session.obey(commands.ClearOutput(None), 0)
    out = kinds(session)
    assert (out[0], "response.done" in out) == ("output_audio_buffer.cleared", True)
    assert session.active is None


def reply_to_its_end(session: Session) -> str:
    """One turn, answered to the end; the id of the reply."""
    hear(session, 3, 5)
    assert session.active is not None
    response_id = session.active.id
    session.tick(10**12)
    session.take()
    return response_id


@pytest.mark.parametrize("played_ms", [300, 1_000])
def test_speech_over_a_reply_that_is_only_being_played_clears_nothing(session: Session, played_ms: int) -> None:
    response_id = reply_to_its_end(session)
    session.obey(commands.PlaybackAck(played_ms, played_ms, response_id, None), 0)
    session.take()
    assert hear(session, 2, 0) == ["input_audio_buffer.speech_started"]


def test_a_commit_of_silence_is_an_item_and_no_turn(session: Session) -> None:
    session.obey(commands.Append(SILENCE), 0)
    session.obey(commands.Commit(respond=True), 0)
    assert "input_audio_buffer.committed" in kinds(session)
    session.obey(commands.CreateResponse(), 0)
    assert codes(session) == ["response_create_without_input"]


def test_the_sound_of_a_caller_keeps_its_item_until_it_is_committed(session: Session) -> None:
    def item() -> object:
        session.obey(commands.Append(TONE), 0)
        session.obey(commands.Append(TONE), 0)
        (event,) = [event for event in session.take() if event.kind == "input_audio_buffer.speech_started"]
        return event.fields["item_id"]

    first = item()
    hear(session, 0, 5)
    assert item() == first
    session.obey(commands.Commit(respond=False), 0)
    session.take()
    assert item() != first


def test_each_item_names_the_one_before_it(session: Session) -> None:
    def previous() -> list[object]:
        return [event.fields["previous_item_id"] for event in session.take() if event.kind == "conversation.item.added"]

    for frame in [TONE] * 3 + [SILENCE] * 5:
        session.obey(commands.Append(frame), 0)
    assert previous() == [None]
    session.tick(10**12)
    session.take()
    for frame in [TONE] * 3:
        session.obey(commands.Append(frame), 0)
    session.obey(commands.Commit(respond=True), 0)
    assert previous() == ["item_resp_s_1", "item_s_user_1"]


def test_every_silence_that_is_committed_is_an_item_of_its_own_after_the_one_before(session: Session) -> None:
    items: list[tuple[object, object]] = []
    for _ in range(3):
        session.obey(commands.Append(SILENCE), 0)
        session.obey(commands.Commit(respond=False), 0)
        (committed,) = [event.fields for event in session.take() if event.kind == "input_audio_buffer.committed"]
        items.append((committed["previous_item_id"], committed["item_id"]))
    (none, first), (before_second, second), (before_third, third) = items
    assert (none, before_second, before_third) == (None, first, second)
    assert len({first, second, third}) == 3


def test_speech_is_known_to_have_ended_when_its_last_sound_came_in_however_long_the_silence() -> None:
    session = Session("s", 7, Golden(silence_ms=60_000), {}, itertools.count().__next__)
    frames = 3_100
    for number in range(frames):
        session.obey(commands.Append(TONE[:640] if number < 20 else SILENCE[:640]), number)
    (stopped,) = [event for event in session.take() if event.kind == "input_audio_buffer.speech_stopped"]
    assert stopped.heard_ns == 19
    assert len(session._came_in) < frames


def test_sound_that_is_none_is_no_input(session: Session) -> None:
    session.obey(commands.Append(b"", "mine"), 0)
    (event,) = session.take()
    assert event.fields["error"] == {
        "type": "invalid_request_error",
        "code": "invalid_input_modality",
        "message": "input_audio_buffer.append requires audio and/or video_frames",
        "event_id": "mine",
    }


def test_the_first_word_of_playback_must_come_before_the_next_turn(session: Session) -> None:
    first = reply_to_its_end(session)
    second = reply_to_its_end(session)
    session.obey(commands.PlaybackAck(10, 10, second, None), 0)
    assert codes(session) == []
    session.obey(commands.PlaybackAck(10, 10, first, None), 0)
    assert codes(session) == ["playback_ack_too_late"]
    reply_to_its_end(session)
    session.obey(commands.PlaybackAck(20, 20, second, None), 0)
    assert codes(session) == []


def test_an_end_drops_the_reply_without_a_word(session: Session) -> None:
    hear(session, 3, 5)
    session.end("session.expired", "idle_ttl_expired")
    assert kinds(session) == ["session.expired"]
    assert (session.closed, session.due_ns) == ("idle_ttl_expired", None)
