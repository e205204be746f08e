"""/health is asked at a fixed rhythm, and a server that hangs is asked again."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from rig.events.journal import Journal
from rig.events.types import HealthProbed
from rig.watch import health
from tests.pipeline import fake
from tests.ports import free_port
from tests.watch.watched import of, recorded


def test_a_server_that_hangs_is_recorded_and_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "TIMEOUT_S", 0.05)

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionResetError):
            await reader.read()
        writer.transport.abort()

    async def scenario() -> list[HealthProbed]:
        journal = Journal(tmp_path, "rig", "rig")
        async with await asyncio.start_server(hang, "127.0.0.1", 0) as server:
            url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            task = asyncio.create_task(health.sample_health(url, journal, 0.01, lambda: False))
            found = await recorded(tmp_path, HealthProbed, lambda events: len(events) >= 2)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        return found

    for event in asyncio.run(scenario()):
        assert event.status is None
        assert event.error == "no answer within 0.05 s"


def test_a_server_that_is_asked_to_stop_is_not_judged_any_more(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "rig", "rig")
    url = f"ws://127.0.0.1:{free_port()}"
    asyncio.run(health.sample_health(url, journal, 0.01, lambda: True))
    assert of(fake.events(tmp_path), HealthProbed) == []
