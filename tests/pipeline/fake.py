"""Pipelines whose server is `fake_server.py`: handled like the real one, without vLLM."""

import os
import select
import shutil
from collections.abc import Iterable
from pathlib import Path

from rig.config.pipeline import PipelineConfig
from rig.events import journal as journals
from rig.events.journal import Journal
from rig.events.types import AnyEvent
from rig.pipeline import tree
from rig.pipeline.local import LocalPipeline

STAGE = {
    "max_num_seqs": 4,
    "max_num_batched_tokens": 4096,
    "gpu_memory_utilization": 0.1,
    "default_sampling_params": {"temperature": 0.8},
}


def config(**changes: object) -> PipelineConfig:
    """Settings for tests; `changes` replace whole fields."""
    settings: dict[str, object] = {
        "question": "Does the rig handle its server as it should?",
        "hardware_label": "test",
        "platform": "cpu",
        "model": {"kind": "tiny"},
        "ready_deadline_s": 30.0,
        "stop_grace_s": 10.0,
        "memory_gib": 0.1,
        "connector": {"connector_get_sleep_s": 0.01},
        "stages": {"thinker": STAGE, "talker": STAGE, "code2wav": STAGE},
    }
    return PipelineConfig.model_validate(settings | changes, strict=False)


def fake_config(folder: Path, mode: str = "ok", stubborn: bool = False, **changes: object) -> PipelineConfig:
    """Settings under which the server's module is found in `folder` first, where the fake is put."""
    package = folder / "fake"
    cli = package / "vllm_omni" / "entrypoints" / "cli"
    cli.mkdir(parents=True, exist_ok=True)
    for part in (cli, cli.parent, cli.parent.parent):
        (part / "__init__.py").touch()
    shutil.copy(Path(__file__).with_name("fake_server.py"), cli / "main.py")
    env = {"PYTHONPATH": str(package), "FAKE_MODE": mode, "FAKE_STUBBORN": "1" if stubborn else "0"}
    return config(env=env, **changes)


def pipeline(folder: Path, settings: PipelineConfig) -> LocalPipeline:
    """A pipeline that writes to `folder`; its journal is `events`."""
    return LocalPipeline(settings, "/no/checkpoint", folder, Journal(folder, "rig", "rig"))


def events(folder: Path) -> list[AnyEvent]:
    """What the pipeline's journal holds."""
    found, _ = journals.read(folder / "rig.jsonl")
    return found


def family_of(server: tree.Process) -> list[tree.Process]:
    """The server and all that stems from it, alive."""
    return [process for process in tree.family(server, tree.table()) if not process.gone]


def by_title(server: tree.Process, title: str) -> tree.Process:
    """The one process of the server whose title begins with `title`."""
    (found,) = [process for process in family_of(server) if tree.title(process.pid).startswith(title)]
    return found


def wait_for_end(processes: Iterable[tree.Process], limit_s: float = 30.0) -> None:
    """Return when all of them have ended; AssertionError when they have not within `limit_s`."""
    for process in processes:
        try:
            handle = os.pidfd_open(process.pid)
        except ProcessLookupError:
            continue
        try:
            ended = not tree.is_same(process) or bool(select.select([handle], [], [], limit_s)[0])
        finally:
            os.close(handle)
        assert ended, f"{process} still runs"
