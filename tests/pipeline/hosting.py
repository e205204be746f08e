"""`rig host` as a user starts it, and orders for it."""

import asyncio
import functools
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rig.pipeline.orders import Order
from rig.pipeline.remote import HostAddress

TOKEN = "only-for-this-test"
LIMIT_S = 40.0

GOLDEN = {
    "question": "Does a host run its server as the rig does?",
    "hardware_label": "golden",
    "duplex_session": {"max_sessions": 4, "disconnect_grace_s": 1.0, "reaper_interval_s": 0.2},
    "golden": {"reply_s": 1.0, "first_audio_ms": 200, "chunk_ms": 200, "pace_ms": 200},
}


@dataclass
class RunningHost:
    """A host that listens."""

    process: subprocess.Popen[str]
    address: HostAddress
    results: Path
    token_file: Path


@contextmanager
def hosting(folder: Path) -> Iterator[RunningHost]:
    """A host with its results under `folder`, on a free port."""
    token_file = folder / "token"
    token_file.write_text(TOKEN + "\n")
    results = folder / "results"
    command = [sys.executable, "-m", "rig.cli", "host", "--listen", "127.0.0.1:0", "--results", str(results)]
    process = subprocess.Popen(
        [*command, "--token-file", str(token_file)],
        stdout=subprocess.PIPE,
        text=True,
        env={name: value for name, value in os.environ.items() if not name.startswith(("LOCUST_", "RIG_"))},
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        port = re.search(r"port (\d+)$", said.strip())
        assert port is not None, said
        yield RunningHost(process, HostAddress("127.0.0.1", int(port[1])), results, token_file)
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=LIMIT_S)


def order(run: str = "run-1", token: str = TOKEN, **pipeline: object) -> Order:
    """An order for a golden server; `pipeline` are further settings of it."""
    return Order(token, run, yaml.safe_dump({**GOLDEN, **pipeline}), "events", 0.2, 1.0, {})


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that runs in an event loop of its own."""

    @functools.wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        asyncio.run(test(*arguments, **named))

    return run


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Wait until `condition` holds."""
    limit = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < limit, what
        time.sleep(0.05)
