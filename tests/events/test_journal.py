"""A journal keeps what was recorded, whatever happens to its writer or its disk, and says what it lost."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rig.errors import JournalError
from rig.events.journal import BLOCK_BYTES, Journal, Reader, read
from rig.events.types import (
    SCHEMA_VERSION,
    Header,
    JournalClosed,
    MemorySampled,
    Phase,
    PhaseEntered,
    Surprise,
)

SURPRISE: dict[str, Any] = {"call": "c000-0000", "connection": 0, "what": "x"}


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Within it, no file of this process can grow beyond `size` bytes: what a full disk looks like to a writer."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def append(path: Path, *lines: bytes) -> None:
    with path.open("ab") as file:
        file.write(b"".join(lines))


def entered(seq: int, **changes: object) -> bytes:
    """A line of a `phase_entered` event, with some of its JSON fields changed or added."""
    fields = {"type": "phase_entered", "seq": seq, "t_ns": 5, "phase": "load"} | changes
    return json.dumps(fields).encode() + b"\n"


def test_events_come_back_as_recorded_and_numbered_without_a_gap(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "rig", "watcher")
    journal.record(PhaseEntered, phase=Phase.LOAD, t_ns=17)
    journal.record(MemorySampled, pid=1, stage="talker", rss_bytes=0)
    journal.close()

    events, damage = read(journal.path)

    header, entered_load, sampled, closed = events
    assert isinstance(header, Header)
    assert (header.schema, header.producer, header.role, header.pid) == (SCHEMA_VERSION, "rig", "watcher", os.getpid())
    assert entered_load == PhaseEntered(seq=1, t_ns=17, phase=Phase.LOAD)
    assert isinstance(sampled, MemorySampled)
    assert sampled.rss_bytes == 0
    assert closed == JournalClosed(seq=3, t_ns=closed.t_ns, dropped=0)
    assert (damage.bad_lines, damage.missing, damage.closed) == ((), 0, True)


def test_an_event_is_stamped_between_the_moments_before_and_after_it(tmp_path: Path) -> None:
    from rig.clock import monotonic_ns

    before_ns = monotonic_ns()
    journal = Journal(tmp_path, "rig", "watcher")
    after_ns = monotonic_ns()
    assert before_ns <= read(journal.path)[0][0].t_ns <= after_ns
    journal.close()


def test_an_event_is_on_disk_as_soon_as_it_is_recorded(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "rig", "watcher")
    journal.record(PhaseEntered, phase=Phase.LOAD)
    assert len(journal.path.read_bytes().splitlines()) == 2
    journal.close()


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(entered(1, colour="red"), id="unknown field"),
        pytest.param(entered(1, type="phase_left"), id="unknown event"),
        pytest.param(entered(1, phase="lunch"), id="unknown enum value"),
        pytest.param(entered(1, t_ns="5"), id="text for a number"),
        pytest.param(entered(1, t_ns=None), id="null for a number"),
        pytest.param(b'{"type":"phase_entered","seq":1,"t_ns":5}\n', id="missing field"),
        pytest.param(b"\xff\xfe\n", id="no UTF-8"),
        pytest.param(b"[" * 100_000 + b"\n", id="nested too deep"),
        pytest.param(b"\0" * 64 + b"\n", id="zeros after a power cut"),
    ],
)
def test_a_line_of_another_shape_is_reported_with_its_number_and_missed(tmp_path: Path, line: bytes) -> None:
    journal = Journal(tmp_path, "rig", "watcher")
    append(journal.path, line, entered(2))

    events, damage = read(journal.path)

    # Header and line 3 remain; seq 0 to 2 were given, two were read: one is missing.
    assert [event.seq for event in events] == [0, 2]
    assert (damage.bad_lines, damage.missing) == ((2,), 1)
    journal.close()


def test_a_field_that_the_event_does_not_have_cannot_be_recorded(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "rig", "watcher")
    with pytest.raises(TypeError, match="colour"):
        journal.record(PhaseEntered, phase=Phase.LOAD, colour="red")
    journal.record(PhaseEntered, phase=Phase.DRAIN)
    journal.close()
    events, damage = read(journal.path)
    assert [event.seq for event in events] == [0, 1, 2]
    assert damage.missing == 0


def test_a_torn_last_line_is_reported_and_the_lines_before_it_are_read(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "rig", "watcher")
    journal.record(PhaseEntered, phase=Phase.LOAD)
    append(journal.path, entered(2)[:20])

    events, damage = read(journal.path)

    assert [event.seq for event in events] == [0, 1]
    assert (damage.bad_lines, damage.closed) == ((3,), False)
    journal.close()


def test_a_gap_in_the_sequence_is_counted(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "rig", "watcher")
    append(journal.path, entered(1), entered(5))
    assert read(journal.path)[1].missing == 3  # 2, 3 and 4
    journal.close()


KILLED_WRITER = """
import sys
from pathlib import Path
from rig.events.journal import Journal
from rig.events.types import Surprise
journal = Journal(Path(sys.argv[1]), "victim", "caller")
number = 0
while True:
    journal.record(Surprise, call="c000-0000", connection=0, what=f"{number} " + "x" * 500)
    number += 1
    if number % 100 == 0:
        print(number, flush=True)
"""


def test_a_killed_writer_loses_nothing_that_it_had_recorded(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED_WRITER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for _ in range(5):
            recorded = int(writer.stdout.readline())
        writer.kill()

    events, damage = read(tmp_path / "victim.jsonl")

    said = [int(event.what.split()[0]) for event in events if isinstance(event, Surprise)]
    assert said == list(range(len(said)))
    assert len(said) >= recorded
    assert damage.missing == 0
    assert len(damage.bad_lines) <= 1
    assert not damage.closed


def test_a_full_disk_stops_nobody_and_what_it_cost_is_counted_and_visible(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "rig", "watcher")
    journal.record(Surprise, **SURPRISE)
    with file_size_limit(journal.path.stat().st_size + 10):
        for _ in range(4):
            journal.record(Surprise, **SURPRISE)
    during = journal.dropped
    journal.record(PhaseEntered, phase=Phase.DRAIN)
    journal.close()

    events, damage = read(journal.path)

    # Five were recorded and one fitted; the others are counted by the writer, told in the last line, seen as a gap.
    assert sum(isinstance(event, Surprise) for event in events) == 1
    assert during == 4
    assert isinstance(events[-1], JournalClosed)
    assert (events[-1].dropped, damage.missing) == (4, 4)
    assert len(damage.bad_lines) == 1  # the line that the disk cut short
    assert isinstance(events[-2], PhaseEntered)  # and the next line was not swallowed by it


def test_a_disk_full_to_the_end_leaves_a_journal_without_an_end(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "rig", "watcher")
    with file_size_limit(journal.path.stat().st_size):
        journal.record(Surprise, **SURPRISE)
        journal.close()
    assert journal.dropped == 2
    assert not read(journal.path)[1].closed


def test_what_is_recorded_after_the_end_is_counted_as_dropped(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "rig", "watcher")
    journal.close()
    journal.close()
    journal.record(Surprise, **SURPRISE)
    assert journal.dropped == 1
    assert [type(event) for event in read(journal.path)[0]] == [Header, JournalClosed]


def test_a_journal_is_never_overwritten(tmp_path: Path) -> None:
    first = Journal(tmp_path, "rig", "watcher")
    first.close()
    before = first.path.read_bytes()
    with pytest.raises(JournalError, match="never overwritten"):
        Journal(tmp_path, "rig", "watcher")
    assert first.path.read_bytes() == before


def test_a_journal_in_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"cannot create .*No such file"):
        Journal(tmp_path / "nowhere", "rig", "watcher")


@pytest.mark.parametrize("content", [b"", b"\n\n", b"hello\n", entered(0)])
def test_a_file_that_is_no_journal_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.jsonl"
    path.write_bytes(content)
    with pytest.raises(JournalError, match="does not begin with a journal header"):
        read(path)


def test_a_journal_of_another_schema_is_an_error(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "rig", "watcher")
    journal.close()
    content = journal.path.read_bytes().replace(b'"schema":%d' % SCHEMA_VERSION, b'"schema":999')
    journal.path.write_bytes(content)
    with pytest.raises(JournalError, match="schema 999"):
        read(journal.path)


def test_threads_share_a_journal_without_mixing_lines_or_numbers(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "rig", "watcher")

    def talk(name: int) -> None:
        for index in range(200):
            journal.record(Surprise, call=f"c{name:03d}-0000", connection=index, what="x" * 100)

    threads = [threading.Thread(target=talk, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    journal.close()

    events, damage = read(journal.path)

    # One header, 8 x 200 events, one end.
    assert [event.seq for event in events] == list(range(1_602))
    assert (damage.bad_lines, damage.missing, damage.closed) == ((), 0, True)
    for name in range(8):
        mine = [
            event.connection for event in events if isinstance(event, Surprise) and event.call == f"c{name:03d}-0000"
        ]
        assert mine == list(range(200))


def test_a_long_journal_is_read_in_blocks_and_bad_lines_keep_their_numbers(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "rig", "watcher")
    lines = [entered(seq) for seq in range(1, 3 * BLOCK_BYTES // len(entered(1)))]
    bad = len(lines) - 10
    lines[bad] = b"{}\n"
    append(journal.path, *lines)
    reader = Reader(journal.path)
    blocks = [len(block) for block in reader.blocks()]
    assert len(blocks) > 1
    assert sum(blocks) == len(lines)  # and the header, less the bad line
    assert (reader.damage.bad_lines, reader.damage.missing) == ((bad + 2,), 1)
    assert [len(block) for block in reader.blocks()] == blocks
    journal.close()


def test_an_event_over_two_lines_is_none(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "rig", "watcher")
    append(journal.path, entered(1).replace(b",", b",\n", 1), entered(2))
    events, damage = read(journal.path)
    assert [event.seq for event in events] == [0, 2]
    assert (damage.bad_lines, damage.missing) == ((2, 3), 1)
    journal.close()
