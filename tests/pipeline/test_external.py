"""A server of somebody else is waited for, and never touched."""

import asyncio
from pathlib import Path

import pytest

from rig.config.pipeline import ExternalServer
from rig.errors import PipelineError
from rig.events.journal import Journal
from rig.events.types import PipelineReady
from rig.pipeline import external
from rig.pipeline.external import ExternalPipeline
from tests.pipeline import fake
from tests.ports import free_port


def server(url: str) -> ExternalServer:
    return ExternalServer(question="Does it answer at all?", hardware_label="test", url=url)


def test_a_server_that_answers_is_ready(tmp_path: Path) -> None:
    other, own = tmp_path / "other", tmp_path / "own"
    other.mkdir()
    own.mkdir()

    async def scenario() -> None:
        somebody = fake.pipeline(other, fake.fake_config(other))
        try:
            await somebody.start()
            pipeline = ExternalPipeline(server(somebody.url + "/"), Journal(own, "rig", "rig"))
            assert pipeline.url == somebody.url
            await pipeline.wait_ready()
        finally:
            await somebody.stop()

    asyncio.run(scenario())
    assert any(isinstance(event, PipelineReady) for event in fake.events(own))


def test_a_server_that_does_not_answer_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external, "READY_DEADLINE_S", 0.1)
    url = f"ws://127.0.0.1:{free_port()}"
    pipeline = ExternalPipeline(server(url), Journal(tmp_path, "rig", "rig"))
    with pytest.raises(PipelineError, match=f"{url} was not ready within 0.1 s"):
        asyncio.run(pipeline.wait_ready())
