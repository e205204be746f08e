"""The golden server on a socket: handshake, read loop, disconnects and reaper, as in upstream's serving.py."""

import asyncio
import itertools
import json
import logging
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from rig import ids
from rig.clock import monotonic_ns, to_s
from rig.config.pipeline import Duplex, Golden
from rig.golden import commands, record, wire
from rig.golden import faults as fault_table
from rig.golden.admission import Admission
from rig.golden.commands import CommandError
from rig.golden.live import Live
from rig.golden.record import Record
from rig.golden.replay import ReplayGapError
from rig.golden.session import Session

PATHS = ("/v1/realtime", "/v1/duplex")
MAX_FRAME_BYTES = 16 << 20
MAX_EVENT_BYTES = 15 << 20
CLOSE_LIMIT_S = 5.0


class GoldenServer:
    """One server. Also what the faults see of it (`faults.base.Plant`)."""

    def __init__(self, settings: Golden, limits: Duplex, log: Record, model: str = "golden") -> None:
        """Raises UsageError for a fault that is not known."""
        self.seed = settings.seed
        self.opened = 0
        self.settings = settings
        self.model = model
        self.faults = []
        for name, fault in fault_table.parse(settings.faults):
            fault.install(self, name)
            self.faults.append(fault)
        self.admission = Admission(limits, settings.idle_ttl_s)
        self.live: dict[str, Live] = {}
        self.port = 0
        self._log = log
        self._streams = itertools.count()
        self._listening_ns = monotonic_ns()
        self._connections = 0
        self._closing: set[asyncio.Future[None]] = set()
        self._idle_timers: list[asyncio.TimerHandle] = []

    async def serve(self, host: str, port: int, stop: asyncio.Event) -> None:
        """Listen until `stop` is set. Port 0 takes a free one, told by `port`."""
        await asyncio.sleep(sum(fault.start_delay_s() for fault in self.faults))
        quiet = logging.getLogger("rig.golden.websockets")
        quiet.setLevel(logging.CRITICAL + 1)
        async with serve(
            self._talk,
            host,
            port,
            process_request=self._http,
            server_header=None,
            close_timeout=1,
            max_size=MAX_FRAME_BYTES,
            max_queue=None,
            compression=None,
            logger=quiet,
        ) as server:
            self.port = next(iter(server.sockets)).getsockname()[1]
            self._listening_ns = monotonic_ns()
            self._log.write(record.Started, pid=os.getpid(), seed=self.seed, faults=list(self.settings.faults))
            say(f"INFO golden server on {host}:{self.port}, faults: {', '.join(self.settings.faults) or 'none'}")
            reaper = asyncio.create_task(self._reap())
            await stop.wait()
            if any(fault.stays() for fault in self.faults):
                await asyncio.Event().wait()
            reaper.cancel()
            for live in self.live.values():
                live.abandon()
        say("INFO golden server is down")

    # ---- what faults see (Plant)

    def running_s(self) -> float:
        """Seconds since the server listens."""
        return to_s(monotonic_ns() - self._listening_ns)

    def sessions(self) -> list[Session]:
        """The sessions that are there, oldest first."""
        return [live.session for live in self.live.values()]

    def note(self, fault: str, session_id: str) -> None:
        """Record that a fault fired."""
        self._log.write(record.FaultFired, fault=fault, session=session_id)

    def kill(self) -> None:
        """SIGKILL this process."""
        os.kill(os.getpid(), signal.SIGKILL)

    def exit(self, status: int) -> None:
        """End this process at once."""
        os._exit(status)

    def freeze(self, seconds: float) -> None:
        """Stand still."""
        time.sleep(seconds)

    def close(self, session_id: str, code: int | None) -> None:
        """End a session's connection."""
        connection = self.live[session_id].connection
        if connection is not None and code is None:
            connection.transport.abort()
        elif connection is not None:
            closing = asyncio.ensure_future(connection.close(code or 1011, "keepalive ping timeout"))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    def lose_slot(self, session_id: str) -> None:
        """Never give a slot back."""
        self.admission.lose(session_id)

    def forget(self, session_id: str) -> None:
        """A session is gone at once."""
        self.live.pop(session_id).abandon()
        self.admission.release(session_id)

    def when_idle_for(self, delay_s: float, action: Callable[[], None]) -> None:
        """Do something when nobody has connected for a while."""
        self._idle_timers.append(asyncio.get_running_loop().call_later(delay_s, action))

    # ---- HTTP

    def _http(self, connection: ServerConnection, request: Request) -> Response | None:
        path = urlsplit(request.path).path
        if path in PATHS:
            return None
        if path == "/health":
            return connection.respond(HTTPStatus.OK, "")
        if path == "/v1/models":
            answer = {"object": "list", "data": [{"id": self.model, "object": "model", "owned_by": "rig"}]}
            response = connection.respond(HTTPStatus.OK, json.dumps(answer))
            response.headers["Content-Type"] = "application/json"
            return response
        return connection.respond(HTTPStatus.NOT_FOUND, "")

    # ---- one connection

    async def _talk(self, connection: ServerConnection) -> None:
        """Serve a connection from its first message to its end; it ends without a close frame unless one was sent."""
        self._connections += 1
        while self._idle_timers:
            self._idle_timers.pop().cancel()
        live: Live | None = None
        try:
            live = await self._greet(connection)
            if live is not None:
                await self._read(connection, live)
        except ConnectionClosed:
            pass
        except Exception:
            # The logger of `websockets` is off, because it takes each early hang-up for an error; this one is ours.
            traceback.print_exc()
            raise
        finally:
            if live is not None:
                self._lost(live, connection)
            self._connections -= 1
            if connection.close_code is None and connection.transport is not None:
                await _drop(connection)
            if self._connections == 0 and self.opened > 0:
                for fault in self.faults:
                    fault.idle()

    async def _greet(self, connection: ServerConnection) -> Live | None:
        """The handshake: a session that this connection serves, or None and the reason as an error event."""
        assert connection.request is not None
        query = parse_qs(urlsplit(connection.request.path).query)
        model = query.get("model", [""])[0]
        waits = query.get("autostart", ["1"])[0].lower() in ("0", "false", "no", "off")
        waits = waits or query.get("resume", ["0"])[0].lower() in ("1", "true", "yes", "on")
        if model and not waits:
            return await self._open(connection, {"model": model})
        first = await self._first(connection)
        if first is None:
            return None
        if first.get("type") == "session.resume":
            return await self._resume(connection, first)
        if first.get("type") == "session.update":
            asked = first.get("session")
            return await self._open(connection, dict(asked) if isinstance(asked, dict) else dict(first))
        return await self._open(connection, {"model": model or None})

    async def _first(self, connection: ServerConnection) -> dict[str, object] | None:
        try:
            async with asyncio.timeout(self.settings.config_timeout_s):
                raw = await connection.recv()
        except TimeoutError:
            await _fail(connection, "config_timeout", "Timeout waiting for session.update")
            return None
        try:
            first = wire.decode(raw)
        except ValueError:
            await _fail(connection, "invalid_json", "Invalid JSON in session.update")
            return None
        if not isinstance(first, dict):
            await _fail(connection, "bad_event", "Realtime event must be a JSON object")
            return None
        return first

    async def _open(self, connection: ServerConnection, asked: dict[str, object]) -> Live | None:
        if self.admission.full or any(fault.refuses() for fault in self.faults):
            limit = self.admission.limits.max_sessions
            await self._refuse(connection, "resource_exhausted", f"duplex_session_capacity_exhausted: limit={limit}")
            return None
        try:
            voice = commands.read_opening(asked)
        except CommandError as problem:
            await self._refuse(connection, problem.code, problem.message)
            return None
        self.opened += 1
        session_id = f"sess_{ids.rng(self.seed, 'session', self.opened).getrandbits(64):016x}"
        session = Session(session_id, voice, self.settings, asked, lambda: next(self._streams))
        self.admission.admit(session_id, monotonic_ns())
        live = self.live[session_id] = Live(session, self.settings, self.faults, self._log)
        live.on_lost = self._lost
        live.start(connection)
        self._log.write(record.SessionOpened, session=session_id, voice=voice)
        return live

    async def _refuse(self, connection: ServerConnection, code: str, text: str) -> None:
        self._log.write(record.SessionRefused, code=code, slots_held=self.admission.held)
        await _fail(connection, code, text)

    async def _resume(self, connection: ServerConnection, payload: Mapping[str, object]) -> Live | None:
        asked = commands.resume(payload)
        if asked is None:
            text = "session.resume requires session_id, resume_token, and a non-negative event sequence"
            await self._refuse(connection, "invalid_session_resume", text)
            return None
        live = self.live.get(asked.session_id)
        if live is None or live.session.closed is not None:
            text = f"Unknown or expired duplex session: {asked.session_id}"
            await self._refuse(connection, "session_resume_expired", text)
            return None
        if asked.token != live.token:
            await self._refuse(connection, "invalid_resume_token", "Invalid duplex session resume token")
            return None
        try:
            missed = live.replay.after(asked.last_seq, monotonic_ns())
        except ReplayGapError:
            gap = {"type": "session.resync_required", "session_id": asked.session_id, "reason": "journal_gap"}
            await connection.send(wire.encode(gap), text=True)
            return None
        except ValueError as problem:
            await self._refuse(connection, "session_resume_conflict", str(problem))
            return None
        self.admission.attach(asked.session_id, monotonic_ns())
        old_generation = live.generation
        replaced = live.resume(connection, missed)
        if replaced is not None:
            await _replace(replaced, asked.session_id, old_generation)
        return live

    async def _read(self, connection: ServerConnection, live: Live) -> None:
        while live.session.closed is None:
            try:
                async with asyncio.timeout(self.settings.idle_timeout_s):
                    raw = await connection.recv()
            except TimeoutError:
                return
            now_ns = monotonic_ns()
            if live.connection is not connection:
                return
            if any(fault.deaf() for fault in self.faults):
                continue
            await self._message(connection, live, raw, now_ns)
        if live.connection is connection:
            await self._finish(live)

    async def _message(self, connection: ServerConnection, live: Live, raw: str | bytes, now_ns: int) -> None:
        if len(raw) > MAX_EVENT_BYTES:
            await _fail(connection, "event_too_large", "Duplex event too large")
            return
        try:
            payload = wire.decode(raw)
        except ValueError:
            await _fail(connection, "invalid_json", "Invalid JSON event")
            return
        if not isinstance(payload, dict) or not isinstance(payload.get("type"), str):
            await _fail(connection, "bad_event", "Duplex event must be a JSON object with a type")
            return
        self.admission.touch(live.session.id, now_ns)
        try:
            if payload["type"] == "session.event_ack":
                _acknowledge(live, payload)
            elif payload["type"] == "session.resume":
                text = "session.resume must be the first message of a new connection"
                raise CommandError("unsupported_session_resume", text)
            else:
                live.obey(commands.translate(payload), now_ns)
        except CommandError as problem:
            await _fail(connection, problem.code, problem.message, problem.event_id)

    # ---- ends

    def _lost(self, live: Live, connection: ServerConnection) -> None:
        """A connection is gone: the session waits for its caller, unless another connection has it."""
        if live.connection is not connection:
            return
        live.connection = None
        if live.session.closed is None:
            self.admission.detach(live.session.id, monotonic_ns())
            self._log.write(record.SessionDetached, session=live.session.id)
            for fault in self.faults:
                fault.detached(live.session)

    async def _finish(self, live: Live) -> None:
        """The caller or the reaper closed the session: free its slot, say the rest, close with 1000."""
        connection = live.connection
        self.live.pop(live.session.id, None)
        asked = connection is not None
        keeping = [fault for fault in self.faults if asked and fault.keeps_closed(live.session)]
        if keeping:
            self.admission.lose(live.session.id)
        elif self.admission.release(live.session.id):
            self._log.write(record.SlotFreed, session=live.session.id, why=live.session.closed)
        live.flush()
        live.end([event for fault in keeping for event in fault.after_goodbye(live.session)])
        await live.gone.wait()
        if connection is not None:
            await connection.close(1000, live.session.closed or "session_closed")

    async def _reap(self) -> None:
        while True:
            await asyncio.sleep(self.admission.limits.reaper_interval_s)
            for session_id, reason in self.admission.expired(monotonic_ns()):
                live = self.live.get(session_id)
                if live is not None:
                    live.session.end("session.expired", reason)
                    await self._finish(live)


def _acknowledge(live: Live, payload: Mapping[str, object]) -> None:
    seq = payload.get("server_event_seq")
    if not isinstance(seq, int) or seq < 0:
        raise CommandError("invalid_event_ack", "session.event_ack requires a non-negative server_event_seq")
    try:
        live.replay.acknowledge(seq)
    except ValueError as problem:
        raise CommandError("invalid_event_ack", str(problem)) from problem


async def _fail(connection: ServerConnection, code: str, text: str, event_id: str | None = None) -> None:
    """Errors of the transport are never numbered."""
    await connection.send(wire.encode(wire.error(code, text, event_id)), text=True)


async def _replace(connection: ServerConnection, session_id: str, generation: int) -> None:
    gone = {"type": "session.replaced", "session_id": session_id, "attachment_generation": generation}
    try:
        await connection.send(wire.encode(gone), text=True)
        await connection.close(1000, "session_replaced")
    except ConnectionClosed:
        return


async def _drop(connection: ServerConnection) -> None:
    """End a connection without a close frame, as the ASGI server does after the endpoint has returned."""
    connection.transport.close()
    async with asyncio.timeout(CLOSE_LIMIT_S):
        await connection.wait_closed()


def say(text: str) -> None:
    """One line into the log, in the form in which vLLM writes it."""
    print(f"(APIServer pid={os.getpid()}) {text}", file=sys.stderr, flush=True)


async def run(settings: Golden, limits: Duplex, log: Record, host: str, port: int, model: str) -> None:
    """Serve until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await GoldenServer(settings, limits, log, model).serve(host, port, stop)
