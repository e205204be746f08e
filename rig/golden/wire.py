"""Server events of the duplex protocol, field for field as vLLM-Omni 0.30.0 writes those that callers read.

Source: vllm_omni/protocol/realtime/events.py, protocol/duplex/events.py and engine/duplex/realtime_events.py.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from rig.marks import OUTPUT_RATE_HZ

if TYPE_CHECKING:
    from rig.golden.reply import Reply
    from rig.golden.voice import Chunk

Fields = dict[str, object]

AUDIO_DELTA = "response.output_audio.delta"
CREATED = "response.created"
DONE = "response.done"
CLOSED = ("session.closed", "session.expired")

_encode = msgspec.json.Encoder().encode
_event_numbers = itertools.count(1)
decode = msgspec.json.Decoder().decode
"""Raises ValueError (msgspec.DecodeError is one) for what is no JSON."""

_SERVER_ERRORS = frozenset({"internal_error", "runtime_resume_failed", "engine_error"})
_RATE_ERRORS = frozenset({"resource_exhausted", "input_backpressure"})


def encode(fields: Mapping[str, object]) -> bytes:
    """An event as it goes over the wire; every event has an id of its own."""
    return _encode({"type": fields["type"], "event_id": f"event_{next(_event_numbers):032x}", **fields})


@dataclass(slots=True)
class Outgoing:
    """One event on its way: `reply` and `chunk` say what its sound is, `planned_ns` when it was to go out.

    `heard_ns`: when the sound came in that it speaks of.
    """

    fields: Fields
    reply: "Reply | None" = None
    chunk: "Chunk | None" = None
    index: int = 0
    planned_ns: int | None = None
    heard_ns: int | None = None

    @property
    def kind(self) -> str:
        """Its type."""
        return str(self.fields["type"])

    @property
    def is_audio(self) -> bool:
        """Whether it carries sound."""
        return self.chunk is not None


def error(code: str, message: str, event_id: str | None = None) -> Fields:
    """An error event; its class follows from the code."""
    kind = "invalid_request_error"
    if code in _SERVER_ERRORS:
        kind = "server_error"
    elif code in _RATE_ERRORS:
        kind = "rate_limit_error"
    detail: Fields = {"type": kind, "code": code, "message": message}
    if event_id is not None:
        detail["event_id"] = event_id
    return {"type": "error", "error": detail}


def created(session: Fields, generation: int, token: str) -> Fields:
    """session.created: never numbered, and the only place of the first resume token. The id is in `session`."""
    return {
        "type": "session.created",
        "session": session,
        "attachment_generation": generation,
        "resume_token": token,
    }


def resumed(session: Fields, session_id: str, generation: int, token: str) -> Fields:
    """session.resumed: never numbered; the token has been changed."""
    shown = {key: value for key, value in session.items() if key != "object"}
    return {**created(shown, generation, token), "type": "session.resumed", "session_id": session_id}


def public_session(session_id: str, settings: Mapping[str, object], idle_timeout_s: float) -> Fields:
    """The session object; what tells a duplex session is its `capabilities`."""
    shown = {key: value for key, value in settings.items() if key not in ("ref_audio", "extra_body")}
    return {
        **shown,
        "id": session_id,
        "object": "realtime.session",
        "idle_timeout_s": idle_timeout_s,
        "capabilities": {"supports_session_resume": True, "supports_realtime_endpoint": True, "chunk_period_ms": 1000},
    }


def reply_created(reply: "Reply") -> list[Fields]:
    """What announces a response."""
    item = _item(reply, "in_progress")
    response: Fields = {
        "id": reply.id,
        "object": "realtime.response",
        "status": "in_progress",
        "status_details": None,
        "output": [],
        "modalities": ["audio", "text"],
        "metadata": {},
    }
    return [
        {"type": CREATED, "response_id": reply.id, "response": response},
        {"type": "conversation.item.added", "previous_item_id": reply.previous_item, "item": item},
        {"type": "conversation.item.created", "previous_item_id": reply.previous_item, "item": item},
        {"type": "response.output_item.added", "response_id": reply.id, "output_index": 0, "item": item},
        {"type": "response.content_part.added", **_place(reply), "part": {"type": "audio", "transcript": ""}},
    ]


def audio(reply: "Reply", chunk: "Chunk", delta: str) -> Fields:
    """One chunk of sound."""
    return {
        "type": AUDIO_DELTA,
        **_place(reply),
        "delta": delta,
        "format": "pcm16",
        "sample_rate_hz": OUTPUT_RATE_HZ,
        "metadata": {"audio_duration_ms": chunk.duration_ms},
    }


def transcript(reply: "Reply", text: str) -> Fields:
    """The words of one chunk: each audio delta is followed by one."""
    return {"type": "response.output_audio_transcript.delta", **_place(reply), "delta": text}


def ending(reply: "Reply", status: str, reason: str, text: str) -> list[Fields]:
    """What ends a response, the terminal event and what follows it."""
    item = _item(reply, status, text)
    response = {
        "id": reply.id,
        "object": "realtime.response",
        "status": status,
        "status_details": {"type": status, "reason": reason},
        "output": [item],
        "metadata": {},
    }
    heard: list[Fields] = []
    if text:
        heard = [
            {"type": "response.output_audio.done", **_place(reply)},
            {"type": "response.output_audio_transcript.done", **_place(reply), "transcript": text},
        ]
    return [
        *heard,
        {"type": "response.content_part.done", **_place(reply), "part": {"type": "audio", "transcript": text}},
        {"type": "response.output_item.done", "response_id": reply.id, "output_index": 0, "item": item},
        {"type": "conversation.item.done", "previous_item_id": reply.previous_item, "item": item},
        {"type": DONE, "response_id": reply.id, "response": response},
        {"type": "rate_limits.updated", "rate_limits": []},
    ]


def committed(item_id: str, previous: str | None) -> list[Fields]:
    """The caller's turn became an item of the conversation."""
    item = {
        "id": item_id,
        "object": "realtime.item",
        "type": "message",
        "role": "user",
        "status": "completed",
        "content": [{"type": "input_audio", "transcript": ""}],
    }
    return [
        {"type": "conversation.item.added", "previous_item_id": previous, "item": item},
        {"type": "conversation.item.created", "previous_item_id": previous, "item": item},
        {"type": "input_audio_buffer.committed", "previous_item_id": previous, "item_id": item_id, "event": {}},
        {"type": "conversation.item.done", "previous_item_id": previous, "item": item},
    ]


def _place(reply: "Reply") -> Fields:
    return {"response_id": reply.id, "item_id": f"item_{reply.id}", "output_index": 0, "content_index": 0}


def _item(reply: "Reply", status: str, text: str = "") -> Fields:
    part: Fields = {"type": "output_audio", "transcript": text}
    if reply.sent_ms:
        part["audio_duration_ms"] = reply.sent_ms
        part["audio_text_marks"] = [{"text_chars": chars, "audio_end_ms": end_ms} for chars, end_ms in reply.text_marks]
    return {
        "id": f"item_{reply.id}",
        "object": "realtime.item",
        "type": "message",
        "role": "assistant",
        "status": status,
        "content": [] if status == "in_progress" else [part],
    }
