"""Messages become commands; what is wrong with one is told by its code and the client's event id."""

import base64
from typing import Any

import pytest

from clients import wire
from rig.golden import commands
from rig.golden.commands import CommandError, translate
from rig.marks import reference_wav


def code_of(payload: dict[str, Any]) -> tuple[str, str | None]:
    with pytest.raises(CommandError) as caught:
        translate({"event_id": "e1", **payload})
    return caught.value.code, caught.value.event_id


@pytest.mark.parametrize(
    ("message", "command"),
    [
        (wire.append_audio(b"\1\0\2\0"), commands.Append(b"\1\0\2\0")),
        (wire.cancel_response("r"), commands.Cancel("r")),
        (wire.cancel_response(None), commands.Cancel(None)),
        (wire.acknowledge_playback("r", 30), commands.PlaybackAck(30, 30, "r", "item_r")),
        (wire.HEARTBEAT, commands.Heartbeat()),
        (wire.CLOSE_SESSION, commands.Close("client_close")),
    ],
)
def test_what_the_rigs_callers_send_is_understood(message: bytes, command: commands.Command) -> None:
    from rig.golden.wire import decode

    assert translate(decode(message)) == command


@pytest.mark.parametrize(
    ("payload", "respond"),
    [
        ({"type": "input_audio_buffer.commit"}, False),
        ({"type": "input_audio_buffer.commit", "response_create": True}, True),
        ({"type": "input.commit"}, True),
        ({"type": "input.commit", "create_response": False}, False),
    ],
)
def test_a_commit_says_whether_it_wants_a_reply(payload: dict[str, Any], respond: bool) -> None:
    assert translate(payload) == commands.Commit(respond)


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        ({"type": "no.such.thing"}, "unknown_event"),
        ({"type": "input_audio_buffer.append", "audio": "AA=A"}, "bad_event"),
        ({"type": "input_audio_buffer.append", "audio": "AAAA"}, "bad_event"),
        ({"type": "input_audio_buffer.append", "audio": "AAA=", "format": "g729"}, "unsupported_audio_format"),
        ({"type": "session.update", "session": {"overlap_policy": "barge_in_on_speech"}}, "unsupported_turn_detection"),
    ],
)
def test_a_wrong_message_is_refused_with_its_event_id(payload: dict[str, Any], code: str) -> None:
    assert code_of(payload) == (code, "e1")


@pytest.mark.parametrize("last_seq", [-1, "3", 1.5])
def test_a_resume_needs_a_number_of_the_last_event(last_seq: object) -> None:
    asked = {"session_id": "s", "resume_token": "t", "last_received_server_event_seq": last_seq}
    assert commands.resume(asked) is None
    assert commands.resume({**asked, "last_received_server_event_seq": 3}) == commands.Resume("s", "t", 3)


def test_the_voice_is_read_from_the_reference_audio() -> None:
    url = "data:audio/wav;base64,"
    marked = base64.b64encode(reference_wav(77)).decode()
    assert commands.read_voice({"ref_audio": url + marked}) == 77
    with pytest.raises(CommandError, match="invalid_session_config"):
        commands.read_voice({"ref_audio": url + "AAAA"})
