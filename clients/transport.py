"""A WebSocket connection whose every byte is timed and whose hang-ups are exact.

Framing comes from the sans-I/O protocol of the `websockets` package; the socket is plain (under Locust, gevent makes it
cooperative). Data is stamped right after the socket read. Compression is off: it would cost the caller time that the
measures would then blame on the server.
"""

import contextlib
import socket
import ssl
import struct
from dataclasses import dataclass

from websockets.client import ClientProtocol
from websockets.frames import Close, Frame, Opcode
from websockets.protocol import CONNECTING, OPEN
from websockets.uri import parse_uri

from rig.clock import NS_PER_S, monotonic_ns
from rig.errors import RigError
from rig.events.types import ClosedBy

MAX_MESSAGE_BYTES = 64 << 20
READ_BYTES = 64 << 10
SEND_LIMIT_NS = 5 * NS_PER_S
"""A server that takes no bytes for so long has stopped reading."""

NO_CODE = 1005
"""What `websockets` reports for a close frame without a code."""


class ConnectError(RigError):
    """No WebSocket came to be; the text says at which step and why."""


@dataclass(frozen=True)
class Closed:
    """How a connection ended: who was first, the close code if a frame told one, and when it was noticed."""

    by: ClosedBy
    code: int | None
    reason: str
    t_ns: int


def encode_text(message: bytes) -> bytes:
    """A text message as it goes over the wire.

    The mask is drawn here and stays, so that a frame that is sent many times is encoded once; masks guard
    intermediaries against hostile web pages, of which there are none here.
    """
    return Frame(Opcode.TEXT, message).serialize(mask=True)


class Transport:
    """One WebSocket connection, from the TCP connect to the last byte. Not for several threads at once."""

    def __init__(self, url: str, deadline_ns: int) -> None:
        """Connect and shake hands before `deadline_ns`. Raises ConnectError."""
        uri = parse_uri(url)
        self._protocol = ClientProtocol(uri, max_size=MAX_MESSAGE_BYTES)
        self._parts: list[bytes] = []
        self._early: tuple[list[bytes], int] = ([], 0)
        self._broken: Closed | None = None
        self._mid_send = False
        self._drained = False
        self.closed: Closed | None = None
        begin_ns = monotonic_ns()
        try:
            self._socket = socket.create_connection((uri.host, uri.port), timeout=_left_s(deadline_ns))
        except OSError as error:
            raise ConnectError(f"TCP connect to {uri.host}:{uri.port}: {_why(error)}") from error
        connected_ns = monotonic_ns()
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if uri.secure:
                self._socket = ssl.create_default_context().wrap_socket(self._socket, server_hostname=uri.host)
            self._shake_hands(deadline_ns)
        except BaseException:
            self._socket.close()
            raise
        self.tcp_ns = connected_ns - begin_ns
        self.handshake_ns = monotonic_ns() - begin_ns

    @property
    def is_open(self) -> bool:
        """Whether neither side has ended the connection."""
        return self.closed is None

    def send(self, frames: bytes) -> None:
        """Send frames made by `encode_text`. An error here surfaces in `receive`, after what had arrived before it."""
        self._write(frames)

    def receive(self, until_ns: int) -> tuple[list[bytes], int]:
        """Wait for data until `until_ns`: whole messages and the time of the socket read.

        Empty when time is up, when only part of a message came, or when the connection ended (see `closed`).
        """
        if self._early[0]:
            early, self._early = self._early, ([], 0)
            return early
        if self.closed is not None:
            return [], monotonic_ns()
        try:
            self._socket.settimeout(max(until_ns - monotonic_ns(), 0) / NS_PER_S)
            data = self._socket.recv(READ_BYTES)
        except (TimeoutError, BlockingIOError, ssl.SSLWantReadError):
            return [], monotonic_ns()
        except OSError as error:
            self._lost(error, monotonic_ns())
            return [], monotonic_ns()
        t_ns = monotonic_ns()
        if not data:
            self._lost(None, t_ns)
            return [], t_ns
        self._protocol.receive_data(data)
        messages = self._messages()
        self._answer(t_ns)
        return messages, t_ns

    def reset(self) -> None:
        """Hang up with a TCP reset."""
        self._end(ClosedBy.CALLER, None, "reset")
        self._close_with_reset()

    def half_close(self) -> None:
        """Hang up with a FIN: nothing more is sent, `drain` reads on until the server closes too."""
        self._end(ClosedBy.CALLER, None, "FIN")
        # The server may have reset the connection in this very moment; then there is nothing left to half-close.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def close(self, code: int = 1000) -> None:
        """Hang up with a close frame; `drain` reads on until the server closes too."""
        if self._mid_send:
            # A frame was cut short by a kill: a close frame behind it would be read as its payload.
            self.reset()
            return
        was_open = self.closed is None
        self._end(ClosedBy.CALLER, code, "close frame")
        if was_open and self._protocol.state is OPEN:
            self._protocol.send_close(code)
            self._flush()

    def drain(self, until_ns: int) -> bool:
        """After a hang-up: throw away what still arrives; True once the server has closed and the socket is gone."""
        while not self._drained:
            try:
                self._socket.settimeout(max(until_ns - monotonic_ns(), 0) / NS_PER_S)
                if self._socket.recv(READ_BYTES):
                    continue
            except (TimeoutError, BlockingIOError, ssl.SSLWantReadError):
                return False
            except OSError:
                pass  # a reset ends the connection as well as a FIN does
            self.abandon()
        return True

    def abandon(self) -> None:
        """Let go of the socket, whatever its state."""
        self._drained = True
        self._socket.close()

    # ---- inside

    def _shake_hands(self, deadline_ns: int) -> None:
        self._protocol.send_request(self._protocol.connect())
        for data in self._protocol.data_to_send():
            self._socket.sendall(data)
        while self._protocol.handshake_exc is None and self._protocol.state is CONNECTING:
            try:
                self._socket.settimeout(_left_s(deadline_ns))
                data = self._socket.recv(READ_BYTES)
            except OSError as error:
                raise ConnectError(f"WebSocket handshake: {_why(error)}") from error
            if data:
                self._protocol.receive_data(data)
            else:
                self._protocol.receive_eof()
        if self._protocol.handshake_exc is not None:
            raise ConnectError(f"WebSocket handshake: {self._protocol.handshake_exc}")
        # Frames, even a close frame, may have come in one packet with the response.
        self._early = self._messages(), monotonic_ns()
        self._answer(self._early[1])

    def _messages(self) -> list[bytes]:
        messages: list[bytes] = []
        for event in self._protocol.events_received():
            if not isinstance(event, Frame) or event.opcode not in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
                continue
            if event.fin and not self._parts:
                messages.append(bytes(event.data))
                continue
            self._parts.append(bytes(event.data))
            if event.fin:
                messages.append(b"".join(self._parts))
                self._parts.clear()
        return messages

    def _answer(self, t_ns: int) -> None:
        """Send the pongs and the close frame that the protocol owes, and notice a close."""
        self._flush()
        received = self._protocol.close_rcvd
        if received is not None:
            code = None if received.code == NO_CODE else received.code
            self._end(ClosedBy.SERVER_CLOSE_FRAME, code, received.reason, t_ns)
        elif self._protocol.parser_exc is not None:
            sent = self._protocol.close_sent or Close(1002, "")
            self._end(ClosedBy.CALLER, sent.code, f"protocol error: {self._protocol.parser_exc}", t_ns)

    def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._write(data)
            else:
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_WR)

    def _write(self, data: bytes) -> None:
        if self._broken is not None:
            return
        self._mid_send = True
        try:
            self._socket.settimeout(SEND_LIMIT_NS / NS_PER_S)
            self._socket.sendall(data)
        except TimeoutError:
            reason = f"the server read nothing for {SEND_LIMIT_NS // NS_PER_S} s"
            self._broken = Closed(ClosedBy.CALLER, None, reason, monotonic_ns())
            self._end(ClosedBy.CALLER, None, reason)
            return
        except OSError as error:
            self._broken = Closed(_breaker(error), None, _why(error), monotonic_ns())
        self._mid_send = False

    def _lost(self, error: OSError | None, t_ns: int) -> None:
        """The read end is over: a failed write that came before it tells more than the end of file."""
        if error is not None:
            self._end(_breaker(error), None, _why(error), t_ns)
        elif self._broken is not None:
            self._end(self._broken.by, None, self._broken.reason, t_ns)
        else:
            self._end(ClosedBy.SERVER_EOF, None, "end of file without a close frame", t_ns)

    def _end(self, by: ClosedBy, code: int | None, reason: str, t_ns: int | None = None) -> None:
        if self.closed is None:
            self.closed = Closed(by, code, reason, monotonic_ns() if t_ns is None else t_ns)

    def _close_with_reset(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.abandon()


def _left_s(deadline_ns: int) -> float:
    """Seconds until a deadline; a passed one leaves a millisecond, because 0 makes a socket non-blocking."""
    return max(deadline_ns - monotonic_ns(), 1_000_000) / NS_PER_S


def _breaker(error: OSError) -> ClosedBy:
    reset = isinstance(error, ConnectionResetError | BrokenPipeError)
    return ClosedBy.SERVER_RESET if reset else ClosedBy.SERVER_EOF


def _why(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "timed out"
    return error.strerror or str(error)
