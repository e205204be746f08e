"""All watchers of one local server, started and stopped together."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from rig.config.run import Watch
from rig.events.journal import Journal
from rig.events.types import HELPER
from rig.pipeline import tree
from rig.pipeline.local import LocalPipeline
from rig.watch.health import sample_health
from rig.watch.log_signatures import SignatureWatch
from rig.watch.memory import sample_memory
from rig.watch.processes import ProcessWatch


class ServerWatch:
    """Made (in the event loop) before the pipeline is started, started right after it, stopped after it."""

    def __init__(self, pipeline: LocalPipeline, journal: Journal, settings: Watch) -> None:
        self._pipeline = pipeline
        self._journal = journal
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._lost: asyncio.Future[str] = self._loop.create_future()
        self._processes = ProcessWatch(pipeline, journal, self._on_loss)
        self._tasks: list[asyncio.Task[None]] = []
        signatures = SignatureWatch(journal, self._processes.label_of, pipeline.stop_asked.is_set)
        pipeline.on_line(signatures.feed)

    def start(self) -> None:
        """Watch processes and memory; the pipeline has been started."""
        self._processes.start()
        self._run(sample_memory(self._processes.alive, self._journal, self._settings.memory_interval_s))

    def start_health(self) -> None:
        """Ask for /health too; the pipeline is ready."""
        asked = self._pipeline.stop_asked.is_set
        self._run(sample_health(self._pipeline.url, self._journal, self._settings.health_interval_s, asked))

    async def lost(self) -> str:
        """Return when a process of the pipeline died unasked: which, and how; or when its warden ended with it.

        Safe to cancel and to call again.
        """
        warden = asyncio.create_task(self._pipeline.warden_lost.wait())
        waiting: set[asyncio.Future[Any]] = {self._lost, warden}
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            warden.cancel()
        return self._lost.result() if self._lost.done() else self._pipeline.gone_why

    def alive(self) -> list[tree.Process]:
        """The processes of the pipeline that live, or lived when the watch ended; without short-lived helpers."""
        return [one.process for one in self._processes.alive() if one.label != HELPER]

    async def stop(self) -> None:
        """Stop watching; the pipeline has been stopped, and its last deaths are recorded. Harmless twice."""
        for task in self._tasks:
            task.cancel()
        results = await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        await asyncio.to_thread(self._processes.stop)
        self._lost.cancel()
        for result in results:
            if isinstance(result, Exception):
                raise result

    def _run(self, sampler: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.create_task(sampler))

    def _on_loss(self, what: str) -> None:
        self._loop.call_soon_threadsafe(self._set_lost, what)

    def _set_lost(self, what: str) -> None:
        if not self._lost.done():
            self._lost.set_result(what)
