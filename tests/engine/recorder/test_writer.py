"""What is written is read back: whole, after a kill, after the ring has gone round, from several threads."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rig.engine.recorder.writer import RingWriter
from rig.events import ring
from rig.events.ring import Kind, Queue
from rig.recorder import rings
from rig.recorder.rings import Change, Raised, Step

COUNTS = (2, 1, 0, 3, 77)


@pytest.fixture
def writer(tmp_path: Path) -> RingWriter:
    return RingWriter(tmp_path / "a.ring", 1, "Scheduler", {1: "WAITING", 9: "FINISHED_ABORTED"})


def test_every_kind_of_record_is_read_back_as_it_was_written(writer: RingWriter) -> None:
    writer.step(Kind.SCHEDULE, 10, 5, COUNTS, {"a": 20, "b": 1}, 300, 0, 4)
    writer.request(Kind.ABORT, 11, "a", (1, 4), (1, 9), (-1, 1 << 40))
    writer.error(12, "a", "schedule: KeyError: 'a'")
    found = rings.read(writer.path)
    step, change, raised = found.records
    assert step == Step(1, 10, Kind.SCHEDULE, 5, *COUNTS, 300, 0, 4, {"a": 20, "b": 1})
    assert isinstance(change, Change)
    assert (change.request, change.status, change.status_after, change.values) == (
        "a", "WAITING", "FINISHED_ABORTED", (-1, 1 << 40),
    )  # fmt: skip
    assert raised == Raised(3, 12, "a", "schedule: KeyError: 'a'")
    assert (found.written, found.damaged, found.problems) == (3, 0, ())
    assert (found.header.stage, found.header.scheduler) == (1, "Scheduler")


def test_the_file_has_its_whole_size_from_the_start(writer: RingWriter) -> None:
    assert writer.path.stat().st_size == ring.FILE_BYTES
    assert writer.path.stat().st_blocks * 512 >= ring.FILE_BYTES


def test_a_ring_is_never_overwritten(writer: RingWriter) -> None:
    with pytest.raises(FileExistsError):
        RingWriter(writer.path, 0, "Scheduler", {})


def test_after_it_has_gone_round_the_newest_records_are_there(writer: RingWriter) -> None:
    total = ring.SLOTS + 100
    for number in range(total):
        writer.update(number, number, COUNTS, 0, 0)
    found = rings.read(writer.path)
    assert [record.seq for record in found.records] == list(range(101, total + 1))
    assert (found.written, found.damaged) == (total, 0)
    assert rings.oldest_ns(writer.path) == 100


def test_a_name_that_the_table_has_lost_is_not_another_ones(writer: RingWriter) -> None:
    writer.request(Kind.ADD, 0, "first")
    for number in range(ring.ID_SLOTS):
        writer.request(Kind.ADD, 1, f"request {number}")
    writer.request(Kind.FREE, 2, "first")
    names = [record.request for record in rings.read(writer.path).records if isinstance(record, Change)]
    assert names[0] == "request #1 (its name is overwritten)"
    assert names[2] == "request 1"
    assert names[-1] == "first"


@pytest.mark.parametrize(
    ("count", "records", "listed"), [(0, 1, 0), (16, 1, 16), (17, 2, 17), (64, 4, 64), (70, 4, 64)]
)
def test_a_step_takes_few_records_however_many_its_requests(
    writer: RingWriter, count: int, records: int, listed: int
) -> None:
    tokens = {f"r{number}": number + 1 for number in range(count)}
    writer.step(Kind.SCHEDULE, 1, 1, COUNTS, tokens, 300, 900, 4)
    steps = [record for record in rings.read(writer.path).records if isinstance(record, Step)]
    assert len(steps) == records
    found = {name: amount for step in steps for name, amount in step.tokens.items()}
    assert found == dict(list(tokens.items())[:listed])
    assert {step.more for step in steps} == {count - listed}
    assert {(step.spent_us, step.step_us, step.empty) for step in steps} == {(300, 900, 4)}


@pytest.mark.parametrize(("ended", "records"), [(0, 1), (1, 1), (9, 1), (10, 2), (18, 2), (19, 3), (64, 8)])
def test_an_update_holds_the_ends_of_its_requests(writer: RingWriter, ended: int, records: int) -> None:
    ends = [field for index in range(ended) for field in (writer.number(f"r{index}"), 4, 9, 100 + index, index)]
    writer.update(7, 5, COUNTS, 300, 900, ends)
    found = rings.read(writer.path)
    assert (found.written, found.damaged) == (records, 0)
    *freed, updated = found.records
    assert updated == Step(records, 7, Kind.UPDATE, 5, *COUNTS, 300, 900, 0, {})
    assert [one.request for one in freed if isinstance(one, Change)] == [f"r{index}" for index in range(ended)]
    for index, one in enumerate(freed):
        assert isinstance(one, Change)
        assert (one.kind, one.t_ns, one.queue, one.queue_after) == (Kind.FREE, 7, *[Queue.SKIPPED_WAITING] * 2)
        assert (one.status, one.status_after) == ("FINISHED_ABORTED", "FINISHED_ABORTED")
        assert one.values == (100 + index, index)


def test_steps_that_go_round_leave_what_was_before_them_in_the_ring(writer: RingWriter) -> None:
    writer.request(Kind.ABORT, 0, "gone")
    writer.go_round(on=True)
    for number in range(1, ring.SLOTS):
        writer.step(Kind.SCHEDULE, 2 * number, number, COUNTS, {"gone": 1})
        writer.update(2 * number + 1, number, COUNTS, 0, 0)
    writer.go_round(on=False)
    writer.step(Kind.SCHEDULE, 1 << 20, 1 << 20, COUNTS, {"next": 1})
    found = rings.read(writer.path)
    assert found.written < 300
    assert found.damaged == 0
    first, *_, last_scheduled, last_updated, new = found.records
    assert isinstance(first, Change)
    assert first.request == "gone"
    assert isinstance(last_scheduled, Step)
    assert (last_scheduled.kind, last_scheduled.step) == (Kind.SCHEDULE, ring.SLOTS - 1)
    assert isinstance(last_updated, Step)
    assert (last_updated.kind, last_updated.step) == (Kind.UPDATE, ring.SLOTS - 1)
    assert isinstance(new, Step)
    assert new.tokens == {"next": 1}
    assert rings.oldest_ns(writer.path) == 0


def test_a_long_name_is_cut_and_a_strange_one_survives(writer: RingWriter) -> None:
    writer.request(Kind.ADD, 1, "x" * 1_000)
    writer.request(Kind.ADD, 2, "grüße\udc80")
    long, strange = (record.request for record in rings.read(writer.path).records if isinstance(record, Change))
    assert long == "x" * ring.ID_TEXT_BYTES
    assert strange == "grüße?"


def test_several_threads_lose_no_record(writer: RingWriter) -> None:
    def write(name: str) -> None:
        for number in range(2_000):
            writer.request(Kind.CHUNK_OUT, number, name, values=(number, 1))

    threads = [threading.Thread(target=write, args=(f"thread {number}",)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = rings.read(writer.path)
    assert (len(found.records), found.damaged) == (6_000, 0)
    for number in range(3):
        own = [one for one in found.records if isinstance(one, Change) and one.request == f"thread {number}"]
        assert [one.values[0] for one in own] == list(range(2_000))


CHILD = """
import sys
from pathlib import Path
from rig.engine.recorder.writer import RingWriter
from rig.events.ring import Kind
writer = RingWriter(Path(sys.argv[1]), 0, "Scheduler", {})
number = 0
while True:
    number += 1
    writer.step(Kind.SCHEDULE, number, number, (1, 0, 0, 0, 9), {"a": 1, "b": 2})
    if number == 5_000:
        print("goes on", flush=True)
"""


def test_what_a_process_wrote_is_there_after_sigkill(tmp_path: Path) -> None:
    path = tmp_path / "child.ring"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"goes on\n"
    child.kill()
    assert child.wait(timeout=30) == -signal.SIGKILL
    child.stdout.close()
    found = rings.read(path)
    assert found.written >= 5_000
    assert found.damaged <= 1, "at most the record that was being written is torn"
    numbers = [record.step for record in found.records if isinstance(record, Step)]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert numbers[-1] >= found.written - 1
