"""The entry point of the group `vllm.general_plugins`: from here on, a scheduler that is made is recorded.

Nothing is loaded where the environment names no folder. A recorder that does not fit the engine leaves it as it is
and says so in one line, in the log and in the folder of the rings, so that the report can say "not recorded" and why.
"""

import functools
import itertools
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

ENVIRONMENT = "RIG_RECORDER"
"""Folder for the rings; set by the rig for the server's processes."""

PLUGIN = "rig_recorder"
"""Name of the entry point, as `VLLM_PLUGINS` would have to list it."""

_rings = itertools.count()


def load() -> None:
    """Put a function around the making of schedulers. Never raises: the engine matters more than its recorder."""
    folder = os.environ.get(ENVIRONMENT, "")
    if not folder:
        return
    try:
        from vllm.v1.core.sched.scheduler import Scheduler

        from rig.engine.patches.wrapping import wrap

        if not getattr(Scheduler.__init__, "_rig_recorder", False):
            wrap(Scheduler, "__init__", _around_init(Path(folder)))
    except Exception as error:  # noqa: BLE001 - see above
        switch_off(Path(folder), f"{type(error).__name__}: {error}")


def _around_init(folder: Path) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def around(original: Callable[..., None]) -> Callable[..., None]:
        def __init__(self: Any, *args: object, **kwargs: object) -> None:  # noqa: N807 - it stands for the engine's own
            original(self, *args, **kwargs)
            try:
                record(self, folder)
            except Exception as error:  # noqa: BLE001 - see above
                switch_off(folder, f"{type(error).__name__}: {error}")

        __init__._rig_recorder = True  # type: ignore[attr-defined]
        return __init__

    return around


def record(scheduler: Any, folder: Path) -> None:
    """Record one scheduler into a new ring in `folder`, or say why not."""
    from vllm.v1.request import RequestStatus

    from rig.engine.recorder import source
    from rig.engine.recorder.recording import Recording
    from rig.engine.recorder.writer import RingWriter
    from rig.events.ring import SUFFIX

    if problems := source.misfits(type(scheduler), source.SCHEDULER_METHODS):
        switch_off(folder, "; ".join(problems))
        return
    stage = int(getattr(scheduler.vllm_config.model_config, "stage_id", 0) or 0)
    number = next(_rings)
    name = f"stage-{stage}.{os.getpid()}{f'-{number}' if number > 0 else ''}{SUFFIX}"
    statuses = {int(status): name for name, status in RequestStatus.__members__.items()}
    folder.mkdir(parents=True, exist_ok=True)
    writer = RingWriter(folder / name, stage, type(scheduler).__name__, statuses)
    Recording(scheduler, writer, functools.partial(switch_off, folder)).begin()
    _log().info("flight recorder on in process %d: %s", os.getpid(), name)


def switch_off(folder: Path, why: str) -> None:
    """Say that this process is not recorded, in its log and in the folder of the rings."""
    from rig.events.ring import OFF_PREFIX

    line = f"flight recorder off in process {os.getpid()}: {' '.join(why.split())}"
    _log().warning("%s", line)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{OFF_PREFIX}{os.getpid()}.txt").write_text(line + "\n", encoding="utf-8")
    except OSError as error:
        _log().warning("and that could not be written into %s: %s", folder, error.strerror)


def _log() -> logging.Logger:
    # Below "vllm", whose handlers are the only ones that an engine process sets up.
    return logging.getLogger("vllm.rig.recorder")
