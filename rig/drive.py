"""Driving the callers: one Locust process as a child of the rig, with its workers or as the master of others."""

import asyncio
import ctypes
import os
import signal
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from rig.config.run import RunConfig
from rig.errors import RigError
from rig.plan import BACKLOG_S, PLAN_FILE, Plan
from rig.standing import STANDING_FILE

PR_SET_PDEATHSIG = 1
TERMINATE_GRACE_S = 10.0
SLACK_S = 10.0
LOCUST_DIR = "locust"
WEB_HOST = "127.0.0.1"
WORKERS_LIMIT_S = 30.0
"""How long the master waits for workers that are started elsewhere."""

BEGUN_POLL_S = 0.05
PROBE_RUN_S = 3.0
"""The calls of a probe begin in the first second; the callers then stay until the last one is over."""


class Callers:
    """The Locust process of a load or of a probe. It stops by itself, when the last calls have ended."""

    def __init__(
        self,
        config: RunConfig,
        folder: Path,
        url: str,
        model: str,
        plan: Plan,
        *,
        plan_file: Path,
        length_s: float,
        journals: Path,
        bus: Mapping[str, str],
        probe: bool = False,
        workers: int = 0,
    ) -> None:
        self.plan = plan
        self.plan_file = plan_file
        self.length_s = length_s
        self.is_probe = probe
        self.config = config
        self.folder = folder
        self.url = url
        self.model = model
        self.journals = journals
        self.bus = bus
        self.workers = workers
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        """Pid of the Locust process; known after `start`."""
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        """Start calling."""
        log = self.folder / "logs" / ("locust-probe.log" if self.is_probe else "locust.log")
        log.parent.mkdir(exist_ok=True)
        self._begun_file.unlink(missing_ok=True)
        with log.open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                *self._command(),
                env=_environment(self.bus),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                # A Ctrl-C in the terminal reaches the rig only; a rig that dies takes its callers along.
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )

    async def begun(self) -> None:
        """Return when the load has begun, or Locust has ended; with workers elsewhere it begins when all are there."""
        process = self._process
        assert process is not None
        while self.workers > 0 and process.returncode is None and not self._begun_file.exists():
            await asyncio.sleep(BEGUN_POLL_S)

    async def wait(self) -> int:
        """Return the exit status (negative: the signal) when the callers have stopped."""
        assert self._process is not None
        return await self._process.wait()

    def failure(self, status: int) -> str:
        """What an exit status other than 0 means."""
        if self.workers > 0 and not self._begun_file.exists():
            return f"not all of {self.workers} workers connected within {WORKERS_LIMIT_S:g} s (Locust status {status})"
        return f"Locust ended with status {status}; see logs/"

    async def stop(self) -> None:
        """Stop calling now; running calls are recorded as unfinished. Harmless at any time, and twice."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            # Not wait_for: on Python 3.11 it can swallow a cancellation.
            async with asyncio.timeout(TERMINATE_GRACE_S):
                await process.wait()
        except TimeoutError:
            _kill_group(process.pid)
            await process.wait()

    def longest_call_s(self) -> float:
        """How long a call that began at the very end of the load may take until it has to be over."""
        deadlines = self.config.deadlines
        return deadlines.connect_s + deadlines.return_s + deadlines.first_audio_s + deadlines.reply_s + SLACK_S

    def backlog_s(self) -> float:
        """How long after the load calls may still begin that had to wait for a free slot."""
        return BACKLOG_S if self.plan.is_open else 0.0

    @property
    def _begun_file(self) -> Path:
        return self.folder / "logs" / "locust.begun"

    def _command(self) -> list[str]:
        run_s = PROBE_RUN_S if self.is_probe else self.length_s + self.backlog_s()
        command = [
            *(sys.executable, "-m", "locust", "-f", str(_locustfile()), "--only-summary"),
            *self._shown(),
            *("--users", str(self.plan.callers), "--spawn-rate", str(self.plan.callers)),
            *("--run-time", f"{max(1, round(run_s))}s"),
            *("--stop-timeout", str(round(self.longest_call_s()))),
            *("--host", self.url, "--rig-model", self.model),
            *("--rig-config", str((self.folder / "run.yaml").resolve())),
            *("--rig-plan", str(self.plan_file.resolve())),
            *("--rig-journal-dir", str(self.journals.resolve())),
            *("--csv", str(self._own_report())),
        ]
        if not self.is_probe:
            command += ["--html", f"{self._own_report()}.html"]
        if self.workers > 0:
            # They connect by themselves, from other containers or machines; the master hands out slots and calls.
            wait_s = str(round(WORKERS_LIMIT_S))
            command += ["--master", "--expect-workers", str(self.workers), "--expect-workers-max-wait", wait_s]
            command += ["--rig-begun-file", str(self._begun_file.resolve())]
        elif self.config.load.processes > 1 and not self.is_probe:
            command += ["--processes", str(self.config.load.processes)]
        return command

    def _own_report(self) -> Path:
        """Where Locust's own statistics go, without the ending: locust/load or locust/probe, numbered by round."""
        part = self.plan_file.stem.replace(Path(PLAN_FILE).stem, "load")
        return (self.folder / LOCUST_DIR / part).resolve()

    def _shown(self) -> list[str]:
        """With a web UI or without; either way it begins and ends by itself."""
        port = self.config.load.web_port
        if port is None or self.is_probe:
            return ["--headless"]
        shown = ["--autostart", "--autoquit", "0", "--web-host", WEB_HOST, "--web-port", str(port)]
        return [*shown, "--rig-standing-file", str((self.folder / STANDING_FILE).resolve())]


def _environment(bus: Mapping[str, str]) -> dict[str, str]:
    """Ours, with the bus of this run and of no other."""
    return {**{name: value for name, value in os.environ.items() if not name.startswith("RIG_BUS_")}, **bus}


def _locustfile() -> Path:
    spec = find_spec("clients")
    if spec is None or spec.origin is None:
        raise RigError("the package `clients` is not installed beside `rig`; run: make setup")
    return Path(spec.origin).parent / "locustfile.py"


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)  # the group that `start_new_session` made for this child
    except ProcessLookupError:
        return
