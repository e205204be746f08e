"""A broker that a test kills and starts, a collector, and producers in processes of their own."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from rig.bus.collector import Collector
from rig.bus.embedded import EmbeddedBroker
from rig.events import journal
from rig.events.journal import Journal
from rig.events.types import Event

RUN = "run-1"
LIMIT_S = 30.0
PRODUCER = Path(__file__).with_name("producer.py")

Kind = TypeVar("Kind", bound=Event)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition."""
    async with asyncio.timeout(LIMIT_S):
        while not condition():
            await asyncio.sleep(0.02)


@dataclass
class Scene:
    """One run's folders, with a collector at work."""

    folder: Path
    broker: EmbeddedBroker
    journal: Journal
    collector: Collector
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def events(self) -> Path:
        """Where the collector writes."""
        return self.folder / "events"

    @property
    def spools(self) -> Path:
        """Where the producers write."""
        return self.folder / "spool"

    def produce(self, name: str, count: int = 0, spools: Path | None = None) -> subprocess.Popen[str]:
        """Start a producer."""
        arguments = [str(spools or self.spools), name, str(self.broker.address.port), RUN, str(count)]
        process = subprocess.Popen(
            [sys.executable, str(PRODUCER), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=PRODUCER.parents[2],
        )
        self.processes.append(process)
        return process

    async def end(self, process: subprocess.Popen[str]) -> str:
        """Let a producer end in order; what it says of the delivery."""
        output, _ = await asyncio.to_thread(process.communicate, "", LIMIT_S)
        return output.strip()

    def collected(self, name: str) -> bytes:
        """What the collector has of a producer."""
        path = self.events / f"{name}.jsonl"
        return path.read_bytes() if path.exists() else b""

    def spooled(self, name: str) -> bytes:
        """What a producer wrote."""
        return (self.spools / f"{name}.jsonl").read_bytes()

    def recorded(self, kind: type[Kind]) -> list[Kind]:
        """What the rig's own journal holds of a kind."""
        return [event for event in journal.read(self.journal.path)[0] if isinstance(event, kind)]


@asynccontextmanager
async def scene(folder: Path) -> AsyncIterator[Scene]:
    """A broker and a collector for the length of a test."""
    for name in ("events", "spool"):
        (folder / name).mkdir()
    own = Journal(folder / "events", "rig", "rig")
    broker = EmbeddedBroker(own)
    await broker.start()
    made = Scene(folder, broker, own, Collector(broker.address, RUN, folder / "events", own, "rig"))
    await made.collector.start()
    try:
        yield made
    finally:
        for process in made.processes:
            if process.poll() is None:
                process.kill()
            process.wait(LIMIT_S)
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()
        await made.collector.stop()
        await broker.stop()
        own.close()
