"""A ring that is damaged is read as far as it goes, and says what is missing."""

from pathlib import Path

import pytest

from rig.events import ring
from rig.recorder import rings
from rig.recorder.rings import RingError
from tests.recorder.rings import GONE, HandRing


def written(folder: Path, count: int = 10) -> HandRing:
    hand = HandRing(folder)
    for step in range(1, count + 1):
        hand.schedule(float(step), step, GONE)
    return hand


def place(seq: int) -> int:
    return ring.RING_AT + seq % ring.SLOTS * ring.RECORD_BYTES


def patch(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def test_a_torn_record_is_left_out_and_told(tmp_path: Path) -> None:
    hand = written(tmp_path)
    patch(hand.path, place(10) + ring.TAIL_AT, bytes(8))
    found = rings.read(hand.path)
    assert [record.seq for record in found.records] == list(range(1, 10))
    assert (found.written, found.damaged) == (10, 1)
    assert "1 of the last records are torn or missing" in found.problems[0]


def test_a_record_that_was_claimed_and_not_begun_is_missing(tmp_path: Path) -> None:
    hand = written(tmp_path)
    patch(hand.path, place(5), bytes(ring.RECORD_BYTES))
    found = rings.read(hand.path)
    assert [record.seq for record in found.records] == [1, 2, 3, 4, 6, 7, 8, 9, 10]
    assert found.damaged == 1


@pytest.mark.parametrize(("offset", "value"), [(16, b"\xff"), (17, b"\xff")])
def test_a_record_that_makes_no_sense_is_damage(tmp_path: Path, offset: int, value: bytes) -> None:
    """An unknown kind, and more requests than a record holds."""
    hand = written(tmp_path)
    patch(hand.path, place(7) + offset, value)
    assert rings.read(hand.path).damaged == 1


def test_an_update_with_more_ends_than_a_record_holds_is_damage(tmp_path: Path) -> None:
    hand = written(tmp_path)
    hand.update(11.0, 10)
    patch(hand.path, place(11) + 17, bytes([ring.ENDS_A_RECORD + 1]))
    assert rings.read(hand.path).damaged == 1


def test_a_ring_of_the_layout_before_is_read(tmp_path: Path) -> None:
    """Its updates list no ends."""
    hand = written(tmp_path)
    hand.update(11.0, 10)
    (earlier,) = ring.EARLIER_MAGICS
    patch(hand.path, 0, earlier)
    assert len(rings.read(hand.path).records) == 11


def test_garbage_in_a_free_slot_is_no_newer_record(tmp_path: Path) -> None:
    hand = written(tmp_path)
    patch(hand.path, place(20), b"\xff" * ring.RECORD_BYTES)
    found = rings.read(hand.path)
    assert (found.written, len(found.records)) == (10, 10)


def test_a_file_cut_short_gives_what_it_has(tmp_path: Path) -> None:
    hand = written(tmp_path)
    with hand.path.open("r+b") as file:
        file.truncate(place(6) + 50)
    found = rings.read(hand.path)
    assert [record.seq for record in found.records] == [1, 2, 3, 4, 5]
    assert any("is cut short" in problem for problem in found.problems)


@pytest.mark.parametrize("content", [b"", b"{}", bytes(ring.FILE_BYTES), ring.MAGIC + b"\xff" * 100])
def test_what_is_no_ring_says_so(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "no.ring"
    path.write_bytes(content)
    with pytest.raises(RingError, match=r"no\.ring"):
        rings.read(path)
    with pytest.raises(RingError, match=r"no\.ring"):
        rings.oldest_ns(path)


def test_a_file_that_is_gone_says_so(tmp_path: Path) -> None:
    with pytest.raises(RingError, match="cannot read"):
        rings.read(tmp_path / "gone.ring")


def test_an_empty_ring_has_no_oldest_record(tmp_path: Path) -> None:
    hand = HandRing(tmp_path)
    assert rings.oldest_ns(hand.path) is None
    assert rings.read(hand.path).records == ()
