"""A small scripted duplex server on a real socket: enough protocol for every path of a caller, and faults on demand.

Its voice activity detection is exact (a frame of zeros is silence), its replies are short and faster than real time,
and its audio carries marks as the tiny checkpoint's does.
"""

import base64
import io
import json
import secrets
import socket
import struct
import threading
import time
import wave
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from rig.marks import encode_frames, voice_of

STOP_AFTER_SILENT_FRAMES = 2
FRAME_MS = 100
SILENT_FRAME = base64.b64encode(bytes(3_200)).decode()


@dataclass
class Manners:
    """How the server behaves; the default is a healthy server."""

    refusals: list[str] = field(default_factory=list)
    created_delay_s: float = 0.0
    answers: bool = True
    ends: bool = True
    listens_first: bool = False
    speaks_unasked: bool = False
    cancels: bool = True
    resumes: bool = True
    duplex: bool = True
    chunks: int = 4
    chunk_tokens: int = 5
    chunk_every_s: float = 0.1
    breaks_after_chunks: int | None = None
    breaks_by: str = "reset"
    extra_event: dict[str, Any] | None = None
    closed_delay_s: float = 0.0


class Session:
    """One session, which outlives its connection."""

    def __init__(self, owner: "ScriptedServer", voice: int) -> None:
        self.owner = owner
        self.id = f"sess_{secrets.token_hex(4)}"
        self.voice = voice
        self.token = secrets.token_hex(8)
        self.generation = 1
        self.connection: ServerConnection | None = None
        self.events: list[dict[str, Any]] = []
        self.input_ms = 0
        self.silent_frames = 0
        self.speaking = False
        self.reply: Reply | None = None
        self.replies = 0
        self.lock = threading.RLock()

    def send(self, kind: str, **fields: Any) -> None:
        """Number an event, keep it for a resume, and send it if somebody is there."""
        with self.lock:
            event = {"type": kind, "server_event_seq": len(self.events) + 1, **fields}
            self.events.append(event)
            self.raw(event)

    def raw(self, event: dict[str, Any]) -> None:
        """Send an event as it is."""
        with suppress(ConnectionClosed, OSError):
            if self.connection is not None:
                self.connection.send(json.dumps(event))

    def hear(self, audio: str) -> None:
        """One 100 ms frame of the caller."""
        self.input_ms += FRAME_MS
        silent = audio == SILENT_FRAME
        self.silent_frames = self.silent_frames + 1 if silent else 0
        if not silent and not self.speaking:
            self.speaking = True
            self.send("input_audio_buffer.speech_started", audio_start_ms=self.input_ms - FRAME_MS)
            if self.owner.manners.cancels:
                self.cancel("turn_detected")
        elif self.speaking and self.silent_frames >= STOP_AFTER_SILENT_FRAMES:
            self.speaking = False
            self.send("input_audio_buffer.speech_stopped", audio_end_ms=self.input_ms)
            self.send("input_audio_buffer.committed", item_id="item_user")
            self.answer()

    def answer(self) -> None:
        """Begin a reply, or two."""
        manners = self.owner.manners
        if not manners.answers:
            return
        if manners.listens_first:
            self.begin(chunks=0)
        self.begin(chunks=manners.chunks)

    def begin(self, chunks: int) -> None:
        """Begin one reply."""
        self.replies += 1
        self.reply = Reply(self, f"resp_{self.id}_{self.replies}", self.replies, chunks)
        self.reply.start()

    def cancel(self, reason: str) -> None:
        """End the running reply early."""
        reply = self.reply
        if reply is not None:
            reply.end("cancelled", reason)


class Reply(threading.Thread):
    """One reply: chunks of marked audio at an even pace, then the terminal event."""

    def __init__(self, session: Session, response_id: str, stream: int, chunks: int) -> None:
        super().__init__(daemon=True)
        self.session = session
        self.id = response_id
        self.stream = stream
        self.chunks = chunks
        self.over = False
        session.send("response.created", response_id=self.id, response={"id": self.id, "status": "in_progress"})
        if chunks == 0:
            self.end("completed", "listen")

    def run(self) -> None:
        """Speak."""
        manners = self.session.owner.manners
        for number in range(self.chunks):
            time.sleep(manners.chunk_every_s)
            with self.session.lock:
                if self.over:
                    return
                self.speak(number)
            if manners.breaks_after_chunks == number + 1 and self.session.connection is not None:
                break_off(self.session.connection, manners.breaks_by)
                return
        if manners.ends:
            self.end("completed", "stop")
        if manners.speaks_unasked and self.stream == 1:
            self.session.begin(chunks=1)

    def speak(self, number: int) -> None:
        """Send one chunk."""
        count = self.session.owner.manners.chunk_tokens
        tokens = np.arange(count, dtype=np.int64)
        samples = encode_frames(self.session.voice, self.stream, number * count, tokens)
        pcm = (samples * 32_767).astype("<i2").tobytes()
        delta = base64.b64encode(pcm).decode()
        self.session.send("response.output_audio.delta", response_id=self.id, delta=delta)
        self.session.send("response.output_audio_transcript.delta", response_id=self.id, delta="word ")

    def end(self, status: str, reason: str) -> None:
        """Send the terminal event, once."""
        with self.session.lock:
            if self.over:
                return
            self.over = True
            details = {"type": status, "reason": reason}
            response = {"id": self.id, "status": status, "status_details": details}
            self.session.send("response.done", response_id=self.id, response=response)


def break_off(connection: ServerConnection, how: str) -> None:
    """End a connection as a failing server does: `reset`, `eof`, or a close code as text."""
    if how == "reset":
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # The thread that reads lets go of the socket with the caller's next frame; then the reset goes out.
        connection.socket.close()
    elif how == "eof":
        connection.socket.shutdown(socket.SHUT_RDWR)
    else:
        connection.close(int(how), "scripted")


class ScriptedServer:
    """Serves on a free port until it is stopped; remembers what it was sent."""

    def __init__(self, manners: Manners) -> None:
        self.manners = manners
        self.sessions: dict[str, Session] = {}
        self.received: list[dict[str, Any]] = []
        self.lost: list[str] = []
        self.server: Server = serve(
            self.talk,
            "127.0.0.1",
            0,
            compression=None,
            max_size=None,
            ping_interval=None,
            process_request=answer_health,
        )
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        """Base URL for a caller."""
        return f"ws://127.0.0.1:{self.server.socket.getsockname()[1]}"

    def stop(self) -> None:
        """Stop listening."""
        self.server.shutdown()
        self.thread.join()

    def types(self) -> list[str]:
        """Types of the messages received so far."""
        return [message["type"] for message in self.received]

    def talk(self, connection: ServerConnection) -> None:
        """Serve one connection."""
        assert connection.request is not None
        assert parse_qs(urlsplit(connection.request.path).query)["duplex"] == ["1"]
        session: Session | None = None
        try:
            for data in connection:
                try:
                    message = json.loads(data)
                except ValueError:
                    error = {"code": "invalid_json", "message": "Invalid JSON in session.update"}
                    connection.send(json.dumps({"type": "error", "error": error}))
                    return
                self.received.append(message)
                if session is None:
                    session = self.greet(connection, message)
                    if session is None:
                        return
                elif self.obey(session, connection, message):
                    return
        except ConnectionClosed as closed:
            self.lost.append(type(closed).__name__ if closed.rcvd is None else f"close {closed.rcvd.code}")
        except OSError as error:
            self.lost.append(type(error).__name__)
        finally:
            if session is not None and session.connection is connection:
                session.connection = None

    def greet(self, connection: ServerConnection, message: dict[str, Any]) -> Session | None:
        """Open or resume a session, or refuse."""
        if message["type"] == "session.resume":
            return self.resume(connection, message)
        if not self.manners.duplex:
            connection.send(
                json.dumps({"type": "error", "code": "unsupported", "error": "VAD realtime is not enabled"})
            )
            connection.close(1008)
            return None
        if self.manners.refusals:
            code = self.manners.refusals.pop(0)
            connection.send(json.dumps({"type": "error", "error": {"code": code, "message": "refused as scripted"}}))
            return None
        time.sleep(self.manners.created_delay_s)
        session = Session(self, voice_in(message["session"]["ref_audio"]))
        session.connection = connection
        self.sessions[session.id] = session
        session.raw(
            {
                "type": "session.created",
                "session_id": session.id,
                "session": {"id": session.id, "capabilities": {"supports_session_resume": True}},
                "attachment_generation": 1,
                "resume_token": session.token,
            }
        )
        session.send("session.updated", session={"id": session.id})
        if self.manners.extra_event is not None:
            session.send(**self.manners.extra_event)
        return session

    def resume(self, connection: ServerConnection, message: dict[str, Any]) -> Session | None:
        """Take a session up again, with a new token, and replay what was missed."""
        session = self.sessions.get(message["session_id"])
        if not self.manners.resumes or session is None or message["resume_token"] != session.token:
            error = {"code": "session_resume_expired", "message": "gone"}
            connection.send(json.dumps({"type": "error", "error": error}))
            return None
        with session.lock:
            session.token = secrets.token_hex(8)
            session.generation += 1
            session.connection = connection
            session.raw(
                {
                    "type": "session.resumed",
                    "session_id": session.id,
                    "session": {"id": session.id, "capabilities": {}},
                    "attachment_generation": session.generation,
                    "resume_token": session.token,
                }
            )
            for event in session.events[message["last_received_server_event_seq"] :]:
                session.raw(event)
        return session

    def obey(self, session: Session, connection: ServerConnection, message: dict[str, Any]) -> bool:
        """Do what a message asks; True when the connection is over."""
        kind = message["type"]
        if kind == "input_audio_buffer.append":
            session.hear(message["audio"])
        elif kind == "response.cancel":
            session.cancel("client_cancelled")
        elif kind == "playback.ack":
            session.send("playback.acknowledged")
        elif kind == "session.close" and self.manners.closed_delay_s > 0:
            # It goes on reading meanwhile, as a server does that has stages to clean up.
            threading.Timer(self.manners.closed_delay_s, self.close, (session, connection)).start()
        elif kind == "session.close":
            self.close(session, connection)
            return True
        return False

    def close(self, session: Session, connection: ServerConnection) -> None:
        """End a session as its caller asked for."""
        session.send("session.closed", session_id=session.id, reason="client_close")
        del self.sessions[session.id]
        connection.close(1000, "client_close")


def voice_in(data_url: str) -> int:
    """The voice that a reference recording carries."""
    with wave.open(io.BytesIO(base64.b64decode(data_url.partition(",")[2]))) as recording:
        samples = np.frombuffer(recording.readframes(recording.getnframes()), dtype="<i2") / np.float32(32_768)
        voice = voice_of(samples.astype(np.float32), recording.getframerate())
    assert voice is not None
    return voice


def answer_health(connection: ServerConnection, request: Request) -> Response | None:
    """GET /health, as a server that is ready."""
    return connection.respond(HTTPStatus.OK, "{}") if request.path == "/health" else None


@contextmanager
def serving(manners: Manners | None = None) -> Iterator[ScriptedServer]:
    """A server for the length of a test."""
    server = ScriptedServer(manners or Manners())
    try:
        yield server
    finally:
        server.stop()
