"""ab.json: what a comparison is made of, and what it came to. Written anew after every run, each time whole."""

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from rig.compare.decision import Comparison, compare
from rig.compare.facts import Facts
from rig.errors import RigError, UsageError
from rig.files import replace

RECORD_FILE = "ab.json"

GOING_ON = "going on"
AS_PLANNED = "as planned"

SideName = Literal["a", "b"]
SIDES: tuple[SideName, SideName] = ("a", "b")


class Planned(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A run that is to be made; `pair` counts from 0."""

    pair: int
    side: SideName
    seed: int


class Made(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A run that was made. `folder` is relative to that of the comparison.

    `server` counts the servers that were booted, from 1; `reused`: an earlier run had used it; `fresh_because`: why it
    was not used, where the run before was of the same side. `after` is what happened to the server when the run was
    over, and `died_after` counts processes of it that died then.
    """

    folder: str
    pair: int
    side: SideName
    seed: int
    server: int
    reused: bool
    wall_s: float
    facts: Facts
    fresh_because: str = ""
    after: str = ""
    died_after: int = 0

    @property
    def judged(self) -> Facts:
        """The run's facts, with what died after it."""
        if self.died_after == 0:
            return self.facts
        deaths = self.facts.deaths + self.died_after
        return msgspec.structs.replace(self.facts, deaths=deaths, cause=self.facts.cause or self.after)


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of ab.json. `a` and `b` are the variants as they were given; `runs` in the order they were made."""

    id: str
    question: str
    run_file: str
    pipeline_file: str
    hardware_label: str
    a: str
    b: str
    bugs: tuple[str, ...]
    pairs: int
    seed: int
    runs: tuple[Made, ...] = ()
    ended: str = GOING_ON
    comparison: Comparison | None = None
    schema_version: Literal[1] = 1

    def compared(self) -> "Record":
        """The same with its comparison made anew. Raises RigError where a pair's runs did not have the same plan."""
        pairs: dict[int, tuple[Facts, Facts]] = {}
        for number in sorted({run.pair for run in self.runs}):
            both = {run.side: run.judged for run in self.runs if run.pair == number}
            if set(both) == set(SIDES):
                _refuse_other_plans(number, both["a"], both["b"])
                pairs[number] = (both["a"], both["b"])
        return msgspec.structs.replace(self, comparison=compare(self.a, self.b, pairs))


def _refuse_other_plans(pair: int, a: Facts, b: Facts) -> None:
    if a.plan_sha256 != b.plan_sha256:
        told = f"{a.plan_sha256[:16]} and {b.plan_sha256[:16]}"
        raise RigError(f"pair {pair + 1}: the two runs had different calls (plans {told}): they do not compare")


def order(pairs: int, seed: int) -> list[Planned]:
    """A B, B A, A B, ...: two runs of a side follow each other, and what drifts in time falls on both sides alike."""
    turns: Iterable[tuple[SideName, SideName]] = (SIDES if pair % 2 == 0 else SIDES[::-1] for pair in range(pairs))
    return [Planned(pair, side, seed + pair) for pair, sides in enumerate(turns) for side in sides]


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep other rigs from a comparison. Raises UsageError when one is at work, RigError when there is no folder."""
    try:
        # A lock on the folder itself: it goes with the process, however that ends.
        lock = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise RigError(f"{folder} is not the folder of a comparison: {error.strerror}") from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{folder} is being made by another rig; wait for its end") from None
        yield
    finally:
        os.close(lock)


def write(folder: Path, record: Record) -> None:
    """Write ab.json, whole or not at all. Raises RigError when that cannot be."""
    replace(folder / RECORD_FILE, msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")


def read(folder: Path) -> Record:
    """Read ab.json. Raises RigError when there is none, or none that this rig understands."""
    path = folder / RECORD_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Record)
    except OSError as error:
        raise RigError(f"{folder} is not the folder of a comparison: it has no {RECORD_FILE}") from error
    except msgspec.MsgspecError as error:
        raise RigError(f"{path} cannot be read: {error}") from error
