"""The golden server's record is whole lines in order, never overwritten, and readable after a kill."""

from pathlib import Path

import pytest

from rig.errors import JournalError
from rig.golden.record import Record, SessionDetached, SlotFreed, read


def test_lines_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "golden.jsonl"
    log = Record(path)
    log.write(SessionDetached, t_ns=5, session="a")
    log.write(SlotFreed, t_ns=6, session="a", why="client_close")
    assert list(read(path)) == [
        SessionDetached(t_ns=5, session="a"),
        SlotFreed(t_ns=6, session="a", why="client_close"),
    ]


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "golden.jsonl"
    Record(path).write(SessionDetached, t_ns=5, session="a")
    with path.open("ab") as file:
        file.write(b'{"type":"slot_fr')
    assert len(list(read(path))) == 1


def test_an_old_record_is_never_overwritten(tmp_path: Path) -> None:
    Record(tmp_path / "golden.jsonl")
    with pytest.raises(JournalError, match="File exists"):
        Record(tmp_path / "golden.jsonl")


def test_without_a_path_nothing_is_written(tmp_path: Path) -> None:
    Record(None).write(SessionDetached, session="a")
    assert list(tmp_path.iterdir()) == []
