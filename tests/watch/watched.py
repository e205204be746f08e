"""Runs of a fake server under all watchers."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from rig.config.run import Watch
from rig.events.journal import Journal
from rig.events.types import AnyEvent, Event, ProcessSeen
from rig.pipeline.local import LocalPipeline
from rig.watch.server import ServerWatch
from tests.pipeline import fake

Kind = TypeVar("Kind", bound=Event)
Act = Callable[[LocalPipeline, ServerWatch], Awaitable[None]]

LABELS = {
    "api_server",
    "thinker",
    "talker",
    "code2wav",
    "thinker/worker",
    "talker/worker",
    "code2wav/worker",
}


def run(folder: Path, act: Act) -> list[AnyEvent]:
    """Start a watched fake server, act when all of it has been seen, stop it, and return what was
    recorded."""

    async def scenario() -> None:
        journal = Journal(folder, "rig", "rig")
        pipeline = LocalPipeline(fake.fake_config(folder), "/no/checkpoint", folder, journal)
        settings = Watch(health_interval_s=0.05, memory_interval_s=0.05, after_load_s=0.0)
        watch = ServerWatch(pipeline, journal, settings)
        try:
            await pipeline.start()
            watch.start()
            await pipeline.wait_ready()
            watch.start_health()
            await recorded(folder, ProcessSeen, lambda seen: {event.stage for event in seen} >= LABELS)
            await act(pipeline, watch)
        finally:
            await pipeline.stop()
            await watch.stop()

    asyncio.run(scenario())
    return fake.events(folder)


async def recorded(folder: Path, kind: type[Kind], enough: Callable[[list[Kind]], bool]) -> list[Kind]:
    """Wait until the journal holds enough events of a kind."""
    async with asyncio.timeout(30):
        while True:
            found = of(fake.events(folder), kind)
            if enough(found):
                return found
            await asyncio.sleep(0.01)


def of(events: list[AnyEvent], kind: type[Kind]) -> list[Kind]:
    """The events of one kind."""
    return [event for event in events if isinstance(event, kind)]
