"""The messages of the protocol."""

import base64
import json

import pytest

from clients import wire
from rig.errors import UsageError


def test_reads_what_a_caller_needs_and_skips_the_rest() -> None:
    message = wire.decode(
        b'{"type":"response.done","event_id":"e","server_event_seq":7,"response_id":"r",'
        b'"response":{"id":"r","status":"cancelled","status_details":{"type":"cancelled","reason":"turn_detected"}}}'
    )
    assert message.type == "response.done"
    assert message.server_event_seq == 7
    assert message.response is not None
    assert message.response.status_details is not None
    assert message.response.status_details.reason == "turn_detected"


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"server_event_seq":1}', b'{"type":"x","server_event_seq":"1"}'])
def test_tells_what_is_no_event(data: bytes) -> None:
    with pytest.raises(wire.MalformedError):
        wire.decode(data)


def test_asks_for_a_duplex_session_with_server_vad_and_its_own_voice() -> None:
    session = json.loads(wire.open_session("tiny", b"RIFF"))["session"]
    assert session["turn_detection"] == {"type": "server_vad"}
    assert session["overlap_policy"] == "barge_in_on_speech"
    assert session["ref_audio"] == "data:audio/wav;base64," + base64.b64encode(b"RIFF").decode()


def test_addresses_the_duplex_endpoint_and_keeps_a_path_that_was_given() -> None:
    assert wire.realtime_url("ws://host:1", "m").startswith("ws://host:1/v1/realtime?duplex=1&")
    assert wire.realtime_url("wss://host/other", "m").startswith("wss://host/other?duplex=1&")


@pytest.mark.parametrize("base", ["", "http://host", "host:8099", "ws://"])
def test_refuses_an_address_that_is_no_websocket(base: str) -> None:
    with pytest.raises(UsageError, match="ws://"):
        wire.realtime_url(base, "m")


def test_audio_comes_out_of_a_delta_and_bad_base64_is_malformed() -> None:
    assert wire.audio_of(wire.decode(b'{"type":"x","delta":"AQID"}')) == b"\x01\x02\x03"
    assert wire.audio_of(wire.decode(b'{"type":"x"}')) == b""
    assert wire.audio_of(wire.decode(b'{"type":"x","delta":null}')) == b""
    with pytest.raises(wire.MalformedError, match="not base64"):
        wire.audio_of(wire.decode(b'{"type":"x","delta":"A?"}'))
