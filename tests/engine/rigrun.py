"""A real run of the rig on the real pipeline, as a user would start it, watched from outside."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import yaml

from rig.events import journal
from rig.events.types import AnyEvent, AudioReceived, CallStarted, ProcessSeen

RIG = str(Path(sys.executable).with_name("rig"))
REPOSITORY = Path(__file__).resolve().parents[2]
PIPELINE = REPOSITORY / "configs" / "pipelines" / "minicpmo45-cpu-tiny.yaml"
LATE = {"rig_validity"}
"""What is unknown in a run that proves nothing of the engines, because the machine stalled the callers."""
TRIES = 3
POLITE = {"polite": {"weight": 1, "turns": {"low": 2, "high": 3}}}


@dataclass
class RigRun:
    """One `rig run` that goes on."""

    process: subprocess.Popen[str]
    results: Path

    @property
    def folder(self) -> Path:
        """The results folder of the run."""
        return next(self.results.iterdir())

    def events(self) -> list[AnyEvent]:
        """All that is in the journals now; a journal that is only being created has nothing yet."""
        if not self.results.is_dir():
            return []
        found: list[AnyEvent] = []
        for path in self.results.glob("*/events/*.jsonl"):
            if path.stat().st_size > 0:
                found.extend(journal.read(path)[0])
        return found

    def wait_for(self, kind: type[AnyEvent], limit_s: float) -> None:
        """Wait until an event of a kind was recorded."""
        wait_until(lambda: any(isinstance(event, kind) for event in self.events()), limit_s, self.process)

    def pid_of(self, stage: str) -> int:
        """Pid of a process of the server by its label."""
        return next(e.pid for e in self.events() if isinstance(e, ProcessSeen) and e.stage == stage)

    def finish(self, limit_s: float) -> int:
        """Wait for the end of the run and return its exit code."""
        return self.process.wait(timeout=limit_s)

    def verdict(self) -> dict[str, Any]:
        """What verdict.json says."""
        content: dict[str, Any] = json.loads((self.folder / "verdict.json").read_text())
        return content

    def not_passed(self) -> set[str]:
        """The checks that failed or are unknown."""
        return {check["check"] for check in self.verdict()["checks"] if check["verdict"] != "pass"}

    def left_running(self) -> list[int]:
        """Pids that the run started and that are still there (same start time, not a zombie)."""
        seen = {(e.pid, e.start_ticks) for e in self.events() if isinstance(e, ProcessSeen)}
        return sorted(pid for pid, ticks in seen if _start_ticks(pid) == ticks)


def _start_ticks(pid: int) -> int | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[19])


def wait_until(condition: Callable[[], bool], limit_s: float, process: subprocess.Popen[str] | None = None) -> None:
    """Wait for a condition; fail when the limit passes or the process, if there is one, ends first."""
    limit = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < limit, f"not within {limit_s} s"
        if process is not None and process.poll() is not None:
            assert condition(), f"the rig ended first with status {process.returncode}"
        time.sleep(0.1)


@contextmanager
def rig_run(folder: Path, duration_s: float = 600) -> Iterator[RigRun]:
    """`rig run` with polite callers and short deadlines."""
    settings: dict[str, Any] = {
        "question": "Does the verdict say what really happened to the engines?",
        "pipeline": str(PIPELINE),
        "seed": 3,
        "load": {
            "callers": 2,
            "duration_s": duration_s,
            "pause_s": {"low": 0.1, "high": 0.5},
            "think_s": {"low": 0.2, "high": 0.5},
        },
        "behaviours": POLITE,
        "deadlines": {"connect_s": 15, "first_audio_s": 15, "reply_s": 25, "return_s": 30},
        "watch": {"after_load_s": 5},
    }
    run_file = folder / "run.yaml"
    run_file.write_text(yaml.safe_dump(settings))
    results = folder / "results"
    output = (folder / "output.txt").open("w")
    command = [RIG, "run", str(run_file), "--results", str(results)]
    process = subprocess.Popen(command, stdout=output, stderr=output, text=True)
    run = RigRun(process, results)
    try:
        yield run
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=120)
        output.close()


def run_in_time(make: Callable[[Path], RigRun], folder: Path) -> RigRun:
    """The first run, of three at most, whose callers were not only late, else the third. Each has a folder of its own.

    `make` makes one to its end.
    """
    for number in range(1, TRIES + 1):
        own = folder / f"run-{number}"
        own.mkdir()
        run = make(own)
        if run.not_passed() != LATE:
            break
    return run


def wait_mid_call(run: RigRun, boot_limit_s: float = 300) -> None:
    """Wait until the pipeline is up, calls have begun and a reply is being heard."""
    run.wait_for(CallStarted, boot_limit_s)
    run.wait_for(AudioReceived, 60)


def locust_of(run: RigRun) -> list[int]:
    """Pids of the callers: children of the rig that run Locust."""
    children = psutil.Process(run.process.pid).children(recursive=True)
    return [child.pid for child in children if "locust" in " ".join(_cmdline(child))]


def _cmdline(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def kill(pid: int) -> None:
    """SIGKILL one process."""
    os.kill(pid, signal.SIGKILL)
