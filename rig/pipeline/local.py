"""A server on this machine: the rig's side of the warden.

    rig ── control and reports ── warden ── server ── stages ── workers
                                     server.log ── followed by the rig

Order of calls: `start`, `wait_ready`, and `stop` whatever happened in between. A server that serves several runs:
`start`, `wait_ready`, `leave` for the first; `hand_over`, `start`, `wait_ready` and `leave` or `stop` for the next one.
"""

import asyncio
import json
import shutil
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from rig.clock import monotonic_ns, to_s
from rig.config.pipeline import GoldenPipeline, PipelineConfig
from rig.errors import PipelineError
from rig.events import ring
from rig.events.journal import Journal
from rig.events.types import PipelineKept, PipelineReady, PipelineStopped
from rig.pipeline import deploy, golden, listening, probe, reports, tree
from rig.pipeline.deploy import Launch
from rig.pipeline.logs import LogLine, ServerLog, Splitter
from rig.pipeline.warden import STOPPING

WARDEN_START_S = 20.0
WARDEN_KILLED = "the warden was killed"
WARDEN_TERMINATED = "somebody sent the warden SIGTERM, and it stopped the server"


class LocalPipeline:
    """One server, started once.

    `model` is a folder (absolute) or a Hugging Face name; the golden server needs none. In `folder`, the run's results
    folder, it writes `server/deploy.yaml` (vLLM-Omni only), `server/launch.json` and `logs/`; the engines `recorder/`.
    A server that serves several runs has a `home` besides, where it runs, records and writes its whole log; each run
    then gets its part of that.
    """

    def __init__(
        self,
        config: PipelineConfig | GoldenPipeline,
        model: str,
        folder: Path,
        journal: Journal,
        home: Path | None = None,
    ) -> None:
        self.config = config
        self.earlier_runs = 0
        self._home = folder if home is None else home
        self._log_end = 0
        self.stop_asked = threading.Event()
        self.gone = asyncio.Event()
        self.gone_why = ""
        self.warden_lost = asyncio.Event()
        self._model = model
        self._folder = folder
        self._journal = journal
        self._listeners: list[Callable[[LogLine], None]] = []
        self._launch: Launch | None = None
        self._log: ServerLog | None = None
        self._server: tree.Process | None = None
        self._started = asyncio.Event()
        self._started_ns = 0
        self._reaped: dict[int, reports.Reaped] = {}
        self._unasked: set[int] = set()
        """Reaped before the rig asked for a stop, whenever their deaths are looked at."""
        self._stopped: reports.Stopped | None = None
        self._warden: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._holding = ExitStack()
        """Holds a port that was free, so that a rig beside this one does not get the same."""

    @property
    def url(self) -> str:
        """Base URL of the server's WebSockets; known after `start`."""
        assert self._launch is not None
        return self._launch.url

    @property
    def server(self) -> tree.Process:
        """The API server, root of the tree; known after `start`."""
        assert self._server is not None
        return self._server

    @property
    def log(self) -> ServerLog:
        """The server's log; there after `start`."""
        assert self._log is not None
        return self._log

    def on_line(self, listener: Callable[[LogLine], None]) -> None:
        """Hand every log line to `listener`, on the log's thread. To be called before `start`."""
        self._listeners.append(listener)

    def exit_of(self, pid: int) -> reports.Exit | None:
        """How a process ended that the warden has reaped, None when it has not (yet)."""
        reaped = self._reaped.get(pid)
        return None if reaped is None else reports.exit_of(reaped.exit_status, reaped.signal)

    def reaped_ns(self, pid: int) -> int | None:
        """When the warden reaped a process, on the monotonic clock; None when it has not (yet)."""
        reaped = self._reaped.get(pid)
        return None if reaped is None else reaped.t_ns

    def ended_unasked(self, pid: int) -> bool:
        """Whether an ended process of the server had not been asked to: by the rig, by a warden that was sent SIGTERM,
        or by the kernel when the warden is gone.
        """
        return pid in self._unasked or not self._stopped_from_here()

    def _stopped_from_here(self) -> bool:
        if self.stop_asked.is_set() or self._warden is None:
            return self.stop_asked.is_set()
        warden = tree.read(self._warden.pid)
        return warden is None or warden.gone or tree.name(self._warden.pid) == STOPPING

    async def start(self) -> None:
        """Start the server; returns when its process is there. Raises PipelineError when that fails.

        A server that was handed over runs already: then its log is followed from where the run before left off.
        """
        logs, work = self._folder / "logs", self._home / "server"
        for path in (logs, work, self._home / "logs"):
            path.mkdir(parents=True, exist_ok=True)
        if self._launch is not None:
            self._started_ns = monotonic_ns()
            self._follow_log(logs)
            self._copy_launch()
            return
        port = self.config.port or self._holding.enter_context(listening.reserved(self.config.host))
        environment = deploy.rig_environment()
        launch = self._prepare(work, port, environment)
        self._launch = launch
        # The inherited environment may hold secrets: only what the rig adds is written down.
        added = {key: value for key, value in launch.env.items() if environment.get(key) != value}
        shown = {"argv": launch.argv, "env": added, "cwd": str(work), "nice": launch.nice}
        (work / "launch.json").write_text(json.dumps(shown, indent=2) + "\n", encoding="utf-8")
        self._copy_launch()
        self._follow_log(logs)
        await self._start_warden(launch, work, self._home / "logs")

    async def wait_ready(self) -> None:
        """Return when the server accepts duplex sessions, and it is this server that does.

        Raises PipelineError when it exits, is not in duplex mode, takes longer than `ready_deadline_s`, or when another
        process listens on its port.
        """
        ready = asyncio.create_task(probe.until_ready(self.url))
        gone = asyncio.create_task(self.gone.wait())
        left_s = self.config.ready_deadline_s - to_s(monotonic_ns() - self._started_ns)
        try:
            await asyncio.wait({ready, gone}, timeout=max(0.0, left_s), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
            gone.cancel()
            with suppress(asyncio.CancelledError, PipelineError):
                await asyncio.gather(ready, gone, return_exceptions=True)
        if gone.done() and not gone.cancelled():
            raise PipelineError(await self._last_words(f"{self.gone_why} before it was ready"))
        if ready.cancelled():
            limit = f"the server was not ready within {self.config.ready_deadline_s:g} s"
            raise PipelineError(await self._last_words(limit))
        ready.result()
        await self._check_port()
        boot_ns = monotonic_ns() - self._started_ns
        self._journal.record(PipelineReady, boot_ns=boot_ns, earlier_runs=self.earlier_runs)

    async def leave(self) -> None:
        """End a run's part of the server and leave it running; another run may take it over.

        Where this run's part cannot be kept, the server is stopped: raises OSError then, or what `stop` raises.
        """
        try:
            await asyncio.to_thread(self.log.close)
            self._log_end = self.log.end
            await asyncio.to_thread(self._copy_rings)
        except BaseException:
            await self.stop()
            raise
        self._journal.record(PipelineKept)

    def unread(self) -> list[str]:
        """Lines that the server wrote since it was left; they belong to no run."""
        splitter = Splitter()
        with self.log.source.open("rb") as file:
            file.seek(self._log_end)
            data = file.read()
        self._log_end += len(data)
        now_ns = monotonic_ns()
        return [line.text for line in (*splitter.feed(data, now_ns), *splitter.finish(now_ns))]

    def hand_over(self, folder: Path, journal: Journal) -> None:
        """Give a server that was left to the next run. Nobody listens to its log any more; `start` comes next."""
        self._folder = folder
        self._listeners = []
        self.earlier_runs += 1
        self.report_to(journal)

    def report_to(self, journal: Journal) -> None:
        """From now on what happens to the server goes into another journal."""
        self._journal = journal

    async def stop(self) -> None:
        """Stop the server in order and leave nothing behind; safe at any time, and more than once.

        A cancellation waits for the end of the stop. Raises PipelineError when a process is left, and OSError when all
        are gone and what they recorded cannot be copied.
        """
        self.stop_asked.set()
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop())
        try:
            await _to_the_end(self._stopping)
        finally:
            self._holding.close()

    async def _check_port(self) -> None:
        assert self._launch is not None
        try:
            await asyncio.to_thread(listening.check, self._launch.host, self._launch.port, self.server)
        except PipelineError as error:
            raise PipelineError(await self._last_words(str(error))) from error

    def _prepare(self, work: Path, port: int, environment: Mapping[str, str]) -> Launch:
        if isinstance(self.config, GoldenPipeline):
            return golden.launch(self.config, work, port, environment)
        deploy_file = work / "deploy.yaml"
        deploy.write_deploy(self.config, deploy_file)
        recorder = (self._home / ring.FOLDER).resolve()
        return deploy.launch(self.config, self._model, deploy_file.resolve(), port, environment, recorder)

    def _follow_log(self, logs: Path) -> None:
        shared = self._home / "logs" / "server.log" if self._home != self._folder else None
        self._log = ServerLog(logs, self._hear, shared, self._log_end)

    def _copy_launch(self) -> None:
        """How the server was started belongs to every run on it."""
        if self._home == self._folder:
            return
        (self._folder / "server").mkdir(exist_ok=True)
        for name in ("launch.json", "deploy.yaml"):
            if (self._home / "server" / name).is_file():
                shutil.copyfile(self._home / "server" / name, self._folder / "server" / name)

    def _copy_rings(self) -> None:
        """What the engines did last, up to the end of this run's part of the server."""
        rings = self._home / ring.FOLDER
        if self._home != self._folder and rings.is_dir():
            shutil.copytree(rings, self._folder / ring.FOLDER, dirs_exist_ok=True)

    async def _start_warden(self, launch: Launch, work: Path, logs: Path) -> None:
        with (logs / "warden.log").open("wb") as complaints:
            self._warden = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "rig.pipeline.warden",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=complaints,
                # A Ctrl-C in the terminal reaches the rig only.
                start_new_session=True,
            )
        self._reading = asyncio.create_task(self._read_reports(self._warden))
        command = {
            "argv": launch.argv,
            "env": dict(launch.env),
            "cwd": str(work.resolve()),
            "log": str(self.log.source.resolve()),
            "grace_s": self.config.stop_grace_s,
            "nice": launch.nice,
        }
        self._started_ns = monotonic_ns()
        await self._tell(command)
        gone = asyncio.create_task(self.gone.wait())
        started = asyncio.create_task(self._started.wait())
        try:
            waiting = {gone, started}
            await asyncio.wait(waiting, timeout=WARDEN_START_S, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            started.cancel()
        if self._server is None:
            raise PipelineError(f"the warden did not start the server; see {logs / 'warden.log'}")

    async def _tell(self, command: dict[str, object]) -> None:
        assert self._warden is not None
        assert self._warden.stdin is not None
        # A warden that is gone shows as the end of its reports.
        with suppress(BrokenPipeError, ConnectionResetError):
            self._warden.stdin.write(json.dumps(command).encode() + b"\n")
            await self._warden.stdin.drain()

    async def _read_reports(self, warden: asyncio.subprocess.Process) -> None:
        assert warden.stdout is not None
        async for line in warden.stdout:
            match reports.decode(line):
                case reports.Started(pid=pid, start_ticks=ticks):
                    self._server = tree.Process(pid, warden.pid, pid, "R", ticks)
                    self._started.set()
                case reports.Reaped() as reaped:
                    self._note_exit(reaped)
                case reports.Stopping():
                    self._lose_warden(WARDEN_TERMINATED)
                case reports.Stopped() as stopped:
                    self._stopped = stopped
        if self._stopped is None:
            # With it the kernel asks the server to stop.
            self._lose_warden(WARDEN_KILLED)

    def _lose_warden(self, why: str) -> None:
        """What ends from now on did not die by itself."""
        self.stop_asked.set()
        self._set_gone(why)
        self.warden_lost.set()

    def _note_exit(self, reaped: reports.Reaped) -> None:
        self._reaped[reaped.pid] = reaped
        if not self.stop_asked.is_set():
            self._unasked.add(reaped.pid)
        if self._server is not None and reaped.pid == self._server.pid:
            ended = reports.exit_of(reaped.exit_status, reaped.signal)
            self._set_gone(f"the server (pid {reaped.pid}) {ended}")

    def _set_gone(self, why: str) -> None:
        if not self.gone.is_set():
            self.gone_why = why
            self.gone.set()

    def _hear(self, line: LogLine) -> None:
        for listener in self._listeners:
            listener(line)

    async def _last_words(self, what: str) -> str:
        # What the server said last may still be unread.
        await asyncio.to_thread(self.log.catch_up)
        cause = self.log.cause()
        words = "it wrote nothing" if cause is None else cause
        return f"{what}: {words} (log: {self.log.path})"

    async def _stop(self) -> None:
        if self._warden is None:
            if self._log is not None:
                await asyncio.to_thread(self._log.close)
            return
        await self._tell({"stop": True})
        if self._reading is not None:
            await self._reading
        await self._warden.wait()
        if self._stopped is None:
            self._stopped = await asyncio.to_thread(self._stop_without_warden)
        await asyncio.to_thread(self.log.close)
        self._journal.record(
            PipelineStopped,
            forced=self._stopped.forced,
            segments_removed=self._stopped.segments_removed,
            segments_left=self._stopped.segments_left,
            removed_in_all=self._stopped.removed_in_all,
            left_in_all=self._stopped.left_in_all,
        )
        try:
            await asyncio.to_thread(self._copy_rings)
        finally:
            if self._stopped.left:
                raise PipelineError(f"could not be stopped: pids {', '.join(map(str, self._stopped.left))}")

    def _stop_without_warden(self) -> reports.Stopped:
        server = self._server
        if server is None:
            return reports.Stopped([], [])
        stopped = tree.stop(server, lambda: _alive(server), self.config.stop_grace_s)
        return reports.Stopped(stopped.forced, stopped.left)


def _alive(server: tree.Process) -> list[tree.Process]:
    return [process for process in tree.family(server, tree.table()) if not process.gone]


async def _to_the_end(task: asyncio.Task[None]) -> None:
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
    task.result()
    if cancelled:
        raise asyncio.CancelledError
