"""The rings of a run folder, and why there may be none."""

from dataclasses import dataclass
from pathlib import Path

from rig.config.pipeline import STAGE_NAMES, PipelineConfig
from rig.events import ring
from rig.history import History
from rig.recorder import rings
from rig.recorder.rings import Ring, RingError


@dataclass(frozen=True)
class Recorded:
    """What was read of all rings, by stage and process; `problems` says what could not be, one line each."""

    rings: tuple[Ring, ...]
    problems: tuple[str, ...]


def ring_files(folder: Path) -> list[Path]:
    """The rings of a run folder."""
    return sorted((folder / ring.FOLDER).glob(f"*{ring.SUFFIX}"))


def not_recorded(history: History) -> str | None:
    """Why nothing was recorded, in a few words; None when something was."""
    if ring_files(history.folder):
        return None
    pipeline = history.pipeline
    if not isinstance(pipeline, PipelineConfig):
        return "this server has no recorder"
    if not pipeline.recorder:
        return "switched off in the pipeline file"
    said = reasons(history.folder)
    return said[0] if said else "no engine wrote a ring"


def reasons(folder: Path) -> list[str]:
    """What processes said that were not recorded."""
    paths = sorted((folder / ring.FOLDER).glob(f"{ring.OFF_PREFIX}*"))
    return [path.read_text(encoding="utf-8", errors="replace").strip() for path in paths]


def load(history: History) -> Recorded:
    """Everything that the rings still hold."""
    found: list[Ring] = []
    problems = reasons(history.folder)
    boots = {header.boot_id for header in history.headers}
    for path in ring_files(history.folder):
        try:
            one = rings.read(path)
        except RingError as error:
            problems.append(str(error))
            continue
        if boots and one.header.boot_id not in boots:
            problems.append(f"{path.name} was written on another clock than the journals, and is left out")
            continue
        problems += one.problems
        found.append(one)
    found.sort(key=lambda one: (one.header.stage, one.header.pid))
    return Recorded(tuple(found), tuple(problems))


def stage_of(one: Ring) -> str:
    """The name of the stage that wrote a ring."""
    stage = one.header.stage
    return STAGE_NAMES[stage] if 0 <= stage < len(STAGE_NAMES) else f"stage{stage}"
