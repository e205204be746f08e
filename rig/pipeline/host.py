"""The host of a server: runs and watches it for a rig that is in another container or on another machine.

It starts the server through the warden and watches it by pidfd exactly as the rig does on its own machine, because a
process can only be watched from where it is. What it sees goes into a journal of its own, producer `server`, which
travels over the bus like the callers'. The end of the connection means that the rig is gone, and stops the server.
"""

import asyncio
import hmac
import signal
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rig.bus.address import of_environment
from rig.bus.publisher import Publisher
from rig.bus.wire import NAME, Place
from rig.config.load import load_pipeline
from rig.config.pipeline import ExternalServer, GoldenPipeline, PipelineConfig
from rig.errors import PipelineError, RigError
from rig.events.journal import Journal
from rig.events.types import Phase, PhaseEntered
from rig.pipeline import orders, preflight
from rig.pipeline.local import LocalPipeline
from rig.pipeline.models import model_of
from rig.watch.server import ServerWatch

PRODUCER = "server"
ORDER_LIMIT_S = 10.0


class Host:
    """Takes one order after another; a second one at the same time is refused.

    `results` holds the results folders; where it is the rig's own, the server's logs are in the run's folder, too.
    Servers listen on the address `serve_on`, in place of the pipeline file's, and on `serve_port` where it is not 0.
    """

    def __init__(self, results: Path, token: str, serve_on: str, serve_port: int = 0) -> None:
        self._results = results
        self._token = token
        self._serve_on = serve_on
        self._serve_port = serve_port
        self._busy = asyncio.Lock()
        self._closing = asyncio.Event()

    async def serve(self, host: str, port: int) -> None:
        """Listen until SIGTERM or SIGINT; then the server that runs is stopped in order."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._closing.set)
        listening = await asyncio.start_server(self._on_connection, host, port, limit=orders.LINE_LIMIT_BYTES)
        print(f"waiting for a rig on {host} port {listening.sockets[0].getsockname()[1]}", flush=True)
        async with listening:
            await self._closing.wait()
            async with self._busy:
                return

    async def _on_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if data := await _first_line(reader):
                await self._take(orders.decode_order(data), reader, writer)
        except (RigError, OSError) as error:
            _tell(writer, orders.Failed(str(error)))
        finally:
            with suppress(OSError):
                await writer.drain()
            writer.close()

    async def _take(self, order: orders.Order, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not hmac.compare_digest(order.token.encode(), self._token.encode()):
            raise PipelineError("the host does not know this token")
        if NAME.fullmatch(order.run) is None:
            raise PipelineError(f"{order.run!r} cannot be the name of a results folder")
        if self._busy.locked() or self._closing.is_set():
            raise PipelineError("the host runs a server for another rig, or is about to end")
        async with self._busy:
            ended = asyncio.create_task(self._until_ended(reader))
            try:
                await self._run(order, writer, ended)
            finally:
                ended.cancel()

    async def _until_ended(self, reader: asyncio.StreamReader) -> bool:
        """Until the rig says stop or is gone, or the host is to end; whether the rig said it."""
        closing = asyncio.create_task(self._closing.wait())
        said = asyncio.create_task(reader.readline())
        try:
            await asyncio.wait({closing, said}, return_when=asyncio.FIRST_COMPLETED)
            return said.done() and said.exception() is None and said.result() == orders.STOP
        finally:
            closing.cancel()
            said.cancel()
            await asyncio.gather(closing, said, return_exceptions=True)

    async def _run(self, order: orders.Order, writer: asyncio.StreamWriter, ended: "asyncio.Task[bool]") -> None:
        folder = self._results / order.run
        config = await asyncio.to_thread(self._config, folder, order.pipeline)
        model = await asyncio.to_thread(model_of, config)
        journals = folder / order.journals
        journals.mkdir(parents=True, exist_ok=True)
        journal = Journal(journals, PRODUCER, PRODUCER)
        publisher: Publisher | None = None
        problem: str | None = None
        try:
            publisher = _publish(journal, order)
            problem = await _serve(LocalPipeline(config, model, folder, journal), journal, order, writer, ended)
        finally:
            journal.close()
            if publisher is not None:
                await asyncio.to_thread(publisher.close)
        _tell(writer, orders.Stopped(problem))

    def _config(self, folder: Path, text: str) -> PipelineConfig | GoldenPipeline:
        file = folder / "server" / "pipeline.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        config = load_pipeline(file)
        if isinstance(config, ExternalServer):
            raise PipelineError("a pipeline with a `url` is run by somebody else, not by a host")
        config = config.model_copy(update={"host": self._serve_on, "port": self._serve_port or config.port})
        if isinstance(config, PipelineConfig):
            preflight.check(config)
        return config


async def _first_line(reader: asyncio.StreamReader) -> bytes:
    """What somebody says first; nothing where that is no line, or not in time: whoever this was, it gave no order."""
    try:
        async with asyncio.timeout(ORDER_LIMIT_S):
            return await reader.readline()
    except (TimeoutError, OSError, ValueError):
        return b""


async def _serve(
    pipeline: LocalPipeline,
    journal: Journal,
    order: orders.Order,
    writer: asyncio.StreamWriter,
    ended: "asyncio.Task[bool]",
) -> str | None:
    """Run one server until `ended`; what could not be stopped. Reports all but the stop."""
    watch = ServerWatch(pipeline, journal, order.watch())
    problem: str | None = None
    try:
        await pipeline.start()
        watch.start()
        await _first(pipeline.wait_ready(), ended)
        if not ended.done():
            watch.start_health()
            _tell(writer, orders.Ready(urlsplit(pipeline.url).port or 0))
            await _first(_report_loss(watch, writer), ended)
            await asyncio.wait({ended})
    except PipelineError as error:
        _tell(writer, orders.Failed(str(error)))
        await asyncio.wait({ended})
    finally:
        if ended.done() and not ended.cancelled() and not ended.result():
            # The rig is gone: what callers meet from here on is the host's doing, not the server's.
            journal.record(PhaseEntered, phase=Phase.STOP)
        try:
            await pipeline.stop()
        except PipelineError as error:
            problem = str(error)
        await watch.stop()
    return problem


async def _first(work: Coroutine[Any, Any, None], ended: "asyncio.Task[bool]") -> None:
    """Do it, unless the end comes first. Raises what it raises."""
    task = asyncio.create_task(work)
    await asyncio.wait({task, ended}, return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        task.result()
        return
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _report_loss(watch: ServerWatch, writer: asyncio.StreamWriter) -> None:
    _tell(writer, orders.Lost(await watch.lost()))


def _publish(journal: Journal, order: orders.Order) -> Publisher | None:
    address = of_environment(order.bus)
    if address is None:
        return None
    publisher = Publisher(journal.path, Place(order.run, PRODUCER, PRODUCER), address)
    publisher.start()
    return publisher


def _tell(writer: asyncio.StreamWriter, report: orders.Report) -> None:
    """A rig that is gone is told nothing; the end of its connection is seen where it is read."""
    with suppress(OSError):
        writer.write(orders.line(report))
