"""The collector's copy is always exactly the beginning of the journal, whatever comes and whatever the disk does."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from rig.bus.collected import CollectedFile, Taken
from rig.errors import BusError

LIMITED = """
import resource, signal, sys
from pathlib import Path
from rig.bus.collected import CollectedFile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
file = CollectedFile(Path(sys.argv[1]))
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
first = file.take(0, b"0123456789abcdef")
held = file.size
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
second = file.take(0, b"0123456789abcdef")
print(first.value, held, second.value, file.size)
"""


def test_batches_are_appended_repeats_dropped_overlaps_cut_and_gaps_refused(tmp_path: Path) -> None:
    file = CollectedFile(tmp_path / "a.jsonl")
    assert file.take(0, b"one\n") is Taken.WRITTEN
    assert file.take(0, b"one\n") is Taken.KNOWN
    assert file.take(8, b"three\n") is Taken.GAP
    assert file.take(2, b"e\ntwo\n") is Taken.WRITTEN
    assert file.take(8, b"three\n") is Taken.WRITTEN
    file.close()
    assert file.path.read_bytes() == b"one\ntwo\nthree\n"


def test_a_journal_that_is_there_already_is_never_written_to(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("mine")
    with pytest.raises(BusError, match=r"cannot create a\.jsonl"):
        CollectedFile(tmp_path / "a.jsonl")


def test_a_full_disk_in_the_middle_of_a_batch_is_made_good_when_there_is_room_again(tmp_path: Path) -> None:
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    path = tmp_path / "a.jsonl"
    answer = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, timeout=50, check=True
    )
    assert answer.stdout.split() == ["not_written", "10", "written", "16"]
    assert path.read_bytes() == b"0123456789abcdef"
