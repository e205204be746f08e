"""Copies are completed from the spools on this host, and a spool goes only when its copy is proved whole."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rig.bus.filling import Remote, fill
from rig.bus.wire import spool_id
from rig.events import journal
from rig.events.bus import EventsFilled, ProducerIncomplete
from rig.events.journal import Journal
from rig.events.types import Surprise

FULL = """
import resource, signal, sys
from pathlib import Path
from rig.bus.filling import fill
from rig.events.journal import Journal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder = Path(sys.argv[1])
own = Journal(folder / "own", "rig", "rig")
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
fill(folder / "events", folder / "spool", [], own)
"""


class Folders:
    """A results folder with one spool of 50 events and a copy of its first bytes."""

    def __init__(self, folder: Path, had_bytes: int, *, closed: bool = True) -> None:
        self.folder = folder
        for name in ("events", "spool", "own"):
            (folder / name).mkdir()
        self.events, self.spools = folder / "events", folder / "spool"
        spool = Journal(self.spools, "caller-0", "caller")
        for number in range(50):
            spool.record(Surprise, call="c", connection=0, what=str(number))
        if closed:
            spool.close()
        self.whole = spool.path.read_bytes()
        self.spool, self.copy = spool.path, self.events / "caller-0.jsonl"
        self.copy.write_bytes(self.whole[:had_bytes])

    def fill(self, *remotes: Remote) -> list[Any]:
        """Fill, and return what was recorded."""
        own = Journal(self.folder / "own", "rig", "rig")
        fill(self.events, self.spools, list(remotes), own)
        return list(journal.read(own.path)[0][1:])


@pytest.mark.parametrize("had_bytes", [0, 7, 1_000])
def test_a_short_copy_is_filled_said_and_replaces_the_spool(tmp_path: Path, had_bytes: int) -> None:
    made = Folders(tmp_path, had_bytes)
    (filled,) = made.fill()
    assert isinstance(filled, EventsFilled)
    assert (filled.producer, filled.size_bytes) == ("caller-0", len(made.whole) - had_bytes)
    assert filled.events == made.whole[had_bytes:].count(b"\n")
    assert made.copy.read_bytes() == made.whole
    assert not made.spools.exists()


def test_a_whole_copy_replaces_the_spool_in_silence(tmp_path: Path) -> None:
    made = Folders(tmp_path, 1 << 20)
    assert made.fill() == []
    assert made.copy.read_bytes() == made.whole
    assert not made.spools.exists()


def test_the_spool_of_a_writer_that_did_not_end_stays(tmp_path: Path) -> None:
    made = Folders(tmp_path, 0, closed=False)
    made.fill()
    assert made.spool.read_bytes() == made.copy.read_bytes() == made.whole


def test_a_copy_that_differs_is_kept_beside_the_spool_and_named(tmp_path: Path) -> None:
    made = Folders(tmp_path, 0)
    made.copy.write_bytes(b"something else\n")
    (incomplete,) = made.fill()
    assert isinstance(incomplete, ProducerIncomplete)
    assert "differs from what the bus brought" in incomplete.why
    assert made.spool.read_bytes() == made.whole
    assert made.copy.read_bytes() == b"something else\n"


def test_a_disk_without_room_for_the_copy_never_costs_the_spool(tmp_path: Path) -> None:
    made = Folders(tmp_path, 500)
    subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], timeout=50, check=True)
    assert made.spool.read_bytes() == made.whole
    assert made.copy.read_bytes() == made.whole[:1_000]


def test_only_producers_without_a_spool_here_are_reported_as_short(tmp_path: Path) -> None:
    made = Folders(tmp_path, 1 << 20)
    here = Remote("caller-0", "caller", spool_id(made.whole.splitlines()[0]), "it did not end")
    whole = Remote("caller-1", "caller", "0" * 16, None)
    short = Remote("caller-2", "caller", "1" * 16, "it did not end")
    (incomplete,) = made.fill(here, whole, short)
    assert isinstance(incomplete, ProducerIncomplete)
    assert (incomplete.producer, incomplete.why) == ("caller-2", "it did not end")
