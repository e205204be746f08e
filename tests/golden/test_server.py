"""The golden server speaks the duplex protocol as vLLM-Omni 0.30.0 does, over real sockets."""

import asyncio
from pathlib import Path
from urllib.request import urlopen

import pytest

from clients import wire
from rig.config.pipeline import Duplex
from rig.golden import record
from rig.pipeline import probe
from tests.golden.phone import FRAME, Phone, serving, wait_for

ANSWER = [
    "input_audio_buffer.speech_started",
    "input_audio_buffer.speech_stopped",
    "response.created",
    "conversation.item.added",
    "conversation.item.created",
    "response.output_item.added",
    "response.content_part.added",
    *["response.output_audio.delta", "response.output_audio_transcript.delta"] * 5,
    "response.output_audio.done",
    "response.output_audio_transcript.done",
    "response.content_part.done",
    "response.output_item.done",
    "conversation.item.done",
    "response.done",
    "rate_limits.updated",
]


def test_it_is_healthy_and_in_duplex_mode_as_the_rig_asks_it(tmp_path: Path) -> None:
    with serving(tmp_path) as golden:
        assert asyncio.run(probe.health(golden.url, 5)).status == 200
        assert asyncio.run(probe.duplex(golden.url, 5)).problem is None
        with urlopen(golden.url.replace("ws:", "http:") + "/v1/models", timeout=5) as answer:
            assert b'"id": "golden"' in answer.read()
    assert golden.of(record.SessionOpened) == []


def test_a_turn_is_answered_with_upstreams_events_in_upstreams_order_numbered_from_1(tmp_path: Path) -> None:
    with serving(tmp_path) as golden, Phone(golden.url) as phone:
        created = phone.open(voice=7)
        assert created["session"]["capabilities"]["supports_session_resume"] is True
        assert "server_event_seq" not in created
        phone.say()
        phone.until("rate_limits.updated")
    assert phone.types() == ["session.created", "session.updated", *ANSWER]
    assert [event["server_event_seq"] for event in phone.heard[1:]] == list(range(1, len(phone.heard)))
    assert phone.marks() == [(7, index) for index in range(25)]
    assert phone.of("response.done")[0]["response"]["status"] == "completed"


def test_the_same_seed_gives_the_same_sound_and_another_seed_another(tmp_path: Path) -> None:
    said = []
    for number, seed in enumerate((1, 1, 2)):
        folder = tmp_path / str(number)
        folder.mkdir()
        with serving(folder, seed=seed, reply_spread=0.5) as golden, Phone(golden.url) as phone:
            phone.open()
            phone.say()
            phone.until("response.done")
            said.append([event["delta"] for event in phone.of(wire.AUDIO_DELTA)])
    assert said[0] == said[1] != said[2]


def test_speech_over_a_reply_cuts_it(tmp_path: Path) -> None:
    with serving(tmp_path, reply_s=60.0) as golden, Phone(golden.url) as phone:
        phone.open()
        phone.say()
        phone.until(wire.AUDIO_DELTA)
        phone.say(silence_ms=0)
        done = phone.until("response.done")
    details = {"type": "cancelled", "reason": "turn_detected"}
    assert (done["response"]["status"], done["response"]["status_details"]) == ("cancelled", details)
    (seen,) = golden.of(record.StopSeen)
    (ended,) = golden.of(record.ReplyEnded)
    assert (seen.by, seen.response) == ("speech", ended.response)
    assert ended.planned_ns == seen.t_ns + 5_000_000
    assert ended.t_ns >= ended.planned_ns


def test_a_cancel_cuts_the_reply_and_a_second_one_is_an_error(tmp_path: Path) -> None:
    with serving(tmp_path, reply_s=60.0) as golden, Phone(golden.url) as phone:
        phone.open()
        phone.say()
        response_id = phone.until(wire.AUDIO_DELTA)["response_id"]
        phone.send(wire.cancel_response(response_id))
        done = phone.until("response.done")
        phone.send(wire.cancel_response(response_id))
        assert phone.until("error")["error"]["code"] == "response_not_active"
    assert done["response"]["status_details"]["reason"] == "client_cancelled"
    assert golden.of(record.StopSeen)[0].by == "cancel"


def test_a_session_that_lost_its_connection_is_resumed_with_a_new_token_and_all_that_was_missed(tmp_path: Path) -> None:
    with serving(tmp_path, reply_s=2.0) as golden:
        with Phone(golden.url) as first:
            created = first.open()
            first.say()
            first.until(wire.AUDIO_DELTA)
            first.socket.close()
        wait_for(lambda: len(golden.of(record.ReplyEnded)) == 1)
        with Phone(golden.url) as second:
            resumed = second.resume(created, first.last_seq())
            second.until("rate_limits.updated")
            assert (resumed["type"], resumed["attachment_generation"]) == ("session.resumed", 2)
            assert resumed["resume_token"] != created["resume_token"]
            numbers = [event["server_event_seq"] for event in second.heard[1:]]
            assert numbers == list(range(first.last_seq() + 1, first.last_seq() + 1 + len(numbers)))
            second.socket.close()
        with Phone(golden.url) as third:
            assert third.resume(created, 0)["error"]["code"] == "invalid_resume_token"
            assert third.until_closed() is None
    assert [(ended.sent, ended.replayed) for ended in golden.of(record.ReplyEnded)] == [(False, False), (True, True)]
    chunks = golden.of(record.ChunkSent)
    assert [chunk.index for chunk in chunks if not chunk.replayed] == list(range(10))
    replayed = [chunk for chunk in chunks if chunk.replayed]
    assert [index // 5 for _, index in second.marks()[::5]] == [chunk.index for chunk in replayed]


def test_a_second_connection_takes_the_session_over(tmp_path: Path) -> None:
    with serving(tmp_path) as golden, Phone(golden.url) as first, Phone(golden.url) as second:
        created = first.open()
        first.until("session.updated")
        assert second.resume(created, 1)["attachment_generation"] == 2
        replaced = first.until("session.replaced")
        assert replaced["attachment_generation"] == 1
        assert first.until_closed() == 1000
        second.say()
        second.until("response.done")


def test_what_the_caller_acknowledged_cannot_be_replayed(tmp_path: Path) -> None:
    with serving(tmp_path) as golden, Phone(golden.url) as first, Phone(golden.url) as second:
        created = first.open()
        first.until("session.updated")
        first.send(wire.acknowledge_events(1))
        first.send(wire.HEARTBEAT)
        first.until("session.heartbeat_ack")
        answer = second.resume(created, 0)
        assert (answer["type"], answer["reason"]) == ("session.resync_required", "journal_gap")


def test_a_full_server_refuses_until_a_dropped_session_has_expired(tmp_path: Path) -> None:
    limits = Duplex(max_sessions=1, disconnect_grace_s=0.2, reaper_interval_s=0.05)
    with serving(tmp_path, limits=limits) as golden:
        with Phone(golden.url) as first:
            created = first.open()
            with Phone(golden.url) as second:
                second.send(wire.open_session("golden", b""))
                refusal = second.next()["error"]
                assert (refusal["code"], refusal["type"]) == ("resource_exhausted", "rate_limit_error")
                assert second.until_closed() is None
        wait_for(lambda: len(golden.of(record.SlotFreed)) == 1)
        with Phone(golden.url) as third:
            assert third.resume(created, 0)["error"]["code"] == "session_resume_expired"
        with Phone(golden.url) as fourth:
            fourth.open()
    assert golden.of(record.SlotFreed)[0].why == "disconnect_grace_expired"
    assert golden.of(record.SessionRefused)[0].slots_held == 1


def test_a_closed_session_frees_its_slot_and_ends_with_1000(tmp_path: Path) -> None:
    limits = Duplex(max_sessions=1)
    with serving(tmp_path, limits=limits) as golden:
        for _ in range(3):
            with Phone(golden.url) as phone:
                phone.open()
                phone.send(wire.CLOSE_SESSION)
                assert phone.until("session.closed")["reason"] == "client_close"
                assert phone.until_closed() == 1000


def test_a_connection_that_sends_nothing_is_let_go_and_its_session_kept(tmp_path: Path) -> None:
    with serving(tmp_path, idle_timeout_s=0.1) as golden, Phone(golden.url) as phone:
        phone.open()
        assert phone.until_closed() is None
        assert len(golden.of(record.SessionDetached)) == 1
        assert golden.of(record.SlotFreed) == []


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("readiness probe", "invalid_json"),
        ("[1]", "bad_event"),
        ('{"type": "session.resume"}', "invalid_session_resume"),
        ('{"type": "session.update", "session": {}}', "ref_audio_required"),
        ('{"type": "session.update", "session": {"ref_audio": "/a.wav"}}', "invalid_duplex_runtime_config"),
        (
            '{"type": "session.update", "session": {"turn_detection": {"type": "semantic_vad"}}}',
            "invalid_session_config",
        ),
    ],
)
def test_a_bad_first_message_is_refused_and_the_connection_dropped(tmp_path: Path, message: str, code: str) -> None:
    with serving(tmp_path) as golden, Phone(golden.url) as phone:
        phone.send(message)
        assert phone.next()["error"]["code"] == code
        assert phone.until_closed() is None


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("{", "invalid_json"),
        ('{"type": 3}', "bad_event"),
        ('{"type": "no.such.thing"}', "unknown_event"),
        ('{"type": "input_audio_buffer.append"}', "bad_event"),
        ('{"type": "input_audio_buffer.append", "audio": "*"}', "invalid_input_modality"),
        ('{"type": "input_audio_buffer.append", "audio": "AAA=", "sample_rate_hz": 7}', "bad_event"),
        ('{"type": "input_audio_buffer.append", "audio": "AAAA", "format": "opus"}', "unsupported_audio_format"),
        ('{"type": "input_audio_buffer.commit"}', "input_audio_buffer_empty"),
        ('{"type": "response.cancel"}', "response_not_active"),
        ('{"type": "response.create"}', "response_create_without_input"),
        ('{"type": "playback.ack"}', "bad_event"),
        ('{"type": "playback.ack", "played_ms": 1, "response_id": "x"}', "playback_item_not_found"),
        ('{"type": "playback.ack", "played_ms": 1, "response_id": "x", "item_id": "y"}', "playback_item_mismatch"),
        ('{"type": "session.event_ack", "server_event_seq": 99}', "invalid_event_ack"),
        ('{"type": "session.resume"}', "unsupported_session_resume"),
    ],
)
def test_a_bad_message_is_answered_with_its_code_and_the_session_goes_on(
    tmp_path: Path, message: str, code: str
) -> None:
    with serving(tmp_path) as golden, Phone(golden.url) as phone:
        phone.open()
        phone.send(message)
        assert phone.until("error")["error"]["code"] == code
        phone.send(wire.HEARTBEAT)
        phone.until("session.heartbeat_ack")


def test_playback_is_acknowledged(tmp_path: Path) -> None:
    with serving(tmp_path) as golden, Phone(golden.url) as phone:
        phone.open()
        phone.say()
        response_id = phone.until("response.done")["response_id"]
        phone.send(wire.acknowledge_playback(response_id, 800))
        assert phone.until("playback.acknowledged")["event"]["played_ms"] == 800


def test_silence_is_never_answered(tmp_path: Path) -> None:
    with serving(tmp_path) as golden, Phone(golden.url) as phone:
        phone.open()
        for _ in range(20):
            phone.send(wire.append_audio(FRAME))
        phone.send(wire.HEARTBEAT)
        phone.until("session.heartbeat_ack")
        assert phone.types() == ["session.created", "session.updated", "session.heartbeat_ack"]


def test_chunks_leave_at_their_planned_times(tmp_path: Path) -> None:
    with serving(tmp_path, first_audio_ms=50, pace_ms=20) as golden, Phone(golden.url) as phone:
        phone.open()
        phone.say()
        phone.until("response.done")
    (ended,) = golden.of(record.SpeechEnded)
    chunks = golden.of(record.ChunkSent)
    planned = [chunk.planned_ns for chunk in chunks]
    assert [later - planned[0] for later in planned if later and planned[0]] == [
        index * 20_000_000 for index in range(5)
    ]
    assert planned[0] is not None
    assert 0 <= planned[0] - ended.t_ns <= 50_000_000
    assert all(chunk.planned_ns is not None and chunk.t_ns >= chunk.planned_ns for chunk in chunks)
