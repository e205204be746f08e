"""Following journals: everybody is shown everything once, whoever asks and whenever."""

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from rig import follow as module
from rig.events.journal import Journal, read
from rig.events.types import AnyEvent, Phase, PhaseEntered
from rig.follow import Follow


class Keep:
    """Keeps what it is shown."""

    def __init__(self) -> None:
        self.seqs: dict[str, list[int]] = {}

    def take(self, producer: str, events: Sequence[AnyEvent]) -> None:
        assert events
        self.seqs.setdefault(producer, []).extend(event.seq for event in events)


def write(journal: Journal, count: int) -> None:
    for _ in range(count):
        journal.record(PhaseEntered, phase=Phase.LOAD)


def nothing() -> None:
    """A question without an answer."""


def test_all_takers_are_shown_every_event_of_every_producer_once(tmp_path: Path) -> None:
    one, two = Keep(), Keep()
    follow = Follow(tmp_path, [one, two])
    first, second = Journal(tmp_path, "a", "rig"), Journal(tmp_path, "b", "rig")
    write(first, 2)
    follow.ask(nothing)
    write(first, 1)
    write(second, 1)
    follow.ask(nothing)
    follow.ask(nothing)
    assert one.seqs == two.seqs == {"a": [0, 1, 2, 3], "b": [0, 1]}
    assert (follow.missing, follow.damaged) == (0, 0)


def test_the_answer_is_given_after_reading(tmp_path: Path) -> None:
    keep = Keep()
    write(Journal(tmp_path, "a", "rig"), 3)
    assert Follow(tmp_path, [keep]).ask(lambda: len(keep.seqs["a"])) == 4


def test_much_is_read_in_pieces_of_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK_BYTES", 100)
    keep = Keep()
    write(Journal(tmp_path, "a", "rig"), 50)
    Follow(tmp_path, [keep]).ask(nothing)
    assert keep.seqs["a"] == list(range(51))


def test_a_line_that_is_still_being_written_is_left(tmp_path: Path) -> None:
    keep = Keep()
    follow = Follow(tmp_path, [keep])
    write(Journal(tmp_path, "a", "rig"), 1)
    path = tmp_path / "a.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    follow.ask(nothing)
    assert keep.seqs["a"] == [0]
    path.write_bytes(whole)
    follow.ask(nothing)
    assert keep.seqs["a"] == [0, 1]


def test_gaps_and_damaged_lines_are_counted(tmp_path: Path) -> None:
    write(Journal(tmp_path, "a", "rig"), 5)
    path = tmp_path / "a.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], *lines[2:4], b"{}\n", lines[5]]))
    keep = Keep()
    follow = Follow(tmp_path, [keep])
    follow.ask(nothing)
    assert keep.seqs["a"] == [0, 2, 3, 5]
    assert (follow.missing, follow.damaged) == (2, 1)


def test_what_the_judgement_reads_is_no_damage_here_and_what_it_cannot_read_stops_nothing(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "a", "rig")
    with journal.path.open("ab") as file:
        file.write(b"\n \n" + b'{"kind":' + b"[" * 100_000 + b"\n")
    write(journal, 1)
    keep = Keep()
    follow = Follow(tmp_path, [keep])
    follow.ask(nothing)
    assert keep.seqs["a"] == [0, 1]
    _, damage = read(journal.path)
    assert follow.damaged == len(damage.bad_lines) == 1


def test_a_journal_that_cannot_be_read_is_an_error_each_time(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").mkdir()
    follow = Follow(tmp_path, [])
    for _ in "12":
        with pytest.raises(IsADirectoryError, match=r"a\.jsonl"):
            follow.ask(nothing)


def test_a_line_that_is_finished_while_others_take_is_read_whole(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "a", "rig")
    write(journal, 2)
    whole = journal.path.read_bytes()
    journal.path.write_bytes(whole[:-10])

    class Finish(Keep):
        """The writer goes on just when the first events are taken."""

        def take(self, producer: str, events: Sequence[AnyEvent]) -> None:
            super().take(producer, events)
            journal.path.write_bytes(whole)

    keep = Finish()
    follow = Follow(tmp_path, [keep])
    follow.ask(nothing)
    follow.ask(nothing)
    assert keep.seqs["a"] == [0, 1, 2]
    assert (follow.missing, follow.damaged) == (0, 0)


def test_many_threads_may_ask(tmp_path: Path) -> None:
    keep = Keep()
    follow = Follow(tmp_path, [keep])
    journal = Journal(tmp_path, "a", "rig")

    def ask_often() -> None:
        for _ in range(50):
            follow.ask(nothing)

    threads = [threading.Thread(target=ask_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    write(journal, 500)
    for thread in threads:
        thread.join()
    follow.ask(nothing)
    assert keep.seqs["a"] == list(range(501))
