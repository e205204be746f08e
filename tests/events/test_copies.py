"""Copies of one journal read as one: what any copy holds is there, once and in order."""

from pathlib import Path

import pytest

from rig.errors import JournalError
from rig.events.copies import open_copies
from rig.events.journal import Journal
from rig.events.types import Phase, PhaseEntered

PHASES = list(Phase)
WHOLE = len(PHASES) + 2
"""Events of a whole journal, header and end included."""


@pytest.fixture
def lines(tmp_path: Path) -> list[bytes]:
    """The lines of a whole journal: a header, an event for each phase, the end."""
    journal = Journal(tmp_path, "rig", "rig")
    for phase in PHASES:
        journal.record(PhaseEntered, phase=phase)
    journal.close()
    return journal.path.read_bytes().splitlines(keepends=True)


def copy(folder: Path, name: str, lines: list[bytes]) -> Path:
    path = folder / f"{name}.jsonl"
    path.write_bytes(b"".join(lines))
    return path


def test_what_one_copy_lacks_the_other_brings(tmp_path: Path, lines: list[bytes]) -> None:
    reader = open_copies([copy(tmp_path, "a", lines[:3] + lines[5:]), copy(tmp_path, "b", lines[:5])])
    events = [event for block in reader.blocks() for event in block]
    assert [event.seq for event in events] == list(range(WHOLE))
    assert [event.phase for event in events if isinstance(event, PhaseEntered)] == PHASES
    assert (reader.damage.missing, reader.damage.bad_lines, reader.damage.closed) == (0, (), True)


def test_what_both_lack_is_missing(tmp_path: Path, lines: list[bytes]) -> None:
    reader = open_copies([copy(tmp_path, "a", lines[:2] + lines[4:]), copy(tmp_path, "b", lines[:3])])
    events = [event for block in reader.blocks() for event in block]
    assert [event.seq for event in events] == [seq for seq in range(WHOLE) if seq != 3]
    assert reader.damage.missing == 1


def test_a_torn_line_of_one_copy_is_no_damage_when_the_other_has_it(tmp_path: Path, lines: list[bytes]) -> None:
    reader = open_copies([copy(tmp_path, "a", [*lines[:4], lines[4][:9]]), copy(tmp_path, "b", lines)])
    assert sum(len(block) for block in reader.blocks()) == WHOLE
    assert (reader.damage.missing, reader.damage.bad_lines, reader.damage.closed) == (0, (), True)


def test_it_can_be_read_again(tmp_path: Path, lines: list[bytes]) -> None:
    reader = open_copies([copy(tmp_path, "a", lines), copy(tmp_path, "b", lines)])
    assert [list(reader.blocks()), reader.damage] == [list(reader.blocks()), reader.damage]


def test_copies_of_different_writers_are_refused(tmp_path: Path, lines: list[bytes]) -> None:
    (tmp_path / "other").mkdir()
    other = Journal(tmp_path / "other", "rig", "rig")
    other.close()
    with pytest.raises(JournalError, match="different writers"):
        open_copies([copy(tmp_path, "a", lines), other.path])


def test_a_copy_that_is_no_journal_is_passed_over(tmp_path: Path, lines: list[bytes]) -> None:
    reader = open_copies([copy(tmp_path, "a", [b"not a journal\n"]), copy(tmp_path, "b", lines)])
    assert sum(len(block) for block in reader.blocks()) == WHOLE
    with pytest.raises(JournalError):
        open_copies([copy(tmp_path, "c", [b"not a journal\n"])])


def test_what_cannot_be_opened_is_no_journal(tmp_path: Path) -> None:
    (tmp_path / "rig.jsonl").mkdir()
    with pytest.raises(JournalError, match="cannot be read"):
        open_copies([tmp_path / "rig.jsonl"])
