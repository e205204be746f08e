"""A caller's line to the server: connects, keeps the microphone running, and records all that goes and comes.

Everything happens in the caller's own thread of control: `pump` waits for the next frame to send or the next data to
read, whichever is first, until the caller's condition holds.
"""

from collections.abc import Callable
from typing import Any

from clients import wire
from clients.microphone import FRAME_MS, FRAME_NS, Microphone, silence
from clients.session import Refusal, Session
from clients.transport import Closed, ConnectError, Transport, encode_text
from clients.turns import Turn, Turns
from rig.clock import NS_PER_S, monotonic_ns
from rig.errors import RigError, UsageError
from rig.events.journal import Recorder
from rig.events.types import (
    Act,
    ActTaken,
    CallEvent,
    ClosedBy,
    Connected,
    ConnectFailed,
    ConnectionClosed,
    ConnectStarted,
    FramesSent,
    Outcome,
    Surprise,
    UtteranceEnded,
    UtteranceStarted,
)
from rig.scripts import HangUpHow

GOODBYE_NS = 5 * NS_PER_S
"""How long a caller waits for session.closed and for the end of the connection after saying goodbye."""

LINGER_NS = 5 * NS_PER_S
"""How long a connection that was hung up may stay half-closed."""

NORMAL_CLOSE = 1000

_HANG_UPS = {
    HangUpHow.RST: Act.HANG_UP_RST,
    HangUpHow.FIN: Act.HANG_UP_FIN,
    HangUpHow.CLOSE_FRAME: Act.HANG_UP_CLOSE,
}


class CallOverError(RigError):
    """The call cannot go on; carries how it ended."""

    def __init__(self, outcome: Outcome, detail: str) -> None:
        super().__init__(outcome, detail)
        self.outcome = outcome
        self.detail = detail


class NotDuplexError(UsageError):
    """The server does not speak duplex: the run is set up wrongly, which is no fault of the engine."""


class Line:
    """The connections of one call, one after another; each has its own number."""

    def __init__(self, call: str, url: str, journal: Recorder) -> None:
        self.turns = Turns()
        self.session: Session | None = None
        self.transport: Transport | None = None
        self.microphone: Microphone | None = None
        self._call = call
        self._url = url
        self._journal = journal
        self._connection = -1
        self._lingering: list[tuple[Transport, int]] = []
        self._speaking: Turn | None = None
        self._sent_ms: dict[int, int] = {}

    # ---- connecting

    def connect(self, session: Session, first_message: bytes, started: dict[str, Any], limit_ns: int) -> Refusal | None:
        """Open a connection and on it a session (or the old one again); None when it is ready, else the refusal.

        `started` holds the fields of the ConnectStarted event. Raises CallOverError when there is no connection or no
        answer within `limit_ns`, NotDuplexError when the server is not a duplex server.
        """
        begin_ns = monotonic_ns()
        self._open_socket(started, begin_ns + limit_ns)
        self.attach(session, first_message)
        answered = self.pump(lambda: session.attached or session.refusal is not None, begin_ns + limit_ns)
        if session.duplex_missing is not None:
            self.hang_up_silently()
            raise NotDuplexError(f"{self._url} does not speak duplex: {session.duplex_missing}")
        if session.refusal is not None:
            self.hang_up_silently()
            return session.refusal
        if not answered:
            reason = f"no session within {limit_ns / NS_PER_S:g} s of the connect"
            self.record(ConnectFailed, reason=reason)
            self.hang_up_silently()
            raise CallOverError(Outcome.NO_REPLY, reason)
        self.microphone = Microphone(monotonic_ns())
        return None

    def connect_only(self, session: Session, first_message: bytes, started: dict[str, Any], limit_ns: int) -> None:
        """Open a connection and send the first message, without waiting for the session."""
        self._open_socket(started, monotonic_ns() + limit_ns)
        self.attach(session, first_message)

    def _open_socket(self, started: dict[str, Any], deadline_ns: int) -> None:
        self._connection += 1
        self.record(ConnectStarted, **started)
        try:
            self.transport = Transport(self._url, deadline_ns)
        except ConnectError as error:
            self.record(ConnectFailed, reason=str(error))
            raise CallOverError(Outcome.LOST, str(error)) from error
        self.record(Connected, tcp_ns=self.transport.tcp_ns, handshake_ns=self.transport.handshake_ns)

    def attach(self, session: Session, first_message: bytes) -> None:
        """Make `session` the one that the connection serves, beginning with its first message."""
        session.refusal = None
        self.session = session
        self._open.send(encode_text(first_message))

    # ---- talking

    def speak(self, utterance: str, not_before_ns: int) -> Turn:
        """Begin a turn: speak a recording from the first frame due at or after `not_before_ns`."""
        assert self.microphone is not None
        assert self.session is not None
        turn = self.turns.begin(utterance, self.session.index)
        self.microphone.say(utterance, not_before_ns)
        self._speaking = turn
        return turn

    def send(self, message: bytes) -> None:
        """Send one message now."""
        self._open.send(encode_text(message))

    def pump(self, done: Callable[[], bool], deadline_ns: int) -> bool:
        """Send and receive until `done` holds (True) or the deadline passes (False).

        Raises CallOverError when the connection is lost.
        """
        transport = self._open
        while not done():
            now_ns = monotonic_ns()
            if now_ns >= deadline_ns:
                return False
            until_ns = deadline_ns
            if self.microphone is not None:
                if now_ns >= self.microphone.due_ns:
                    self._send_frame(transport, self.microphone, now_ns)
                    continue
                until_ns = min(deadline_ns, self.microphone.due_ns)
            self._listen(transport, until_ns)
            if transport.closed is not None and not done():
                self._lost(transport.closed)
        return True

    def _send_frame(self, transport: Transport, microphone: Microphone, now_ns: int) -> None:
        assert self.session is not None
        frame = microphone.next_frame()
        due = self.session.due(now_ns)
        data = frame.data if not due else b"".join([frame.data, *map(encode_text, due)])
        transport.send(data)
        session_index = self.session.index
        if frame.first and self._speaking is not None:
            self._speaking.offset_ms = self._sent_ms.get(session_index, 0)
            self._speaking.started_ns = frame.due_ns
            fields = {"turn": self._speaking.index, "utterance": self._speaking.utterance}
            self.record(UtteranceStarted, t_ns=now_ns, planned_ns=frame.due_ns, **fields)
        if frame.last and self._speaking is not None:
            self._speaking.spoken_ns = frame.due_ns
            self.record(UtteranceEnded, t_ns=now_ns, turn=self._speaking.index, planned_ns=frame.due_ns)
            self._speaking = None
        self._sent_ms[session_index] = self._sent_ms.get(session_index, 0) + FRAME_MS
        if microphone.sent(frame, now_ns):
            self._record_slips()
            self._drain(now_ns)

    def _listen(self, transport: Transport, until_ns: int) -> None:
        messages, t_ns = transport.receive(until_ns)
        for data in messages:
            self._hear(data, t_ns)

    def _hear(self, data: bytes, t_ns: int) -> None:
        assert self.session is not None
        try:
            message = wire.decode(data)
        except wire.MalformedError as error:
            self.record(Surprise, t_ns=t_ns, what=str(error))
            return
        for kind, fields in self.session.receive(message, t_ns):
            self.record(kind, t_ns=t_ns, **fields)

    # ---- hanging up

    def hang_up(self, how: HangUpHow, turn: int, planned_ns: int, after_audio_ms: int | None) -> None:
        """End the connection abruptly, exactly as asked."""
        transport = self._open
        act_ns = monotonic_ns()
        if how is HangUpHow.RST:
            transport.reset()
        elif how is HangUpHow.FIN:
            transport.half_close()
        else:
            transport.close(NORMAL_CLOSE)
        self.record(
            ActTaken,
            t_ns=act_ns,
            turn=turn,
            act=_HANG_UPS[how],
            planned_ns=planned_ns,
            after_audio_ms=after_audio_ms,
        )
        self._release(transport)

    def hang_up_silently(self) -> None:
        """Close a connection that serves no session (any more)."""
        transport = self._open
        transport.close(NORMAL_CLOSE)
        self._release(transport)

    def say_goodbye(self, limit_ns: int = GOODBYE_NS, late_ns: int = 0) -> None:
        """End the session and the connection politely; where `late_ns` is given, sound goes on for so long."""
        transport, session = self._open, self.session
        assert session is not None
        begin_ns = monotonic_ns()
        self._goodbye_act(Act.SAY_GOODBYE, begin_ns)
        self._record_slips()
        self.microphone = None
        if session.attached:
            transport.send(encode_text(wire.CLOSE_SESSION))
            if late_ns > 0:
                self._go_on_sending(begin_ns + min(late_ns, limit_ns))
            self._await_closed(begin_ns + limit_ns)
            if session.closed_reason is None and transport.is_open:
                self.record(Surprise, what=f"session.close was not answered within {limit_ns / NS_PER_S:g} s")
        transport.close(NORMAL_CLOSE)
        self._release(transport, asked_to_close=session.attached)

    def _goodbye_act(self, act: Act, t_ns: int) -> None:
        turn = self.turns.last_index
        self.record(ActTaken, t_ns=t_ns, turn=turn, act=act, planned_ns=t_ns, after_audio_ms=None)

    def _go_on_sending(self, until_ns: int) -> None:
        """The first frame leaves right behind `session.close`: the server takes only milliseconds to close."""
        due_ns = monotonic_ns()
        self._goodbye_act(Act.LATE_SOUND, due_ns)
        while due_ns < until_ns:
            self._open.send(silence())
            due_ns += FRAME_NS
            if self._await_closed(min(due_ns, until_ns)):
                return

    def _await_closed(self, until_ns: int) -> bool:
        """Listen until the session is closed or the connection is; False when time is up first."""
        assert self.session is not None
        while self.session.closed_reason is None and self._open.is_open:
            if monotonic_ns() >= until_ns:
                return False
            self._listen(self._open, until_ns)
        return True

    def finish(self, limit_ns: int) -> None:
        """Wait for the ends of all connections that were hung up, then let go of their sockets."""
        until_ns = monotonic_ns() + limit_ns
        for transport, _ in self._lingering:
            if not transport.drain(until_ns):
                transport.abandon()
        self._lingering.clear()

    def _release(self, transport: Transport, *, asked_to_close: bool = False) -> None:
        closed = transport.closed
        assert closed is not None
        by = closed.by
        if asked_to_close and by is ClosedBy.SERVER_CLOSE_FRAME and closed.code == NORMAL_CLOSE:
            by = ClosedBy.CALLER  # session.close asks the server to close
        self._record_slips()
        self.record(ConnectionClosed, t_ns=closed.t_ns, by=by, code=closed.code, reason=closed.reason)
        self.transport = None
        self.microphone = None
        self._speaking = None
        if self.session is not None:
            self.session.detach()
        self._lingering.append((transport, monotonic_ns() + LINGER_NS))

    def _lost(self, closed: Closed) -> None:
        assert self.transport is not None
        session = self.session
        self._release(self.transport)
        said = "" if session is None or session.closed_reason is None else f" after {session.closed_reason}"
        code = "" if closed.code is None else f" {closed.code}"
        raise CallOverError(Outcome.LOST, f"{closed.by}{code}{said}: {closed.reason}".rstrip(": "))

    def _drain(self, now_ns: int) -> None:
        for held in list(self._lingering):
            transport, until_ns = held
            if transport.drain(now_ns):
                self._lingering.remove(held)
            elif now_ns > until_ns:
                transport.abandon()
                self._lingering.remove(held)

    # ---- recording

    def record(self, kind: type[CallEvent], *, t_ns: int | None = None, **fields: Any) -> None:
        """Write one event of this call into the journal."""
        connection = max(0, self._connection)
        self._journal.record(kind, t_ns=t_ns, call=self._call, connection=connection, **fields)

    def _record_slips(self) -> None:
        fields = None if self.microphone is None else self.microphone.take_slips()
        if fields is not None:
            self.record(FramesSent, **fields)

    @property
    def _open(self) -> Transport:
        assert self.transport is not None, "no connection is open"
        return self.transport
