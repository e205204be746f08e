"""`rig run` as a user starts it, against a scripted server, with the bus at work."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil
import yaml

from rig import history
from rig.events.types import CallEvent, Event
from tests.clients.server import Manners, serving

RIG = str(Path(sys.executable).with_name("rig"))
LIMIT_S = 50.0

Kind = TypeVar("Kind", bound=Event)


@dataclass
class RigRun:
    """One run that goes on."""

    process: subprocess.Popen[str]
    results: Path
    output: Path

    @property
    def folder(self) -> Path:
        """The results folder."""
        return next(self.results.iterdir())

    def when(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition while the run goes on."""
        limit = time.monotonic() + LIMIT_S
        while not (self.results.is_dir() and any(self.results.iterdir()) and condition()):
            assert self.process.poll() is None, self.output.read_text()
            assert time.monotonic() < limit, self.output.read_text()
            time.sleep(0.05)

    def finish(self) -> dict[str, Any]:
        """Wait for the end; what verdict.json says."""
        self.process.wait(LIMIT_S)
        content: dict[str, Any] = json.loads((self.folder / "verdict.json").read_text())
        return content

    def collected(self) -> int:
        """Bytes of the callers' journals that have been collected."""
        return sum(path.stat().st_size for path in self.folder.glob("events/caller-*.jsonl"))

    def of(self, kind: type[Kind]) -> list[Kind]:
        """What the finished run recorded of a kind."""
        read = history.load(self.folder)
        if issubclass(kind, CallEvent):
            return [event for calls in read.calls() for call in calls for event in call.of(kind)]
        return list(read.of(kind))

    def child(self, words: str) -> psutil.Process:
        """The process below the rig whose command line holds `words`."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        return next(child for child in children if words in " ".join(child.cmdline()))


@contextmanager
def rig_run(folder: Path, duration_s: float = 4, **settings: Any) -> Iterator[RigRun]:
    """A run of two polite callers; `settings` are further settings of the run file."""
    with serving(Manners(chunks=3)) as server:
        pipeline = {"question": "What does a scripted server do?", "hardware_label": "test", "url": server.url}
        run = {
            "question": "Does the bus bring every event?",
            "pipeline": "pipeline.yaml",
            "seed": 3,
            "load": {
                "callers": 2,
                "duration_s": duration_s,
                "pause_s": {"low": 0.1, "high": 0.2},
                "think_s": {"low": 0.1, "high": 0.2},
            },
            "behaviours": {"polite": {"weight": 1, "turns": {"low": 1, "high": 1}}},
            "deadlines": {"connect_s": 3, "first_audio_s": 3, "reply_s": 5, "return_s": 5},
            "watch": {"after_load_s": 0.5},
            **settings,
        }
        (folder / "pipeline.yaml").write_text(yaml.safe_dump(pipeline))
        (folder / "run.yaml").write_text(yaml.safe_dump(run))
        output = folder / "output.txt"
        with output.open("w") as out:
            process = subprocess.Popen(
                [RIG, "run", str(folder / "run.yaml"), "--results", str(folder / "results")],
                stdout=out,
                stderr=out,
                text=True,
                env={name: value for name, value in os.environ.items() if not name.startswith(("LOCUST_", "RIG_"))},
            )
        try:
            yield RigRun(process, folder / "results", output)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(LIMIT_S)
