"""A server that a host runs for this rig, in another container or on another machine: the rig's end.

    rig ── one connection: order, reports ── host (rig/pipeline/host.py) ── warden ── server

The host watches the processes and keeps the journal; the rig learns at once what ends a run. A connection that breaks
counts as a lost server: nobody watches it any more.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from rig.errors import PipelineError, UsageError, reason
from rig.pipeline import orders

CONNECT_LIMIT_S = 30.0
CONNECT_RETRY_S = 0.5
READY_SLACK_S = 30.0
STOP_SLACK_S = 60.0

Value = TypeVar("Value")


@dataclass(frozen=True)
class HostAddress:
    """Where a host listens."""

    name: str
    port: int

    def __str__(self) -> str:
        return f"{self.name}:{self.port}"


def parse_host(text: str, *, listen: bool = False) -> HostAddress:
    """Read NAME:PORT; to listen on, port 0 means a free one. Raises UsageError."""
    name, _, port = text.rpartition(":")
    if not name or not port.isdecimal() or not (0 if listen else 1) <= int(port) < 65_536:
        raise UsageError(f"{text!r} is no host; give NAME:PORT")
    return HostAddress(name, int(port))


class RemoteServer:
    """One server on a host, started once. Order of calls as for a local one: `start`, `wait_ready`, `stop`."""

    def __init__(self, address: HostAddress, order: orders.Order, ready_deadline_s: float, stop_grace_s: float) -> None:
        self._address = address
        self._order = order
        self._ready_limit_s = ready_deadline_s + READY_SLACK_S
        self._stop_limit_s = stop_grace_s + STOP_SLACK_S
        loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[orders.Ready | orders.Failed] = loop.create_future()
        self._lost: asyncio.Future[str] = loop.create_future()
        self._stopped: asyncio.Future[str | None] = loop.create_future()
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Base URL of the server's WebSockets; known when it is ready.

        It holds the address that the name had when the run began: a name service that stumbles in the middle of the
        load is no fault of the server, and must not look like one.
        """
        ready = self._ready.result()
        assert isinstance(ready, orders.Ready)
        assert self._writer is not None
        address: str = self._writer.get_extra_info("peername")[0]
        return f"ws://[{address}]:{ready.port}" if ":" in address else f"ws://{address}:{ready.port}"

    async def start(self) -> None:
        """Give the order. Raises PipelineError when the host is not there within CONNECT_LIMIT_S."""
        why = "no answer"
        try:
            async with asyncio.timeout(CONNECT_LIMIT_S):
                while self._writer is None:
                    try:
                        await self._connect()
                    except OSError as error:
                        why = reason(error)
                        await asyncio.sleep(CONNECT_RETRY_S)
        except TimeoutError:
            raise PipelineError(f"no host of a server at {self._address}: {why}") from None

    async def wait_ready(self) -> None:
        """Return when the server accepts duplex sessions. Raises PipelineError with the host's reason."""
        try:
            async with asyncio.timeout(self._ready_limit_s):
                answer = await asyncio.shield(self._ready)
        except TimeoutError:
            raise PipelineError(f"the host at {self._address} did not answer in time") from None
        if isinstance(answer, orders.Failed):
            raise PipelineError(answer.why)

    async def lost(self) -> str:
        """Return when a process of the server died unasked, or the host is gone: which, and how. Safe to cancel."""
        return await asyncio.shield(self._lost)

    async def stop(self) -> None:
        """Stop the server in order; harmless when it never started. Raises PipelineError when something is left."""
        if self._writer is None or self._reading is None:
            return
        problem: str | None = None
        with suppress(ConnectionError):
            self._writer.write(orders.STOP)
            await self._writer.drain()
        try:
            async with asyncio.timeout(self._stop_limit_s):
                problem = await asyncio.shield(self._stopped)
        except TimeoutError:
            problem = "it did not say that the server has stopped"
        finally:
            self._reading.cancel()
            self._writer.close()
            for future in (self._ready, self._lost, self._stopped):
                future.cancel()
        if problem is not None:
            raise PipelineError(f"the host at {self._address}: {problem}")

    async def _connect(self) -> None:
        reader, writer = await asyncio.open_connection(
            self._address.name, self._address.port, limit=orders.LINE_LIMIT_BYTES
        )
        writer.write(orders.line(self._order))
        self._reading = asyncio.create_task(self._read(reader))
        self._writer = writer

    async def _read(self, reader: asyncio.StreamReader) -> None:
        gone = f"the host of the server at {self._address} is gone"
        try:
            async for data in reader:
                self._take(orders.decode_report(data))
        except (OSError, ValueError, PipelineError) as error:
            gone = f"{gone}: {error}"
        self._take(orders.Failed(gone))
        self._take(orders.Lost(gone))
        # What became of the server is not known, and the journal shows that its watcher did not end.
        self._take(orders.Stopped(None))

    def _take(self, report: orders.Report) -> None:
        match report:
            case orders.Ready() | orders.Failed():
                _settle(self._ready, report)
            case orders.Lost(what=what):
                _settle(self._lost, what)
            case orders.Stopped(problem=problem):
                _settle(self._stopped, problem)


def _settle(future: "asyncio.Future[Value]", value: Value) -> None:
    """The first report of its kind counts."""
    if not future.done():
        future.set_result(value)
