"""`rig serve golden` as a process of its own, for faults that end it or hold it up."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from rig.golden import record
from rig.golden.record import Line
from tests.golden.phone import LIMIT_S, QUICK

Kind = TypeVar("Kind", bound=Line)


class Child:
    """A running server process."""

    def __init__(self, process: subprocess.Popen[str], path: Path) -> None:
        self.process = process
        self._path = path
        self.port = 0

    @property
    def url(self) -> str:
        """Base URL."""
        return f"ws://127.0.0.1:{self.port}"

    def of(self, kind: type[Kind]) -> list[Kind]:
        """Lines of the record of one kind."""
        return [line for line in record.read(self._path) if isinstance(line, kind)]

    def ended(self) -> int:
        """Wait for its end; the exit status, negative for a signal."""
        return self.process.wait(LIMIT_S)


@contextmanager
def child(folder: Path, *faults: str, **settings: object) -> Iterator[Child]:
    """A server process for the length of a test; yields when it listens."""
    path = folder / "golden.jsonl"
    command = [sys.executable, "-m", "rig.cli", "serve", "golden", "--record", str(path)]
    for key, value in {"port": 0, **QUICK, **settings}.items():
        command += [f"--{key.replace('_', '-')}", str(value)]
    for fault in faults:
        command += ["--fault", fault]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    server = Child(process, path)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert "golden server on 127.0.0.1:" in line, line + process.stderr.read()
        server.port = int(line.split("127.0.0.1:")[1].split(",")[0])
        yield server
    finally:
        process.terminate()
        process.communicate(timeout=LIMIT_S)


def now_ns() -> int:
    """The clock of the record."""
    return time.monotonic_ns()
