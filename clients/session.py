"""One duplex session as its caller sees it: a state machine without socket and clock.

In go the server's messages with the time they were read, and what the caller intends; out come messages to send and
what to write into the journal. A session outlives its connection: after a drop it can be resumed by another one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from clients import wire
from clients.player import Player
from clients.turns import NO_TURN, Turn, Turns
from clients.wire import ServerMessage
from rig.clock import NS_PER_S
from rig.events.types import (
    AudioReceived,
    CallEvent,
    MarkRun,
    Outcome,
    Refused,
    ServerEvent,
    SessionReady,
    Surprise,
    TurnEnded,
)
from rig.marks import Mark, MarkReader

PLAYBACK_ACK_NS = NS_PER_S
"""How often a caller reports playback, as vLLM-Omni's own client is meant to be used."""

HEARTBEAT_NS = 30 * NS_PER_S

RETRYABLE = frozenset({"resource_exhausted"})
"""Refusals that say `not now`."""

RESUME_REFUSALS = frozenset(
    {
        "invalid_session_resume",
        "session_resume_expired",
        "unsupported_session_resume",
        "invalid_resume_token",
        "session_resume_conflict",
        "runtime_resume_failed",
        "resync_required",
    }
)

TURN_BASED_ONLY = "unsupported"
"""Code of the error with which a server that runs without duplex answers."""

Record = tuple[type[CallEvent], dict[str, Any]]
"""An event for the journal: its type and the fields that only the session knows."""


@dataclass(frozen=True)
class Refusal:
    """The server would not open or resume the session."""

    code: str
    text: str


@dataclass
class Reply:
    """One response of the server."""

    response_id: str
    turn: Turn | None
    reader: MarkReader = field(default_factory=MarkReader)
    player: Player = field(default_factory=Player)
    samples: int = 0
    ended: bool = False
    acked_ms: int = -1
    acked_ns: int = 0

    @property
    def turn_index(self) -> int:
        """The turn it belongs to, NO_TURN when nobody asked for it."""
        return NO_TURN if self.turn is None else self.turn.index


class Session:
    """State of one session, over all its connections. Times in nanoseconds, monotonic."""

    def __init__(self, turns: Turns, *, index: int, voice: int) -> None:
        self.index = index
        self.voice = voice
        self.id: str | None = None
        self.resume_token: str | None = None
        self.generation: int | None = None
        self.last_seq = 0
        self.attached = False
        self.refusal: Refusal | None = None
        self.duplex_missing: str | None = None
        self.closed_reason: str | None = None
        self.reply: Reply | None = None
        self._turns = turns
        self._replies: dict[str, Reply] = {}
        self._acked_seq = 0
        self._heartbeat_ns: int | None = None

    # ---- what the caller intends

    @property
    def resumable(self) -> bool:
        """Whether there is anything to resume."""
        return self.id is not None and self.resume_token is not None and self.closed_reason is None

    def detach(self) -> None:
        """The connection is gone."""
        self.attached = False

    def resume(self) -> bytes:
        """The message that takes the session up again; only when it is resumable."""
        assert self.id is not None
        assert self.resume_token is not None
        return wire.resume_session(self.id, self.resume_token, self.last_seq)

    def cancel(self) -> bytes:
        """The message that cancels the running reply."""
        return wire.cancel_response(None if self.reply is None else self.reply.response_id)

    def due(self, now_ns: int) -> list[bytes]:
        """Acknowledgements and heartbeats that are due; none before the session is there."""
        if not self.attached:
            return []
        messages: list[bytes] = []
        if self.last_seq > self._acked_seq:
            self._acked_seq = self.last_seq
            messages.append(wire.acknowledge_events(self.last_seq))
        if self.reply is not None:
            messages.extend(self._playback_ack(self.reply, now_ns))
        if self._heartbeat_ns is None:
            self._heartbeat_ns = now_ns
        elif now_ns - self._heartbeat_ns >= HEARTBEAT_NS:
            self._heartbeat_ns = now_ns
            messages.append(wire.HEARTBEAT)
        return messages

    def silent_from_ns(self) -> int:
        """When the loudspeaker falls silent, as far as audio has arrived; 0 when it never spoke."""
        return 0 if self.reply is None else self.reply.player.silent_from_ns

    def _playback_ack(self, reply: Reply, now_ns: int) -> list[bytes]:
        played_ms = reply.player.played_ms(now_ns)
        finished = reply.ended and now_ns >= reply.player.silent_from_ns
        if played_ms == reply.acked_ms or not (finished or now_ns - reply.acked_ns >= PLAYBACK_ACK_NS):
            return []
        reply.acked_ms = played_ms
        reply.acked_ns = now_ns
        return [wire.acknowledge_playback(reply.response_id, played_ms)]

    # ---- what the server says

    def receive(self, message: ServerMessage, t_ns: int) -> list[Record]:
        """Take one server message in; returns what the journal should say about it."""
        records: list[Record] = []
        seq = message.server_event_seq
        if seq is not None:
            if seq != self.last_seq + 1:
                records.append(_surprise(f"server_event_seq {seq} after {self.last_seq}"))
            self.last_seq = max(self.last_seq, seq)
        if message.type == wire.AUDIO_DELTA:
            return records + self._audio(message, t_ns)
        if message.type not in wire.KNOWN_TYPES:
            records.append(_surprise(f"unknown event type {message.type}"))
        handler = _HANDLERS.get(message.type)
        after = [] if handler is None else handler(self, message, t_ns)
        return [*records, (ServerEvent, self._event_fields(message)), *after]

    def _event_fields(self, message: ServerMessage) -> dict[str, Any]:
        response_id = _response_id(message)
        reply = None if response_id is None else self._replies.get(response_id)
        return {
            "turn": self._turns.last_index if response_id is None else NO_TURN if reply is None else reply.turn_index,
            "name": message.type,
            "server_seq": message.server_event_seq,
            "response_id": response_id,
            "detail": _detail(message),
        }

    def _ready(self, message: ServerMessage, t_ns: int) -> list[Record]:
        info = message.session
        token = message.resume_token
        if token is None and (info is None or info.capabilities is None):
            self.duplex_missing = f"{message.type} without duplex capabilities"
            return []
        resumed = message.type == "session.resumed"
        self.id = message.session_id or (None if info is None else info.id) or self.id
        if token is not None:
            self.resume_token = token
        self.generation = message.attachment_generation
        self.attached = True
        fields = {"session_id": self.id or "", "resumed": resumed, "generation": self.generation, "voice": self.voice}
        return [(SessionReady, fields)]

    def _error(self, message: ServerMessage, t_ns: int) -> list[Record]:
        code, text = _failure(message)
        if self.attached:
            return []
        if code == TURN_BASED_ONLY:
            self.duplex_missing = text
        self.refusal = Refusal(code, text)
        return [(Refused, {"code": code, "detail": text})]

    def _resync(self, message: ServerMessage, t_ns: int) -> list[Record]:
        self.resume_token = None
        if self.attached:
            return []
        text = message.reason or "the server cannot replay what was missed"
        self.refusal = Refusal("resync_required", text)
        return [(Refused, {"code": "resync_required", "detail": text})]

    def _closed(self, message: ServerMessage, t_ns: int) -> list[Record]:
        self.closed_reason = f"{message.type}: {message.reason or 'no reason given'}"
        return []

    def _speech_stopped(self, message: ServerMessage, t_ns: int) -> list[Record]:
        self._turns.speech_stopped(self.index, message.audio_end_ms)
        return []

    def _began(self, message: ServerMessage, t_ns: int) -> list[Record]:
        response_id = _response_id(message)
        if response_id is None:
            return [_surprise("response.created without an id")]
        if response_id in self._replies:
            return [_surprise(f"response {response_id} was created twice")]
        self._begin(response_id)
        return []

    def _begin(self, response_id: str) -> Reply:
        turn = self._turns.answered_by_next(self.index)
        if turn is not None:
            turn.response_id = response_id
        reply = Reply(response_id, turn)
        self._replies[response_id] = reply
        return reply

    def _audio(self, message: ServerMessage, t_ns: int) -> list[Record]:
        records: list[Record] = []
        response_id = _response_id(message) or "unnamed"
        reply = self._replies.get(response_id)
        if reply is None:
            records.append(_surprise(f"audio of response {response_id}, which was never created"))
            reply = self._begin(response_id)
        elif reply.ended:
            records.append(_surprise(f"audio of response {response_id} after its terminal event"))
        try:
            pcm = np.frombuffer(wire.audio_of(message), dtype="<i2")
        except (ValueError, wire.MalformedError) as error:
            return [*records, _surprise(f"audio that cannot be decoded: {error}")]
        before = reply.reader.unreadable_samples
        marks = reply.reader.feed(pcm)
        self._heard(reply, len(pcm), t_ns)
        fields = {
            "turn": reply.turn_index,
            "response_id": _response_id(message),
            "server_seq": message.server_event_seq,
            "samples": len(pcm),
            "marks": mark_runs(marks),
            "unreadable": reply.reader.unreadable_samples - before,
        }
        return [*records, (AudioReceived, fields)]

    def _heard(self, reply: Reply, samples: int, t_ns: int) -> None:
        reply.samples += samples
        if reply.ended:
            return
        reply.player.feed(samples, t_ns)
        self.reply = reply
        turn = reply.turn
        if turn is not None and samples > 0:
            turn.samples += samples
            if turn.first_audio_ns is None:
                turn.first_audio_ns = t_ns

    def _done(self, message: ServerMessage, t_ns: int) -> list[Record]:
        response_id = _response_id(message)
        reply = None if response_id is None else self._replies.get(response_id)
        if reply is None:
            return [_surprise(f"response.done of {response_id}, which was never created")]
        if reply.ended:
            return [_surprise(f"a second terminal event of {response_id}")]
        reply.ended = True
        status = (None if message.response is None else message.response.status) or "completed"
        if status == "cancelled":
            reply.player.stop(t_ns)
        return [*self._leftover(reply), *self._end_turn(reply, status)]

    def _cleared(self, message: ServerMessage, t_ns: int) -> list[Record]:
        """The server wants silence: a barge-in came after the last sound had been sent."""
        if self.reply is not None:
            self.reply.player.stop(t_ns)
        return []

    def _leftover(self, reply: Reply) -> list[Record]:
        before = reply.reader.unreadable_samples
        reply.reader.finish()
        left = reply.reader.unreadable_samples - before
        return [_surprise(f"{left} samples of {reply.response_id} end within a token frame")] if left > 0 else []

    def _end_turn(self, reply: Reply, status: str) -> list[Record]:
        turn = reply.turn
        if turn is None or turn.over:
            return []
        outcome = self._turns.ended(turn, status)
        return [] if outcome is None else [turn_ended(turn, outcome)]


def turn_ended(turn: Turn, outcome: Outcome) -> Record:
    """The record of a turn that is over, and the turn marked so."""
    turn.outcome = outcome
    fields = {
        "turn": turn.index,
        "outcome": outcome,
        "response_id": turn.response_id,
        "audio_ms": turn.audio_ms,
    }
    return TurnEnded, fields


def mark_runs(marks: list[Mark]) -> list[MarkRun]:
    """Marks grouped into runs of consecutive tokens of one voice and stream."""
    numbered = enumerate(marks)
    runs: list[MarkRun] = []
    for (voice, stream, first), run in groupby(
        numbered, lambda item: (item[1].voice, item[1].stream, item[1].index - item[0])
    ):
        members = list(run)
        runs.append(MarkRun(voice, stream, first + members[0][0], len(members)))
    return runs


def _surprise(what: str) -> Record:
    return Surprise, {"what": what}


def _response_id(message: ServerMessage) -> str | None:
    if message.response_id is not None:
        return message.response_id
    return None if message.response is None else message.response.id


def _failure(message: ServerMessage) -> tuple[str, str]:
    error = message.error
    if isinstance(error, wire.Failure):
        return error.code or message.code or "no code", error.message or ""
    return message.code or "no code", error or ""


def _detail(message: ServerMessage) -> str:
    if message.type == "error":
        return ": ".join(_failure(message))
    if message.type == "response.done" and message.response is not None:
        details = message.response.status_details
        reason = None if details is None else details.reason
        return f"{message.response.status}" if reason is None else f"{message.response.status}: {reason}"
    return message.reason or ""


_HANDLERS: dict[str, Callable[[Session, ServerMessage, int], list[Record]]] = {
    "session.created": Session._ready,
    "session.resumed": Session._ready,
    "session.closed": Session._closed,
    "session.expired": Session._closed,
    "session.replaced": Session._closed,
    "session.resync_required": Session._resync,
    "error": Session._error,
    "input_audio_buffer.speech_stopped": Session._speech_stopped,
    "output_audio_buffer.cleared": Session._cleared,
    "response.created": Session._began,
    "response.done": Session._done,
}
