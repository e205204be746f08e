"""One session with a clock and a connection: numbers its events, keeps them for a resume, sends them in order."""

import asyncio
import secrets
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from rig.clock import from_s, monotonic_ns, to_s
from rig.config.pipeline import Golden
from rig.golden import record, wire
from rig.golden.commands import Cancel, Command
from rig.golden.faults import Fault
from rig.golden.record import Record
from rig.golden.replay import Kept, Replay, ReplayOverflowError
from rig.golden.session import Session
from rig.golden.wire import Outgoing


@dataclass(frozen=True, slots=True)
class Waiting:
    """Bytes that wait for the socket, and which event they are; without bytes the session is over."""

    data: bytes
    event: Outgoing | None = None
    replayed: bool = False


class Live:
    """Glue between the session's state machine, its timers, its replay and whichever connection it has now."""

    def __init__(self, session: Session, settings: Golden, faults: Sequence[Fault], log: Record) -> None:
        self.session = session
        self.connection: ServerConnection | None = None
        self.generation = 1
        self.token = secrets.token_urlsafe(32)
        self.replay = Replay(from_s(settings.replay_ttl_s), settings.replay_max_bytes)
        self.on_lost: Callable[[Live, ServerConnection], None] = lambda *_: None
        self.gone = asyncio.Event()
        self._faults = faults
        session.repeats = lambda: any(fault.repeats_turn(session) for fault in faults)
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ns: int | None = None
        self._queue: deque[Waiting] = deque()
        self._wake = asyncio.Event()
        self._resync = False
        self._last_audio_ns: dict[str, int] = {}
        self._pump = asyncio.create_task(self._send_all())
        self._pump.add_done_callback(_complain)

    def start(self, connection: ServerConnection) -> None:
        """Serve the first connection: session.created goes out unnumbered."""
        self.connection = connection
        fields = wire.created(self.session.public, self.generation, self.token)
        self._enqueue(Waiting(wire.encode(fields)))
        self.session.opened()
        self.flush()

    def resume(self, connection: ServerConnection, missed: list[Kept]) -> ServerConnection | None:
        """Serve another connection, with a new token; returns the connection that it takes the session from."""
        replaced, self.connection = self.connection, connection
        self.generation += 1
        self.token = secrets.token_urlsafe(32)
        generation = self.generation
        for fault in self._faults:
            generation = fault.generation(self.session, generation)
        # What waits for the old connection is part of what is replayed.
        while self._queue:
            self._sent(self._queue.popleft(), monotonic_ns(), sent=False)
        fields = wire.resumed(self.session.public, self.session.id, generation, self.token)
        self._enqueue(Waiting(wire.encode(fields)))
        for kept in missed:
            self._enqueue(Waiting(kept.data, kept.event, replayed=True))
        for fault in self._faults:
            self.replay.next_seq = fault.resumed_seq(self.session, self.replay.next_seq)
        self._log.write(
            record.SessionResumed, session=self.session.id, generation=self.generation, replayed=len(missed)
        )
        return replaced

    def obey(self, command: Command, now_ns: int) -> None:
        """Hand a command to the session and send what follows from it."""
        before = self.session.active
        was_stopped = before is None or before.stop_asked_ns is not None
        self.session.obey(command, now_ns)
        if before is not None and not was_stopped and before.stop_asked_ns is not None:
            by = "cancel" if isinstance(command, Cancel) else "speech"
            self._log.write(record.StopSeen, t_ns=now_ns, session=self.session.id, response=before.id, by=by)
        self.flush()

    def flush(self) -> None:
        """Number and send all that the session has to say, and set the timer for what comes next."""
        for event in self.session.take():
            for changed in self._through_faults(event):
                self._number(changed)
        self._set_timer()

    def end(self, more: Sequence[Outgoing] = ()) -> None:
        """The session is over; what it still has to say, and `more`, goes out, then `gone` is set."""
        self._cancel_timer()
        for event in more:
            self._number(event)
        self._enqueue(Waiting(b""))

    def abandon(self) -> None:
        """Stop at once, as the server stops."""
        self._cancel_timer()
        self._pump.cancel()

    # ---- inside

    def _through_faults(self, event: Outgoing) -> list[Outgoing]:
        events = [event]
        for fault in self._faults:
            events = [changed for one in events for changed in fault.outgoing(self.session, one)]
        return events

    def _number(self, event: Outgoing) -> None:
        self._note(event)
        fields = {**event.fields, "server_event_seq": self.replay.next_seq}
        data = wire.encode(fields)
        if not self._resync:
            try:
                self.replay.keep(data, monotonic_ns(), event)
            except ReplayOverflowError:
                self._resync = True
                lost: wire.Fields = {
                    "type": "session.resync_required",
                    "session_id": self.session.id,
                    "reason": "journal_overflow",
                }
                self._enqueue(Waiting(wire.encode(lost)))
        if self._resync:
            data = wire.encode(event.fields)
        self._enqueue(Waiting(data, event))

    def _enqueue(self, waiting: Waiting) -> None:
        self._queue.append(waiting)
        self._wake.set()

    async def _send_all(self) -> None:
        while True:
            while not self._queue:
                self._wake.clear()
                await self._wake.wait()
            waiting = self._queue.popleft()
            if not waiting.data:
                break
            connection = self.connection
            self._sent(waiting, monotonic_ns(), sent=connection is not None)
            if connection is not None:
                await self._send(connection, waiting)
            if waiting.event is not None and waiting.event.reply is not None:
                # After the chunk before it has left: encoding takes a millisecond that no sound should wait for.
                waiting.event.reply.prepare()
        self.gone.set()

    async def _send(self, connection: ServerConnection, waiting: Waiting) -> None:
        try:
            await connection.send(waiting.data, text=True)
        except ConnectionClosed:
            self.on_lost(self, connection)
            return
        if waiting.event is not None and waiting.event.is_audio:
            for fault in self._faults:
                fault.chunk_sent(self.session, waiting.event)

    def _note(self, event: Outgoing) -> None:
        """What was heard is recorded when it was noticed, what is said when it is sent."""
        session, fields = self.session, event.fields
        if event.kind == "input_audio_buffer.speech_started":
            audio_ms, heard_ns = fields["audio_start_ms"], event.heard_ns
            self._log.write(record.SpeechStarted, session=session.id, audio_ms=audio_ms, heard_ns=heard_ns)
        elif event.kind == "input_audio_buffer.speech_stopped":
            audio_ms, heard_ns, turn = fields["audio_end_ms"], event.heard_ns, session.turns
            self._log.write(record.SpeechEnded, session=session.id, turn=turn, audio_ms=audio_ms, heard_ns=heard_ns)

    def _sent(self, waiting: Waiting, t_ns: int, *, sent: bool) -> None:
        event = waiting.event
        if event is None or event.reply is None:
            return
        reply, chunk = event.reply, event.chunk
        about = {"session": self.session.id, "response": reply.id, "sent": sent, "replayed": waiting.replayed}
        if chunk is not None:
            self._last_audio_ns[reply.id] = t_ns
            self._log.write(
                record.ChunkSent,
                t_ns=t_ns,
                **about,
                turn=reply.turn,
                index=event.index,
                planned_ns=event.planned_ns,
                voice=chunk.voice,
                stream=chunk.stream,
                first_token=chunk.first,
                tokens=len(chunk.tokens),
                samples=chunk.samples,
            )
        elif event.kind == wire.CREATED:
            self._log.write(record.ReplyCreated, t_ns=t_ns, **about, turn=reply.turn)
        elif event.kind == wire.DONE:
            response = event.fields["response"]
            assert isinstance(response, dict)
            self._log.write(
                record.ReplyEnded,
                t_ns=t_ns,
                **about,
                planned_ns=event.planned_ns,
                status=response["status"],
                reason=response["status_details"]["reason"],
                last_audio_ns=self._last_audio_ns.get(reply.id),
            )

    def _set_timer(self) -> None:
        due_ns = self.session.due_ns
        if self._timer is not None and due_ns == self._timer_ns:
            return
        self._cancel_timer()
        if due_ns is not None:
            delay_s = to_s(due_ns - monotonic_ns())
            self._timer, self._timer_ns = self._loop.call_later(max(0.0, delay_s), self._tick), due_ns

    def _tick(self) -> None:
        self._timer = None
        self.session.tick(monotonic_ns())
        self.flush()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _complain(pump: "asyncio.Task[None]") -> None:
    """A pump that fails is a fault of this server itself: it must not pass in silence."""
    if not pump.cancelled() and (error := pump.exception()) is not None:
        traceback.print_exception(error)
