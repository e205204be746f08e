"""The embedded broker: there when it says so, there again after its death, gone when nobody needs it any more."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rig.bus.embedded import EmbeddedBroker
from rig.errors import BusError
from rig.events import journal
from rig.events.bus import BrokerExited
from rig.events.journal import Journal
from rig.pipeline import tree
from tests.bus.scene import until

PARENT = """
import asyncio, sys
from pathlib import Path
from rig.bus.embedded import EmbeddedBroker
from rig.events.journal import Journal

async def main():
    broker = EmbeddedBroker(Journal(Path(sys.argv[1]), "rig", "rig"))
    await broker.start()
    print(broker.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[EmbeddedBroker]:
    """A broker for the length of a test."""
    own = Journal(folder, "rig", "rig")
    broker = EmbeddedBroker(own)
    await broker.start()
    try:
        yield broker
    finally:
        await broker.stop()
        own.close()


def exits(folder: Path) -> list[BrokerExited]:
    return [event for event in journal.read(folder / "rig.jsonl")[0] if isinstance(event, BrokerExited)]


def takes_connections(broker: EmbeddedBroker) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((broker.address.host, broker.address.port), 1):
        return True
    return False


def alive(pid: int) -> bool:
    process = tree.read(pid)
    return process is not None and not process.gone


def test_it_takes_connections_once_it_is_started_and_none_after_its_stop(tmp_path: Path) -> None:
    async def check() -> None:
        async with running(tmp_path) as broker:
            assert takes_connections(broker)
            assert broker.address.url == f"mqtt://127.0.0.1:{broker.address.port}"
        assert not takes_connections(broker)
        assert not alive(broker.pid)
        await broker.stop()

    asyncio.run(check())
    assert exits(tmp_path) == [], "a stop that was asked for is no death"


@pytest.mark.parametrize("name", ["SIGKILL", "SIGABRT"])
def test_one_that_dies_is_recorded_and_started_again_on_the_same_port(tmp_path: Path, name: str) -> None:
    async def check() -> None:
        async with running(tmp_path) as broker:
            killed, address = broker.pid, broker.address
            os.kill(killed, signal.Signals[name])
            await until(lambda: broker.pid != killed and takes_connections(broker))
            assert broker.address == address
            (event,) = exits(tmp_path)
            assert (event.pid, event.signal, event.exit_status) == (killed, name, None)

    asyncio.run(check())


def test_one_that_cannot_start_is_an_error_with_its_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")

    async def check() -> None:
        broker = EmbeddedBroker(Journal(tmp_path, "rig", "rig"))
        with pytest.raises(BusError, match="ended at once with status 1"):
            await broker.start()
        await broker.stop()

    asyncio.run(check())


def test_it_ends_with_its_rig_also_when_that_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)], stdout=subprocess.PIPE, text=True) as rig:
        assert rig.stdout is not None
        pid = int(rig.stdout.readline())
        assert alive(pid)
        rig.kill()
        asyncio.run(until(lambda: not alive(pid)))
