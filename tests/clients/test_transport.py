"""Connections on real sockets: who ended them, how, and when."""

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol

from clients.transport import ConnectError, Transport, encode_text
from rig.clock import NS_PER_S, monotonic_ns
from rig.events.types import ClosedBy

LIMIT_NS = 10 * NS_PER_S


class Peer:
    """The server's end of one connection, down to the socket."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.protocol = ServerProtocol(max_size=None)
        self.frames: list[Frame] = []
        self.ended: str | None = None

    def read(self) -> None:
        """Read once; note the end of the stream and how it came."""
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionResetError:
            self.ended = "reset"
            return
        if not data:
            self.ended = "fin"
            return
        self.protocol.receive_data(data)
        for event in self.protocol.events_received():
            if isinstance(event, Frame):
                self.frames.append(event)
            elif isinstance(event, Request):
                self.protocol.send_response(self.protocol.accept(event))
        self.flush()

    def flush(self) -> None:
        """Send what the protocol has to say; nothing at all stands for a FIN."""
        for data in self.protocol.data_to_send():
            if data:
                self.socket.sendall(data)
            else:
                with suppress(OSError):  # the client may be gone already
                    self.socket.shutdown(socket.SHUT_WR)

    def send(self, data: bytes, *, fin: bool = True, opcode: Opcode = Opcode.TEXT) -> None:
        """Send one frame."""
        self.socket.sendall(Frame(opcode, data, fin).serialize(mask=False))

    def reset(self) -> None:
        """Reset the connection."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


@contextmanager
def listening(serve: Callable[[Peer], None]) -> Iterator[tuple[str, list[Peer]]]:
    """A server that shakes hands with one connection and then does what `serve` says."""
    peers: list[Peer] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(10)
                peers.append(Peer(connection))
                peers[0].read()
                serve(peers[0])

        thread = threading.Thread(target=run)
        thread.start()
        yield f"ws://127.0.0.1:{listener.getsockname()[1]}/", peers
        thread.join(timeout=20)
        assert not thread.is_alive()


def until_end(peer: Peer) -> None:
    """Read until the stream ends."""
    while peer.ended is None:
        peer.read()


def connect(url: str) -> Transport:
    return Transport(url, monotonic_ns() + LIMIT_NS)


def read_to_end(transport: Transport) -> list[bytes]:
    """All messages until the connection has ended."""
    deadline_ns = monotonic_ns() + LIMIT_NS
    messages, _ = transport.receive(deadline_ns)
    while transport.is_open and monotonic_ns() < deadline_ns:
        messages += transport.receive(deadline_ns)[0]
    return messages


def test_connect_and_handshake_are_timed_apart() -> None:
    with listening(lambda peer: time.sleep(0)) as (url, _):
        transport = connect(url)
        assert 0 < transport.tcp_ns < transport.handshake_ns
        transport.abandon()


def test_nobody_listening_is_a_connect_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ConnectError, match=r"TCP connect to 127\.0\.0\.1"):
        connect(f"ws://127.0.0.1:{port}/")


def test_a_server_that_does_not_answer_is_a_connect_error_at_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"ws://127.0.0.1:{listener.getsockname()[1]}/"
        with pytest.raises(ConnectError, match="handshake: timed out"):
            Transport(url, monotonic_ns() + NS_PER_S // 10)


def test_messages_arrive_whole_whatever_their_frames_and_packets() -> None:
    def serve(peer: Peer) -> None:
        peer.send(b"one")
        peer.send(b"t", fin=False)
        peer.send(b"wo", opcode=Opcode.CONT)
        data = Frame(Opcode.TEXT, b"three").serialize(mask=False)
        for index in range(len(data)):
            peer.socket.sendall(data[index : index + 1])
        peer.send(b"x" * 3_000_000)

    with listening(serve) as (url, _):
        transport = connect(url)
        assert read_to_end(transport) == [b"one", b"two", b"three", b"x" * 3_000_000]
        transport.abandon()


def test_receive_returns_at_its_deadline_with_nothing() -> None:
    with listening(until_end) as (url, _):
        transport = connect(url)
        assert transport.receive(monotonic_ns() + 1_000_000)[0] == []
        assert transport.receive(0)[0] == []
        assert transport.is_open
        transport.reset()


def test_what_is_sent_arrives_and_can_be_sent_again() -> None:
    with listening(until_end) as (url, peers):
        transport = connect(url)
        frame = encode_text(b"hello")
        transport.send(frame + frame)
        transport.close()
        assert transport.drain(monotonic_ns() + LIMIT_NS)
    assert [bytes(frame.data) for frame in peers[0].frames if frame.opcode is Opcode.TEXT] == [b"hello", b"hello"]


def test_pings_are_answered() -> None:
    def serve(peer: Peer) -> None:
        peer.send(b"beat", opcode=Opcode.PING)
        while not peer.frames:
            peer.read()

    with listening(serve) as (url, peers):
        transport = connect(url)
        read_to_end(transport)
        transport.abandon()
    assert (peers[0].frames[0].opcode, bytes(peers[0].frames[0].data)) == (Opcode.PONG, b"beat")


def test_a_reset_reaches_the_server_as_a_reset() -> None:
    with listening(until_end) as (url, peers):
        transport = connect(url)
        transport.reset()
        assert transport.closed is not None
        assert (transport.closed.by, transport.closed.code) == (ClosedBy.CALLER, None)
    assert peers[0].ended == "reset"


def test_a_half_close_reaches_the_server_as_a_fin_and_the_rest_is_still_read() -> None:
    def serve(peer: Peer) -> None:
        until_end(peer)
        peer.send(b"said after the caller had gone")

    with listening(serve) as (url, peers):
        transport = connect(url)
        transport.half_close()
        assert transport.drain(monotonic_ns() + LIMIT_NS)
        assert transport.closed is not None
        assert transport.closed.by is ClosedBy.CALLER
    assert peers[0].ended == "fin"
    assert peers[0].frames == []


def test_a_half_closed_connection_is_let_go_at_the_bound() -> None:
    release = threading.Event()

    def serve(peer: Peer) -> None:
        release.wait(10)

    with listening(serve) as (url, _):
        transport = connect(url)
        transport.half_close()
        assert not transport.drain(monotonic_ns() + 1_000_000)
        transport.abandon()
        assert transport.drain(0)
        release.set()


def test_a_close_frame_carries_its_code() -> None:
    with listening(until_end) as (url, peers):
        transport = connect(url)
        transport.close(1000)
        transport.drain(monotonic_ns() + LIMIT_NS)
        assert transport.closed is not None
        assert (transport.closed.by, transport.closed.code) == (ClosedBy.CALLER, 1000)
    assert peers[0].protocol.close_rcvd is not None
    assert peers[0].protocol.close_rcvd.code == 1000


def test_a_close_frame_of_the_server_is_told_with_its_code_and_answered() -> None:
    def serve(peer: Peer) -> None:
        peer.send(b"last words")
        peer.protocol.send_close(1011, "busy")
        peer.flush()
        until_end(peer)

    with listening(serve) as (url, peers):
        transport = connect(url)
        assert read_to_end(transport) == [b"last words"]
        assert transport.closed is not None
        assert transport.closed.by is ClosedBy.SERVER_CLOSE_FRAME
        assert (transport.closed.code, transport.closed.reason) == (1011, "busy")
        transport.close()
        assert transport.closed.by is ClosedBy.SERVER_CLOSE_FRAME
        transport.abandon()
    assert peers[0].frames[-1].opcode is Opcode.CLOSE


def test_the_end_of_the_stream_without_a_close_frame_is_told_apart() -> None:
    with listening(lambda peer: None) as (url, _):
        transport = connect(url)
        assert read_to_end(transport) == []
        assert transport.closed is not None
        assert (transport.closed.by, transport.closed.code) == (ClosedBy.SERVER_EOF, None)
        transport.abandon()


def test_a_reset_by_the_server_is_told_apart() -> None:
    with listening(Peer.reset) as (url, _):
        transport = connect(url)
        assert read_to_end(transport) == []
        assert transport.closed is not None
        assert transport.closed.by is ClosedBy.SERVER_RESET
        transport.abandon()


def test_a_reset_that_a_send_meets_first_is_still_told_as_a_reset() -> None:
    with listening(Peer.reset) as (url, peers):
        transport = connect(url)
        deadline_ns = monotonic_ns() + LIMIT_NS
        while peers[0].socket.fileno() >= 0 and monotonic_ns() < deadline_ns:
            time.sleep(0.001)
        for _ in range(3):
            transport.send(encode_text(b"anybody there?"))
        read_to_end(transport)
        assert transport.closed is not None
        assert transport.closed.by is ClosedBy.SERVER_RESET
        transport.abandon()


def test_a_frame_that_breaks_the_protocol_ends_the_connection_by_the_caller() -> None:
    def serve(peer: Peer) -> None:
        peer.socket.sendall(b"\xff\xff\xff")
        until_end(peer)

    with listening(serve) as (url, _):
        transport = connect(url)
        read_to_end(transport)
        assert transport.closed is not None
        assert transport.closed.by is ClosedBy.CALLER
        assert "protocol error" in transport.closed.reason
        transport.abandon()
