"""Plays a recorded caller to a server over real sockets and keeps all that it hears.

A caller of `callers.yaml` is a row of steps, each `LINE VERB ARGUMENT`; a line is one connection, named by a letter.

    connect [QUERY]       a WebSocket; its query where it is not the usual one
    open [JSON]           session.update as the rig's callers send it, with some fields changed (null: left out)
    resume LINE [old]     session.resume with what LINE was told last, or with the token before that
    send MESSAGE          one message; $session, $token, $response and $item stand for what was heard last, on any line
    say NAME              a recording of `rig.speech`; from now on the microphone of the line runs in real time
    hear TYPE             wait for the next event of a type
    listen                from now on the microphone of the line runs, with silence
    rest                  hear what still comes until the server has been silent for two seconds
    hang_up HOW           rst, fin or close_frame
    closed                wait until the server ends the connection
"""

import json
import string
from collections import deque
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from clients import wire
from clients.microphone import FRAME_NS, silence, spoken
from clients.transport import Transport, encode_text
from rig.clock import NS_PER_MS, from_s, monotonic_ns
from rig.events.types import ClosedBy
from rig.marks import reference_wav

CALLERS = Path(__file__).with_name("callers.yaml")
LIMIT_S = 45.0
"""The real pipeline on two busy cores needs some seconds for a reply."""
REST_S = 2.0
QUERY = "duplex=1&model={model}&autostart=0"

Fields = dict[str, Any]


@cache
def callers() -> dict[str, tuple[str, ...]]:
    """Steps of every recorded caller by its name."""
    read = yaml.safe_load(CALLERS.read_text(encoding="utf-8"))
    return {name: tuple(text.strip().splitlines()) for name, text in read.items()}


@dataclass
class Line:
    """One connection: its transport, its microphone and what was heard on it, in order."""

    transport: Transport
    heard: list[Fields] = field(default_factory=list)
    arrived: deque[Fields] = field(default_factory=deque)
    """Read from the socket, but not heard yet: a caller who hangs up never hears it, however the network cut it."""
    tokens: list[str] = field(default_factory=list)
    session: str = ""
    over: bool = False
    due_ns: int = 0
    speech: list[bytes] = field(default_factory=list)

    @property
    def last_seq(self) -> int:
        """The newest number heard."""
        return max((event.get("server_event_seq", 0) for event in self.heard), default=0)


class Player:
    """One caller on one server. Never raises for what a server does: it stands in `heard` instead."""

    def __init__(self, url: str, model: str, frame_ns: int = FRAME_NS) -> None:
        self._url = url
        self._model = model
        self._frame_ns = frame_ns
        self._known: dict[str, str] = {"model": model}
        self.lines: dict[str, Line] = {}

    def play(self, steps: tuple[str, ...]) -> dict[str, list[Fields]]:
        """What each line heard; its end, and what it waited for in vain, stand among the events."""
        try:
            for step in steps:
                name, verb, *argument = step.split(maxsplit=2)
                getattr(self, f"_{verb}")(name, *argument)
            return {name: list(line.heard) for name, line in self.lines.items()}
        finally:
            self._leave()

    # ---- steps

    def _connect(self, name: str, query: str = QUERY) -> None:
        address = f"{self._url}{wire.REALTIME_PATH}?{query.format(model=self._model)}"
        self.lines[name] = Line(Transport(address, monotonic_ns() + from_s(LIMIT_S)))

    def _open(self, name: str, changes: str = "{}") -> None:
        message = json.loads(wire.open_session(self._model, reference_wav(7)))
        session = {**message["session"], **json.loads(changes)}
        message["session"] = {key: value for key, value in session.items() if value is not None}
        self._put(name, json.dumps(message).encode())

    def _resume(self, name: str, argument: str) -> None:
        other, *old = argument.split()
        line = self.lines[other]
        tokens = self._all_tokens()[:-1] if old else line.tokens
        if tokens:
            self._put(name, wire.resume_session(line.session, tokens[-1], line.last_seq))
        else:
            self.lines[name].heard.append({"type": "waited in vain for a token"})

    def _send(self, name: str, message: str) -> None:
        self._put(name, string.Template(message).safe_substitute(self._known).encode())

    def _say(self, name: str, recording: str) -> None:
        self.lines[name].speech += spoken(recording)
        self._listen(name)

    def _listen(self, name: str) -> None:
        line = self.lines[name]
        line.due_ns = line.due_ns or monotonic_ns() + self._frame_ns

    def _hear(self, name: str, kind: str) -> None:
        line, limit_ns = self.lines[name], monotonic_ns() + from_s(LIMIT_S)
        while (event := self._next(line, limit_ns)) is not None:
            if event["type"] == kind:
                return
        line.heard.append({"type": f"waited in vain for {kind}"})

    def _rest(self, name: str) -> None:
        line = self.lines[name]
        while self._next(line, monotonic_ns() + from_s(REST_S)) is not None:
            pass

    def _hang_up(self, name: str, how: str) -> None:
        line = self.lines[name]
        self._stop(line)
        {"rst": line.transport.reset, "fin": line.transport.half_close, "close_frame": line.transport.close}[how]()
        line.transport.drain(monotonic_ns() + from_s(LIMIT_S))

    def _closed(self, name: str) -> None:
        self._hear(name, "closed")

    # ---- inside

    def _put(self, name: str, message: bytes) -> None:
        self.lines[name].transport.send(encode_text(message))

    def _stop(self, line: Line) -> None:
        line.over, line.due_ns = True, 0

    def _next(self, line: Line, limit_ns: int) -> Fields | None:
        """The next event of a line; None when time is up or the line has ended. All lines go on meanwhile."""
        while not line.arrived and not line.over and monotonic_ns() < limit_ns:
            for one in self.lines.values():
                self._go_on(one)
        if not line.arrived:
            return None
        event = line.arrived.popleft()
        line.heard.append(event)
        if event["type"] in ("session.created", "session.resumed"):
            line.session = event["session"]["id"]
            line.tokens.append(event["resume_token"])
            self._known |= {"session": line.session, "token": event["resume_token"]}
        elif event["type"] == "response.created":
            self._known |= {"response": event["response"]["id"], "item": f"item_{event['response']['id']}"}
        return event

    def _go_on(self, line: Line) -> None:
        """Speak what is due and read what is there, for some milliseconds at most."""
        if line.over:
            return
        if line.due_ns and monotonic_ns() >= line.due_ns:
            line.transport.send(line.speech.pop(0) if line.speech else silence())
            line.due_ns += self._frame_ns
        messages, _ = line.transport.receive(monotonic_ns() + 2 * NS_PER_MS)
        line.arrived += [json.loads(message) for message in messages]
        if not messages and (closed := line.transport.closed) is not None:
            frame = closed.by is ClosedBy.SERVER_CLOSE_FRAME
            line.arrived.append({"type": "closed", "close_frame": frame, "close_code": closed.code})
            self._stop(line)

    def _all_tokens(self) -> list[str]:
        return [token for line in self.lines.values() for token in line.tokens]

    def _leave(self) -> None:
        """End what is still open, and what only a resume can reach, so that the next caller finds every slot free."""
        over = {
            line.session for line in self.lines.values() for event in line.heard if event["type"] == "session.closed"
        }
        for line in reversed(list(self.lines.values())):
            if line.session and line.session not in over:
                over.add(line.session)
                self._end_session(line)
        for line in self.lines.values():
            line.transport.abandon()

    def _end_session(self, line: Line) -> None:
        if line.over:
            self._connect("end")
            self._put("end", wire.resume_session(line.session, line.tokens[-1], line.last_seq))
            line = self.lines["end"]
        line.transport.send(encode_text(wire.CLOSE_SESSION))
        while self._next(line, monotonic_ns() + from_s(LIMIT_S)) is not None:
            pass
