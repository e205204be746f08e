"""The state machine of a session, without any I/O."""

import base64
import json
from typing import Any

import numpy as np
import pytest

from clients import wire
from clients.session import HEARTBEAT_NS, PLAYBACK_ACK_NS, Record, Session, mark_runs
from clients.turns import NO_TURN, Turn, Turns
from rig.clock import NS_PER_S
from rig.events.types import AudioReceived, MarkRun, Outcome, Refused, ServerEvent, SessionReady, Surprise, TurnEnded
from rig.marks import Mark, encode_frames

VOICE = 77


class Talk:
    """A session and the server's side of it: numbers its events."""

    def __init__(self) -> None:
        self.turns = Turns()
        self.session = Session(self.turns, index=0, voice=VOICE)
        self.seq = 0
        self.now_ns = NS_PER_S

    def says(self, kind: str, *, seq: int | None = None, **fields: Any) -> list[Record]:
        """The server sends a numbered event."""
        self.seq = self.seq + 1 if seq is None else seq
        return self.raw({"type": kind, "server_event_seq": self.seq, **fields})

    def raw(self, message: dict[str, Any]) -> list[Record]:
        """The server sends an event without a number."""
        return self.session.receive(wire.decode(json.dumps(message).encode()), self.now_ns)

    def created(self) -> list[Record]:
        """The session begins."""
        return self.raw(
            {
                "type": "session.created",
                "session_id": "s1",
                "session": {"id": "s1", "capabilities": {}},
                "attachment_generation": 1,
                "resume_token": "t1",
            }
        )

    def speak(self, offset_ms: int = 0) -> Turn:
        """The caller has said something, and the server has heard it."""
        turn = self.turns.begin("short", 0)
        turn.offset_ms = offset_ms
        turn.started_ns = turn.spoken_ns = self.now_ns
        self.says("input_audio_buffer.speech_stopped", audio_end_ms=offset_ms + 1_500)
        return turn

    def audio(self, response_id: str, first: int = 0, count: int = 5) -> list[Record]:
        """The server sends marked audio."""
        samples = encode_frames(VOICE, 1, first, np.arange(count, dtype=np.int64))
        pcm = (samples * 32_767).astype("<i2").tobytes()
        return self.says(wire.AUDIO_DELTA, response_id=response_id, delta=base64.b64encode(pcm).decode())

    def done(self, response_id: str, status: str = "completed", reason: str = "stop") -> list[Record]:
        """The server ends a response."""
        response = {"id": response_id, "status": status, "status_details": {"type": status, "reason": reason}}
        return self.says("response.done", response_id=response_id, response=response)


@pytest.fixture
def talk() -> Talk:
    talk = Talk()
    talk.created()
    return talk


def surprises(records: list[Record]) -> list[str]:
    return [fields["what"] for kind, fields in records if kind is Surprise]


def only(records: list[Record], wanted: type) -> dict[str, Any]:
    (found,) = (fields for kind, fields in records if kind is wanted)
    return found


def test_is_ready_when_the_server_created_a_duplex_session() -> None:
    talk = Talk()
    assert not talk.session.resumable
    ready = only(talk.created(), SessionReady)
    assert ready == {"session_id": "s1", "resumed": False, "generation": 1, "voice": VOICE}
    assert talk.session.attached
    assert talk.session.resumable


def test_a_session_without_duplex_is_told_apart() -> None:
    talk = Talk()
    talk.raw({"type": "session.created", "session": {"id": "s1"}})
    assert talk.session.duplex_missing is not None
    assert not talk.session.attached


def test_a_server_without_duplex_is_told_apart_from_one_that_is_full() -> None:
    missing, full = Talk(), Talk()
    missing.raw({"type": "error", "code": "unsupported", "error": "VAD realtime is not enabled"})
    records = full.raw({"type": "error", "error": {"code": "resource_exhausted", "message": "limit=4"}})
    assert missing.session.duplex_missing == "VAD realtime is not enabled"
    assert full.session.duplex_missing is None
    assert only(records, Refused) == {"code": "resource_exhausted", "detail": "limit=4"}
    assert full.session.refusal is not None


def test_an_error_within_a_session_is_an_event_and_no_refusal(talk: Talk) -> None:
    records = talk.says("error", error={"code": "playback_ack_too_late", "message": "late"})
    assert only(records, ServerEvent)["detail"] == "playback_ack_too_late: late"
    assert talk.session.refusal is None


def test_resumes_with_the_newest_token_and_the_last_number(talk: Talk) -> None:
    talk.says("session.updated", session={"id": "s1"})
    assert json.loads(talk.session.resume()) == {
        "type": "session.resume",
        "session_id": "s1",
        "resume_token": "t1",
        "last_received_server_event_seq": 1,
    }
    talk.session.detach()
    resumed = {"type": "session.resumed", "session_id": "s1", "attachment_generation": 2, "resume_token": "t2"}
    ready = only(talk.raw(resumed), SessionReady)
    assert (ready["resumed"], ready["generation"]) == (True, 2)
    assert json.loads(talk.session.resume())["resume_token"] == "t2"


def test_a_session_that_must_resync_cannot_be_resumed(talk: Talk) -> None:
    talk.says("session.resync_required", reason="journal_overflow")
    assert not talk.session.resumable


@pytest.mark.parametrize("kind", ["session.closed", "session.expired", "session.replaced"])
def test_a_session_that_ended_cannot_be_resumed(talk: Talk, kind: str) -> None:
    talk.says(kind, reason="client_close")
    assert not talk.session.resumable
    assert talk.session.closed_reason is not None


def test_a_reply_belongs_to_its_turn_and_its_terminal_event_ends_it(talk: Talk) -> None:
    turn = talk.speak()
    created = talk.says("response.created", response_id="r1", response={"id": "r1"})
    heard = only(talk.audio("r1"), AudioReceived)
    ended = talk.done("r1")
    assert only(created, ServerEvent)["turn"] == 0
    assert heard["marks"] == [MarkRun(VOICE, 1, 0, 5)]
    assert (heard["turn"], heard["samples"], heard["unreadable"]) == (0, 4_800, 0)
    assert only(ended, ServerEvent)["detail"] == "completed: stop"
    assert only(ended, TurnEnded) == {"turn": 0, "outcome": Outcome.DONE, "response_id": "r1", "audio_ms": 200}
    assert turn.over


def test_a_cancelled_reply_is_cut(talk: Talk) -> None:
    talk.speak()
    talk.says("response.created", response_id="r1", response={"id": "r1"})
    talk.audio("r1")
    assert json.loads(talk.session.cancel()) == {"type": "response.cancel", "response_id": "r1"}
    assert only(talk.done("r1", "cancelled", "client_cancelled"), TurnEnded)["outcome"] is Outcome.CUT


def test_audio_after_the_terminal_event_is_recorded_and_a_surprise(talk: Talk) -> None:
    talk.speak()
    talk.says("response.created", response_id="r1", response={"id": "r1"})
    talk.audio("r1")
    talk.done("r1", "cancelled")
    stale = talk.audio("r1", first=5)
    assert only(stale, AudioReceived)["turn"] == 0
    assert "after its terminal event" in surprises(stale)[0]


def test_a_second_terminal_event_is_a_surprise_and_ends_nothing(talk: Talk) -> None:
    talk.speak()
    talk.says("response.created", response_id="r1", response={"id": "r1"})
    talk.audio("r1")
    talk.done("r1")
    assert surprises(talk.done("r1")) == ["a second terminal event of r1"]


def test_a_reply_without_sound_leaves_the_turn_to_the_next_reply(talk: Talk) -> None:
    turn = talk.speak()
    talk.says("response.created", response_id="r1", response={"id": "r1"})
    talk.done("r1")
    assert not turn.over
    talk.says("response.created", response_id="r2", response={"id": "r2"})
    assert only(talk.audio("r2"), AudioReceived)["turn"] == 0


def test_a_reply_nobody_asked_for_is_recorded_under_no_turn(talk: Talk) -> None:
    talk.says("response.created", response_id="r1", response={"id": "r1"})
    assert only(talk.audio("r1"), AudioReceived)["turn"] == NO_TURN
    assert TurnEnded not in [kind for kind, _ in talk.done("r1")]


def test_gaps_and_repeats_in_the_numbers_are_surprises(talk: Talk) -> None:
    assert surprises(talk.says("rate_limits.updated", seq=1)) == []
    assert surprises(talk.says("rate_limits.updated", seq=3)) == ["server_event_seq 3 after 1"]
    assert surprises(talk.says("rate_limits.updated", seq=3)) == ["server_event_seq 3 after 3"]


def test_an_unknown_event_is_a_surprise_and_recorded(talk: Talk) -> None:
    records = talk.says("response.telepathy")
    assert surprises(records) == ["unknown event type response.telepathy"]
    assert only(records, ServerEvent)["name"] == "response.telepathy"


def test_audio_that_is_no_base64_is_a_surprise(talk: Talk) -> None:
    assert "cannot be decoded" in surprises(talk.says(wire.AUDIO_DELTA, response_id="r1", delta="a"))[-1]


def types(messages: list[bytes]) -> list[str]:
    return [json.loads(message)["type"] for message in messages]


def test_acknowledges_events_once(talk: Talk) -> None:
    talk.says("session.updated")
    talk.says("rate_limits.updated")
    (message,) = talk.session.due(talk.now_ns)
    assert json.loads(message) == {"type": "session.event_ack", "server_event_seq": 2}
    assert talk.session.due(talk.now_ns) == []


def test_reports_playback_once_a_second_and_at_the_end(talk: Talk) -> None:
    talk.speak()
    talk.says("response.created", response_id="r1", response={"id": "r1"})
    talk.audio("r1", count=75)
    begin_ns = talk.now_ns
    played = []
    for tenth in range(1, 50):
        messages = [json.loads(message) for message in talk.session.due(begin_ns + tenth * NS_PER_S // 10)]
        played += [message["played_ms"] for message in messages if message["type"] == "playback.ack"]
        if tenth == 5:
            talk.done("r1")
    assert played == [100, 1_100, 2_100, 3_000]
    assert PLAYBACK_ACK_NS == NS_PER_S


def test_sends_heartbeats(talk: Talk) -> None:
    assert types(talk.session.due(NS_PER_S)) == []
    assert types(talk.session.due(NS_PER_S + HEARTBEAT_NS)) == ["session.heartbeat"]
    assert types(talk.session.due(NS_PER_S + HEARTBEAT_NS + 1)) == []


def test_owes_nothing_while_nobody_is_connected(talk: Talk) -> None:
    talk.says("session.updated")
    talk.session.detach()
    assert talk.session.due(talk.now_ns) == []


def test_marks_are_grouped_into_runs_of_consecutive_tokens() -> None:
    marks = [Mark(1, 0, index, 9) for index in (3, 4, 5, 7, 8)] + [Mark(2, 0, 9, 9)]
    assert mark_runs(marks) == [MarkRun(1, 0, 3, 3), MarkRun(1, 0, 7, 2), MarkRun(2, 0, 9, 1)]
