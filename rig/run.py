"""The one function that wires a run, in the order in which things happen.

config ─► plan ─► results folder ─► server up ─► callers ─► 20 s of watching ─► server down ─► judgement
"""

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rig import history
from rig.bus.address import as_environment
from rig.bus.service import OWN, RunBus
from rig.clock import monotonic_ns
from rig.conclude import conclude, linger, sigterm_as_ctrl_c
from rig.config.bus import BusKind
from rig.config.overrides import AS_WRITTEN, Overrides
from rig.config.pipeline import ExternalServer, GoldenPipeline, PipelineConfig
from rig.drive import WEB_HOST, Callers
from rig.elsewhere import Elsewhere
from rig.errors import PipelineError
from rig.events.journal import Journal
from rig.events.types import EndReason, Phase, PhaseEntered, RunEnded, RunStarted
from rig.follow import Follow, Taker
from rig.live import View, standing
from rig.metrics.endpoint import Endpoint, serving
from rig.metrics.live import LiveMetrics
from rig.pipeline.external import ExternalPipeline
from rig.pipeline.local import LocalPipeline
from rig.pipeline.models import model_of
from rig.pipeline.orders import Order
from rig.pipeline.remote import HostAddress, RemoteServer
from rig.pipeline.shared import Series
from rig.plan import PLAN_FILE, make_rounds
from rig.prepare import ALL_HERE, Prepared, prepare
from rig.progress import Progress, Snapshot
from rig.report import Judgement, banner
from rig.slots import PROBE_FILE, make_probes, one_probe, settle_s
from rig.standing import STANDING_FILE
from rig.standing import write as write_standing
from rig.watch.server import ServerWatch

LAST_LOOK_S = 3.0
"""After an engine died, how long the callers go on: their broken calls are evidence."""


class Watcher(Protocol):
    """Whoever watches the server's processes."""

    async def lost(self) -> str:
        """Return when one of them died unasked: which, and how."""


@dataclass(frozen=True)
class End:
    """Why a run ended."""

    reason: EndReason
    detail: str = ""


def run(
    run_file: Path,
    results: Path,
    view: View,
    overrides: Overrides = AS_WRITTEN,
    callers: type[Callers] = Callers,
    elsewhere: Elsewhere = ALL_HERE,
) -> Judgement:
    """Carry out one run and judge it. Raises UsageError before anything is started, and never leaves a process."""
    prepared = prepare(run_file, results, overrides, elsewhere=elsewhere)
    view.say(f"results in {prepared.folder}")
    if isinstance(prepared.pipeline, PipelineConfig) and prepared.pipeline.bugs:
        view.say(banner.sentence(prepared.pipeline.bugs))
    metrics, web_port = prepared.config.metrics, prepared.config.load.web_port
    with serving(metrics) as endpoint:
        if endpoint is not None:
            view.say(f"metrics at {endpoint.url}")
        if web_port is not None:
            view.say(f"Locust's web UI at http://{WEB_HOST}:{web_port}/, and its page /rig")
        asyncio.run(carry_out(prepared, view, callers, endpoint=endpoint))
        with sigterm_as_ctrl_c():
            judgement = conclude(prepared.folder)
            if endpoint is not None:
                linger(endpoint, judgement, metrics.linger_s, view)
    return judgement


async def carry_out(
    prepared: Prepared,
    view: View,
    callers: type[Callers] = Callers,
    series: Series | None = None,
    endpoint: Endpoint | None = None,
) -> None:
    """Carry out a run, to its journals. Outside a series it has a server of its own and leaves no process."""
    await _Run(prepared, view, callers, series, endpoint).carry_out()


class _Run:
    """One run that goes on: the parts it started, in the order in which they are stopped again."""

    def __init__(
        self,
        prepared: Prepared,
        view: View,
        callers: type[Callers],
        series: Series | None,
        endpoint: Endpoint | None,
    ) -> None:
        config, pipeline, folder = prepared.config, prepared.pipeline, prepared.folder
        self._config = config
        self._pipeline = pipeline
        self._plan = prepared.plan
        self._rounds = make_rounds(config, prepared.plan)
        self._probes = make_probes(config, None if isinstance(pipeline, ExternalServer) else pipeline.duplex_session)
        self._make_callers = callers
        self._elsewhere = prepared.elsewhere
        self._folder = folder
        self._view = view
        self._say = view.say
        self._series = series
        self._journal = Journal(folder / history.EVENTS_DIR, OWN, OWN)
        self._bus: RunBus | None = None
        self._spools = folder / history.EVENTS_DIR
        if config.bus.chosen is not BusKind.NONE:
            self._spools = folder / history.SPOOL_DIR
            self._spools.mkdir()
            self._bus = RunBus(prepared.broker, folder.name, folder / history.EVENTS_DIR, self._spools, self._journal)
        self._progress = Progress(config, pipeline, monotonic_ns())
        takers: list[Taker] = [self._progress]
        if endpoint is not None:
            takers.append(live := LiveMetrics(folder, config, pipeline, prepared.plan))
            endpoint.show(lambda: self._follow.ask(lambda: live.collect(self._follow, monotonic_ns())))
        self._follow = Follow(folder / history.EVENTS_DIR, takers)
        self._interrupted = asyncio.Event() if series is None else series.interrupted

    async def carry_out(self) -> None:
        """From the first event to the last. Whatever happens, the run has an end in its journal."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._interrupt)
        self._looking = asyncio.create_task(self._show_progress())
        end = End(EndReason.RIG_ERROR, "the rig failed")
        self._journal.record(
            RunStarted, run_id=self._folder.name, seed=self._plan.seed, plan_sha256=self._plan.sha256()
        )
        try:
            if self._probes is not None:
                (self._folder / PROBE_FILE).write_bytes(self._probes.encode())
            if self._bus is not None:
                await self._bus.start()
            end = await self._with_server()
        except PipelineError as error:
            end = End(EndReason.BOOT_FAILED, str(error))
        except OSError as error:  # a disk that is full or fails: what was written is judged
            end = End(EndReason.RIG_ERROR, str(error))
        except Exception as error:
            end = End(EndReason.RIG_ERROR, repr(error))
            raise
        finally:
            self._looking.cancel()
            try:
                if self._bus is not None:
                    await self._bus.finish()
            finally:
                self._journal.record(RunEnded, reason=end.reason, detail=end.detail)
                self._journal.close()
                if self._bus is not None:
                    await self._bus.stop()
            self._last_look(end)

    def _last_look(self, end: End) -> None:
        """The run is over and recorded: whoever cannot be shown that takes nothing from it."""
        with suppress(OSError):
            (self._folder / STANDING_FILE).unlink(missing_ok=True)
        with suppress(OSError):
            self._view.show(self._follow.ask(self._snapshot))
        with suppress(OSError):
            if end.reason is not EndReason.PLANNED:
                self._say(f"the run ended early: {end.reason}: {end.detail}")

    async def _with_server(self) -> End:
        if isinstance(self._pipeline, ExternalServer):
            return await self._with_external(self._pipeline)
        if self._elsewhere.server is not None:
            return await self._with_remote(self._pipeline, self._elsewhere.server)
        return await self._with_local(self._pipeline)

    async def _with_local(self, config: PipelineConfig | GoldenPipeline) -> End:
        take = LocalPipeline if self._series is None else self._series.server.take
        server = take(config, model_of(config), self._folder, self._journal)
        watch = ServerWatch(server, self._journal, self._config.watch)
        end: End | None = None
        try:
            self._enter(Phase.BOOT)
            await server.start()
            watch.start()
            end = await self._first_of(ready=server.wait_ready())
            if end is not None:
                return end
            watch.start_health()
            end = await self._call(server.url, config.served_model_name, watch)
            return end
        finally:
            self._enter(Phase.STOP)
            await self._let_go(server, watch, end)

    async def _let_go(self, server: LocalPipeline, watch: ServerWatch, end: End | None) -> None:
        """Stop the server, or leave it to the next run."""
        planned = end is not None and end.reason is EndReason.PLANNED
        left_to = self._series.server if self._series is not None and self._series.keep and planned else None
        try:
            await (server.stop() if left_to is None else server.leave())
        finally:
            await watch.stop()
        if left_to is not None:
            left_to.left(watch.alive())

    async def _with_remote(self, config: PipelineConfig | GoldenPipeline, host: HostAddress) -> End:
        order = Order(
            token=self._elsewhere.token,
            run=self._folder.name,
            pipeline=(self._folder / history.PIPELINE_FILE).read_text(encoding="utf-8"),
            journals="spool" if self._spools.name == history.SPOOL_DIR else "events",
            health_interval_s=self._config.watch.health_interval_s,
            memory_interval_s=self._config.watch.memory_interval_s,
            bus=self._bus_environment(),
        )
        server = RemoteServer(host, order, config.ready_deadline_s, config.stop_grace_s)
        try:
            self._enter(Phase.BOOT)
            await server.start()
            end = await self._first_of(ready=server.wait_ready())
            if end is not None:
                return end
            return await self._call(server.url, config.served_model_name, server)
        finally:
            self._enter(Phase.STOP)
            await server.stop()

    async def _with_external(self, config: ExternalServer) -> End:
        server = ExternalPipeline(config, self._journal)
        self._enter(Phase.BOOT)
        end = await self._first_of(ready=server.wait_ready())
        if end is not None:
            return end
        end = await self._call(server.url, config.served_model_name, None)
        self._enter(Phase.STOP)
        return end

    async def _call(self, url: str, model: str, watch: Watcher | None) -> End:
        """Load, drain and probe, perhaps several times, and the watch after them, until an end."""
        for number in range(len(self._rounds)):
            self._enter(Phase.LOAD)
            callers = self._callers(url, model, number)
            end = await self._play(callers, self._finish(callers), watch)
            if end is None and self._probes is not None:
                end = await self._probe_slots(url, model, number, watch)
            if end is not None:
                return end
        self._enter(Phase.WATCH)
        quiet = asyncio.sleep(self._config.watch.after_load_s)
        return await self._first_of(quiet=quiet, lost=_lost(watch)) or End(EndReason.PLANNED)

    def _callers(self, url: str, model: str, number: int, *, probe: bool = False) -> Callers:
        """The callers of one part of the load, or of the probe after it."""
        path = self._folder / (PROBE_FILE if probe else PLAN_FILE)
        plan = self._rounds[number]
        if probe:
            assert self._probes is not None
            plan = one_probe(self._probes, number)
        if len(self._rounds) > 1:
            path = path.with_stem(f"{path.stem}-{number:03d}")
            path.write_bytes(plan.encode())
        return self._make_callers(
            self._config,
            self._folder,
            url,
            model,
            plan,
            plan_file=path,
            length_s=self._config.rounds_s[number],
            journals=self._spools,
            bus=self._bus_environment(),
            probe=probe,
            workers=self._elsewhere.workers,
        )

    async def _play(self, callers: Callers, finish: Coroutine[Any, Any, None], watch: Watcher | None) -> End | None:
        """Let callers call until `finish` is through. None when all went as planned."""
        try:
            await callers.start()
            end = await self._first_of(callers=finish, lost=_lost(watch))
            if end is not None and end.reason is EndReason.ENGINE_LOST:
                await asyncio.sleep(LAST_LOOK_S)
            return end
        finally:
            await callers.stop()

    async def _probe_slots(self, url: str, model: str, number: int, watch: Watcher | None) -> End | None:
        """Wait until every slot has to be free, then call all of them at once."""
        assert not isinstance(self._pipeline, ExternalServer)
        self._enter(Phase.PROBE)
        settled = asyncio.sleep(settle_s(self._config, self._pipeline.duplex_session))
        end = await self._first_of(settled=settled, lost=_lost(watch))
        if end is not None:
            return end
        callers = self._callers(url, model, number, probe=True)
        return await self._play(callers, self._wait(callers, callers.longest_call_s()), watch)

    async def _finish(self, callers: Callers) -> None:
        """The load's time, then until the last call is over. Raises _CallersLostError when Locust fails or hangs."""
        done = asyncio.create_task(callers.wait())
        try:
            await callers.begun()
            await asyncio.wait({done}, timeout=callers.length_s)
            if not done.done():
                self._enter(Phase.DRAIN)
        finally:
            done.cancel()
        await self._wait(callers, callers.backlog_s() + callers.longest_call_s())

    async def _wait(self, callers: Callers, limit_s: float) -> None:
        """Until the callers have stopped by themselves. Raises _CallersLostError as `_finish` does."""
        try:
            async with asyncio.timeout(limit_s + LAST_LOOK_S * 5):
                status = await callers.wait()
        except TimeoutError:
            raise _CallersLostError("the callers did not stop in time") from None
        if status != 0:
            raise _CallersLostError(callers.failure(status))

    async def _first_of(self, **parts: Coroutine[Any, Any, object]) -> End | None:
        """Wait for the first part to end, or an interruption. None when that was the part that was hoped for.

        Raises what ended the look at the journals.
        """
        tasks = {asyncio.create_task(part): name for name, part in parts.items()}
        interrupted = asyncio.create_task(self._interrupted.wait())
        try:
            await asyncio.wait({*tasks, interrupted, self._looking}, return_when=asyncio.FIRST_COMPLETED)
            if interrupted.done():
                return End(EndReason.INTERRUPTED, "stopped by the user")
            if self._looking.done():
                self._looking.result()  # it ends by an error only
            first = next(task for task in tasks if task.done())
            return self._end_by(tasks[first], first)
        finally:
            for task in (*tasks, interrupted):
                task.cancel()
            await asyncio.gather(*tasks, interrupted, return_exceptions=True)

    def _end_by(self, name: str, task: "asyncio.Task[object]") -> End | None:
        try:
            result = task.result()
        except _CallersLostError as lost:
            return End(EndReason.CALLERS_LOST, str(lost))
        return End(EndReason.ENGINE_LOST, str(result)) if name == "lost" else None

    def _bus_environment(self) -> dict[str, str]:
        address = None if self._bus is None else self._bus.address
        return {} if address is None else {"RIG_BUS_RUN": self._folder.name, **as_environment(address)}

    def _enter(self, phase: Phase) -> None:
        self._journal.record(PhaseEntered, phase=phase)

    def _interrupt(self) -> None:
        if self._interrupted.is_set():
            self._say("already stopping; the server is being stopped in order")
            return
        self._say("stopping: callers first, then the server")
        self._interrupted.set()

    async def _show_progress(self) -> None:
        while True:
            await asyncio.sleep(self._view.every_s)
            now = await asyncio.to_thread(self._follow.ask, self._snapshot)
            with suppress(OSError):  # a screen that is gone
                self._view.show(now)
            if self._config.load.web_port is not None:
                write_standing(self._folder / STANDING_FILE, standing(now, monotonic_ns()))

    def _snapshot(self) -> Snapshot:
        return self._progress.snapshot(monotonic_ns())


class _CallersLostError(Exception):
    """The callers failed, and so the run did."""


async def _lost(watch: Watcher | None) -> str:
    if watch is None:
        await asyncio.Event().wait()
        return ""
    return await watch.lost()
