"""The messages of vLLM-Omni's duplex protocol (`/v1/realtime?duplex=1`): what a caller sends and reads. No I/O."""

import base64
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

import msgspec

from rig.errors import RigError, UsageError

INPUT_RATE_HZ = 16_000
OUTPUT_RATE_HZ = 24_000
SAMPLE_BYTES = 2

REALTIME_PATH = "/v1/realtime"

AUDIO_DELTA = "response.output_audio.delta"

KNOWN_TYPES = frozenset(
    {
        "conversation.item.added",
        "conversation.item.created",
        "conversation.item.deleted",
        "conversation.item.done",
        "conversation.item.input_audio_transcription.completed",
        "conversation.item.retrieved",
        "conversation.item.truncated",
        "error",
        "input_audio_buffer.cleared",
        "input_audio_buffer.committed",
        "input_audio_buffer.speech_started",
        "input_audio_buffer.speech_stopped",
        "output_audio_buffer.cleared",
        "overlap.decision",
        "playback.acknowledged",
        "rate_limits.updated",
        "response.content_part.added",
        "response.content_part.done",
        "response.created",
        "response.done",
        "response.listen",
        AUDIO_DELTA,
        "response.output_audio.done",
        "response.output_audio_transcript.delta",
        "response.output_audio_transcript.done",
        "response.output_item.added",
        "response.output_item.done",
        "response.output_text.delta",
        "response.output_text.done",
        "response.speak",
        "session.closed",
        "session.created",
        "session.expired",
        "session.heartbeat_ack",
        "session.replaced",
        "session.resumed",
        "session.resync_required",
        "session.updated",
        "turn.event",
    }
)


class MalformedError(RigError):
    """The server sent something that is not an event of the protocol."""


class StatusDetails(msgspec.Struct):
    """Why a response ended."""

    reason: str | None = None


class Response(msgspec.Struct):
    """The `response` object of an event."""

    id: str | None = None
    status: str | None = None
    status_details: StatusDetails | None = None


class Failure(msgspec.Struct):
    """The `error` object of an error event."""

    code: str | None = None
    message: str | None = None


class SessionInfo(msgspec.Struct):
    """The `session` object of an event; only a duplex session has capabilities."""

    id: str | None = None
    capabilities: dict[str, Any] | None = None


class ServerMessage(msgspec.Struct):
    """One server event; fields that a caller has no use for are not decoded."""

    type: str
    server_event_seq: int | None = None
    session_id: str | None = None
    response_id: str | None = None
    delta: msgspec.Raw = msgspec.Raw()
    response: Response | None = None
    session: SessionInfo | None = None
    error: Failure | str | None = None
    code: str | None = None
    reason: str | None = None
    attachment_generation: int | None = None
    resume_token: str | None = None
    audio_end_ms: int | None = None


_decoder = msgspec.json.Decoder(ServerMessage)
_audio_decoder = msgspec.json.Decoder(bytes | None)
_encode = msgspec.json.Encoder().encode


def decode(data: bytes) -> ServerMessage:
    """Read one server event. Raises MalformedError."""
    try:
        return _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise MalformedError(f"not an event: {error}") from error


def audio_of(message: ServerMessage) -> bytes:
    """The PCM that an audio delta carries. Raises MalformedError.

    Straight from JSON to bytes: a third of the time that a text and `binascii` take, which were most of what a caller
    spends on hearing.
    """
    if not message.delta:
        return b""
    try:
        return _audio_decoder.decode(message.delta) or b""
    except msgspec.MsgspecError as error:
        raise MalformedError(f"not base64: {error}") from error


def realtime_url(base: str, model: str) -> str:
    """The duplex address below a base URL such as ws://127.0.0.1:8099. Raises UsageError for any other scheme.

    `autostart=0` because with a model in the query the server would open a default session before reading ours.
    """
    parts = urlsplit(base)
    if parts.scheme not in ("ws", "wss") or not parts.netloc:
        raise UsageError(f"{base!r} is not a server; give a ws:// or wss:// URL")
    path = REALTIME_PATH if parts.path in ("", "/") else parts.path
    query = urlencode({"duplex": "1", "model": model, "autostart": "0"})
    return urlunsplit((parts.scheme, parts.netloc, path, query, ""))


def open_session(model: str, reference_wav: bytes) -> bytes:
    """session.update, the first message of a new session: server VAD, own reference voice, barge-in on speech."""
    session = {
        "model": model,
        "modalities": ["audio", "text"],
        "input_audio_format": "pcm16",
        "output_audio_format": "pcm16",
        "sample_rate_hz": INPUT_RATE_HZ,
        "audio": {"input": {"sample_rate_hz": INPUT_RATE_HZ}, "output": {"sample_rate_hz": OUTPUT_RATE_HZ}},
        "ref_audio": "data:audio/wav;base64," + base64.b64encode(reference_wav).decode("ascii"),
        "turn_detection": {"type": "server_vad"},
        "overlap_policy": "barge_in_on_speech",
        "playback_commit_policy": "ack_only",
        "extra_body": {"auto_response": True, "force_listen_count": 0},
    }
    return _encode({"type": "session.update", "session": session})


def resume_session(session_id: str, resume_token: str, last_seq: int) -> bytes:
    """session.resume, the first message of a connection that takes an old session up again."""
    return _encode(
        {
            "type": "session.resume",
            "session_id": session_id,
            "resume_token": resume_token,
            "last_received_server_event_seq": last_seq,
        }
    )


def append_audio(pcm: bytes) -> bytes:
    """One frame of the microphone, 16 kHz mono PCM16."""
    return _encode({"type": "input_audio_buffer.append", "audio": base64.b64encode(pcm).decode("ascii")})


def cancel_response(response_id: str | None) -> bytes:
    """response.cancel, of one response where its id is known."""
    if response_id is None:
        return _encode({"type": "response.cancel"})
    return _encode({"type": "response.cancel", "response_id": response_id})


def acknowledge_events(seq: int) -> bytes:
    """Everything up to `seq` arrived; the server need not keep it for a resume."""
    return _encode({"type": "session.event_ack", "server_event_seq": seq})


def acknowledge_playback(response_id: str, played_ms: int) -> bytes:
    """So much of a response has been played, counted from its beginning."""
    return _encode(
        {
            "type": "playback.ack",
            "played_ms": played_ms,
            "committed_ms": played_ms,
            "response_id": response_id,
            "item_id": f"item_{response_id}",
        }
    )


HEARTBEAT = _encode({"type": "session.heartbeat"})
CLOSE_SESSION = _encode({"type": "session.close"})
