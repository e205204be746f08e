"""One duplex session as the server sees it: a state machine without socket and clock.

In go commands and the time; out come events (`take`) and when to call `tick` next (`due_ns`). A session outlives its
connections. Modelled on vllm_omni/engine/duplex/session/runner.py, for server VAD with barge-in on speech.
"""

import itertools
from collections import deque
from collections.abc import Callable

from rig.config.pipeline import Golden
from rig.golden import commands, wire
from rig.golden.commands import Command
from rig.golden.reply import Reply
from rig.golden.vad import Detector, Edge
from rig.golden.voice import make_plan
from rig.golden.wire import Fields, Outgoing

Counter = Callable[[], int]


class Session:
    """State of one session. `next_stream` numbers the replies of the whole server, as its one vocoder does."""

    def __init__(self, session_id: str, voice: int, settings: Golden, asked: Fields, next_stream: Counter) -> None:
        self.id = session_id
        self.voice = voice
        self.asked = asked
        self.closed: str | None = None
        self.turns = 0
        self.replies: dict[str, Reply] = {}
        self.active: Reply | None = None
        self.speech_ended_ms: int | None = None
        self._settings = settings
        self._next_stream = next_stream
        self.repeats: Callable[[], bool] = lambda: False
        self._detector = Detector(settings.speech_ms, settings.silence_ms)
        self._uncommitted = False
        self._last_item: str | None = None
        self._user_numbers = itertools.count(1)
        self._user_item = self._next_user_item()
        """The item that the caller's sound will be: one and the same until the caller commits it."""
        self._came_in: deque[tuple[int, int]] = deque()
        """Of each piece of the caller's sound: where it ends, and when it came in; as far back as an edge can name."""
        self._out: list[Outgoing] = []
        self._obey: dict[type, Callable[[Command, int], None]] = {
            commands.Append: self._hear,
            commands.Commit: self._commit,
            commands.Cancel: self._cancel,
            commands.CreateResponse: self._create,
            commands.ClearInput: self._clear_input,
            commands.ClearOutput: self._clear_output,
            commands.PlaybackAck: self._playback,
            commands.Heartbeat: lambda *_: self._say({"type": "session.heartbeat_ack", "session_id": self.id}),
            commands.Close: self._close,
            commands.Update: self._update,
        }

    @property
    def public(self) -> Fields:
        """The session object as it is told to the caller."""
        return wire.public_session(self.id, self.asked, self._settings.idle_timeout_s)

    @property
    def due_ns(self) -> int | None:
        """When `tick` has something to do; None while nothing is planned."""
        return None if self.active is None else self.active.due_ns

    def opened(self) -> None:
        """The session is there and its first connection has been told."""
        self._say({"type": "session.updated", "session": self.public})

    def obey(self, command: Command, now_ns: int) -> None:
        """Do what the caller asks."""
        self._obey[type(command)](command, now_ns)

    def tick(self, now_ns: int) -> None:
        """Do what is due."""
        if self.active is None:
            return
        self._out += self.active.step(now_ns)
        if self.active.ended:
            self.active = None

    def take(self) -> list[Outgoing]:
        """The events since the last call, in order."""
        out, self._out = self._out, []
        return out

    def end(self, kind: str, reason: str) -> None:
        """End the session with `session.closed` or `session.expired`; a running reply is dropped without a word."""
        self.closed = reason
        self.active = None
        details: Fields = {"event": {}} if kind == "session.closed" else {}
        self._say({"type": kind, "session_id": self.id, "reason": reason, **details})

    def answer(self, now_ns: int) -> None:
        """Begin a reply. Where `repeats` says so (a fault), it is the previous one once more under a new id."""
        number = len(self.replies) + 1
        settings = self._settings
        previous = next(reversed(self.replies.values()), None)
        repeats = self.repeats()
        plan = make_plan(
            settings.seed,
            self.voice,
            number,
            self._next_stream(),
            reply_s=settings.reply_s,
            spread=settings.reply_spread,
            chunk_ms=settings.chunk_ms,
        )
        if repeats and previous is not None:
            plan = previous.plan
        reply = Reply(f"resp_{self.id}_{number}", plan, settings, now_ns, self.turns, self._last_item)
        self._last_item = f"item_{reply.id}"
        self.replies[reply.id] = reply
        self.active = reply
        self._out += [Outgoing(fields, reply) for fields in wire.reply_created(reply)]

    # ---- the caller's sound

    def _hear(self, command: Command, now_ns: int) -> None:
        assert isinstance(command, commands.Append)
        if not command.pcm:
            text = "input_audio_buffer.append requires audio and/or video_frames"
            self._error("invalid_input_modality", text, command.event_id)
            return
        self._uncommitted = True
        edges = self._detector.feed(command.pcm)
        self._came_in.append((self._detector.heard_ms, now_ns))
        for edge in edges:
            self._edge(edge, now_ns)
        while self._came_in[0][0] < self._detector.earliest_ms:
            self._came_in.popleft()

    def _edge(self, edge: Edge, now_ns: int) -> None:
        item_id = self._user_item
        if edge.started:
            fields: Fields = {"audio_start_ms": edge.audio_ms, "item_id": item_id}
            heard_ns = self._came_in_ns(self._detector.first_ms + 1)
            self._out.append(Outgoing({"type": "input_audio_buffer.speech_started", **fields}, heard_ns=heard_ns))
            self._interrupt(now_ns)
            return
        self.speech_ended_ms = edge.audio_ms
        fields = {"audio_end_ms": edge.audio_ms, "item_id": item_id}
        heard_ns = self._came_in_ns(edge.audio_ms)
        self._out.append(Outgoing({"type": "input_audio_buffer.speech_stopped", **fields}, heard_ns=heard_ns))
        self._turn(now_ns, respond=True)

    def _came_in_ns(self, audio_ms: int) -> int:
        """When the sound up to a place of the session's sound had come in."""
        return next(t_ns for until_ms, t_ns in self._came_in if until_ms >= audio_ms)

    def _interrupt(self, now_ns: int) -> None:
        """The caller speaks: a reply in the making is stopped; nothing is said of one that is only being played."""
        if self.active is not None:
            self.active.stop(now_ns, "turn_detected", self._settings.barge_in_ms)

    def _turn(self, now_ns: int, *, respond: bool) -> None:
        """What was heard is a turn of the caller now. One that the server found itself becomes no item of its own."""
        self.turns += 1
        self._uncommitted = False
        if not respond:
            return
        if self.active is not None:
            self.active.stop(now_ns, "turn_detected", 0)
            self.tick(now_ns)
        self.answer(now_ns)

    def _commit(self, command: Command, now_ns: int) -> None:
        assert isinstance(command, commands.Commit)
        if not self._uncommitted:
            text = "input_audio_buffer.commit requires a non-empty input audio buffer"
            self._error("input_audio_buffer_empty", text, command.event_id)
            return
        spoken = self._detector.speaking
        self._detector.reset()
        for fields in wire.committed(self._user_item, self._last_item):
            self._say(fields)
        self._last_item, self._user_item = self._user_item, self._next_user_item()
        if spoken:
            self._turn(now_ns, respond=command.respond)
        self._uncommitted = False

    def _next_user_item(self) -> str:
        return f"item_{self.id}_user_{next(self._user_numbers)}"

    def _clear_input(self, command: Command, now_ns: int) -> None:
        self._detector.reset()
        self._uncommitted = False
        self._say({"type": "input_audio_buffer.cleared"})

    # ---- replies

    def _create(self, command: Command, now_ns: int) -> None:
        if self.active is not None:
            text = "response.create cannot start while another response is active."
            self._error("response_already_active", text)
        elif self.turns == 0:
            text = "Duplex response.create requires committed audio to answer."
            self._error("response_create_without_input", text)
        else:
            self.answer(now_ns)

    def _cancel(self, command: Command, now_ns: int) -> None:
        assert isinstance(command, commands.Cancel)
        wanted, active = command.response_id, self.active
        last = next(reversed(self.replies), None)
        named = wanted or (active.id if active is not None else last)
        reply = None if named is None else self.replies.get(named)
        if reply is not None and reply.ended:
            self._error("response_not_active", f"Response is already complete: {named}", command.event_id)
        elif active is None:
            if wanted is None:
                text = "response.cancel requires an active response"
                self._error("response_not_active", text, command.event_id)
        elif reply is not active:
            self._error("response_not_active", f"Response is not active: {named}", command.event_id)
        else:
            active.stop(now_ns, "client_cancelled", self._settings.cancel_ms)

    def _clear_output(self, command: Command, now_ns: int) -> None:
        assert isinstance(command, commands.ClearOutput)
        last = next(reversed(self.replies), None)
        wanted = command.response_id or (self.active.id if self.active is not None else last)
        self._say({"type": "output_audio_buffer.cleared", "response_id": wanted})
        if self.active is not None and wanted == self.active.id:
            self.active.stop(now_ns, "output_audio_buffer_clear", 0)
            self.tick(now_ns)

    def _playback(self, command: Command, now_ns: int) -> None:
        assert isinstance(command, commands.PlaybackAck)
        response_id, item_id = command.response_id, command.item_id
        if response_id is None and item_id is not None and item_id.startswith("item_"):
            response_id = item_id.removeprefix("item_")
        if response_id is None and self.active is not None:
            response_id = self.active.id
        if item_id is not None and item_id != f"item_{response_id}":
            self._error("playback_item_mismatch", "playback.ack item_id must match item_<response_id>.")
        elif response_id is None or response_id not in self.replies:
            text = f"No assistant response item is registered for {response_id}."
            self._error("playback_item_not_found", text)
        elif self.replies[response_id].played_ms is None and self.turns > self.replies[response_id].turn:
            self._error("playback_ack_too_late", "playback.ack arrived after a later user input was committed.")
        else:
            self.replies[response_id].played_ms = command.committed_ms
            event: Fields = {
                "type": "playback.acknowledged",
                "session_id": self.id,
                "item_id": f"item_{response_id}",
                "played_ms": command.played_ms,
                "committed_ms": command.committed_ms,
            }
            self._say({"type": "playback.acknowledged", "event": event})

    # ---- the session itself

    def _update(self, command: Command, now_ns: int) -> None:
        assert isinstance(command, commands.Update)
        self.asked = {**self.asked, **command.session}
        self._say({"type": "session.updated", "session": self.public})

    def _close(self, command: Command, now_ns: int) -> None:
        assert isinstance(command, commands.Close)
        self.end("session.closed", command.reason)

    def _error(self, code: str, message: str, event_id: str | None = None) -> None:
        self._say(wire.error(code, message, event_id))

    def _say(self, fields: Fields) -> None:
        self._out.append(Outgoing(fields))
