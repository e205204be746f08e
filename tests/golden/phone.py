"""A golden server in a thread, and a telephone that speaks to it message by message, faster than real time."""

import asyncio
import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from clients import wire
from rig.config.pipeline import Duplex, Golden
from rig.golden import record
from rig.golden.record import Line, Record
from rig.golden.server import GoldenServer
from rig.marks import MarkReader, reference_wav

Kind = TypeVar("Kind", bound=Line)

QUICK = {"first_audio_ms": 10, "chunk_ms": 200, "pace_ms": 20, "reply_s": 1.0, "reply_spread": 0.0, "barge_in_ms": 5}
"""Replies of five chunks within a tenth of a second."""

LIMIT_S = 10.0
FRAME = bytes(3_200)


class Serving:
    """A running server: where it is, and its record."""

    def __init__(self, server: GoldenServer, path: Path) -> None:
        self.server = server
        self._path = path

    @property
    def url(self) -> str:
        """Base URL."""
        return f"ws://127.0.0.1:{self.server.port}"

    def of(self, kind: type[Kind]) -> list[Kind]:
        """Lines of the record of one kind."""
        return [line for line in record.read(self._path) if isinstance(line, kind)]

    def fired(self) -> list[str]:
        """Faults that fired, in order."""
        return [line.fault for line in self.of(record.FaultFired)]


@contextmanager
def serving(folder: Path, *faults: str, limits: Duplex | None = None, **settings: Any) -> Iterator[Serving]:
    """A golden server for the length of a test, quick unless `settings` say otherwise."""
    golden = Golden(**{**QUICK, **settings}, faults=faults)
    path = folder / "golden.jsonl"
    server = GoldenServer(golden, limits or Duplex(max_sessions=4, reaper_interval_s=0.05), Record(path))
    ready, stop = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def main() -> None:
        loops.append(asyncio.get_running_loop())
        task = asyncio.create_task(server.serve("127.0.0.1", 0, stop))
        while server.port == 0 and not task.done():
            await asyncio.sleep(0.001)
        ready.set()
        await task

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    try:
        assert ready.wait(LIMIT_S)
        yield Serving(server, path)
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        thread.join()


class Phone:
    """One connection."""

    def __init__(self, url: str, query: str = "duplex=1&model=golden&autostart=0") -> None:
        address = f"{url}/v1/realtime?{query}"
        self._stack = ExitStack()
        self.socket: ClientConnection = self._stack.enter_context(
            connect(address, compression=None, max_size=None, open_timeout=LIMIT_S, close_timeout=1)
        )
        self.heard: list[dict[str, Any]] = []

    def __enter__(self) -> "Phone":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def send(self, message: bytes | str | dict[str, Any]) -> None:
        """Send one message."""
        text = json.dumps(message) if isinstance(message, dict) else message
        self.socket.send(text, text=True)

    def next(self) -> dict[str, Any]:
        """The next event."""
        event: dict[str, Any] = json.loads(self.socket.recv(LIMIT_S))
        self.heard.append(event)
        return event

    def until(self, *types: str) -> dict[str, Any]:
        """The next event of one of these types; what comes before it is kept in `heard`."""
        while True:
            event = self.next()
            if event["type"] in types:
                return event

    def until_closed(self) -> int | None:
        """Read to the end; the close code, None when there was no close frame."""
        try:
            while True:
                self.next()
        except ConnectionClosed as closed:
            return None if closed.rcvd is None else closed.rcvd.code

    def open(self, voice: int = 7) -> dict[str, Any]:
        """Open a session; returns session.created."""
        self.send(wire.open_session("golden", reference_wav(voice)))
        created = self.next()
        assert created["type"] == "session.created", created
        return created

    def resume(self, created: dict[str, Any], last_seq: int) -> dict[str, Any]:
        """Take a session up again; returns the answer."""
        self.send(wire.resume_session(created["session"]["id"], created["resume_token"], last_seq))
        return self.next()

    def say(self, speech_ms: int = 300, silence_ms: int = 600) -> None:
        """A tone, then silence, all at once."""
        time_s = np.arange(16 * speech_ms) / 16_000
        tone = (8_000 * np.sin(2 * np.pi * 220 * time_s)).astype("<i2").tobytes()
        self.send(wire.append_audio(tone + bytes(32 * silence_ms)))

    def types(self) -> list[str]:
        """Types of all events heard."""
        return [event["type"] for event in self.heard]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Events of one type heard."""
        return [event for event in self.heard if event["type"] == kind]

    def last_seq(self) -> int:
        """The newest number heard."""
        return max((event.get("server_event_seq", 0) for event in self.heard), default=0)

    def marks(self) -> list[tuple[int, int]]:
        """Voice and index of every token heard."""
        reader = MarkReader()
        chunks = [np.frombuffer(base64.b64decode(event["delta"]), "<i2") for event in self.of(wire.AUDIO_DELTA)]
        marks = [mark for chunk in chunks for mark in reader.feed(chunk)]
        assert reader.unreadable_samples == 0
        return [(mark.voice, mark.index) for mark in marks]


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    turn = threading.Event()
    for _ in range(int(LIMIT_S / 0.01)):
        if condition():
            return
        turn.wait(0.01)
    raise AssertionError("it did not come about")
