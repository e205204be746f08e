"""Real schedulers, without a model: what they do stands in the ring, and they do the same as without it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("vllm")

from rig.engine.patches.registry import patched
from rig.engine.recorder import books, recording, source
from rig.engine.recorder.plugin import record
from rig.engine.repro.bench import Bench, Kind, Setup
from rig.events import ring
from rig.events.ring import Kind as Record
from rig.events.ring import Queue
from rig.recorder import rings
from rig.recorder.rings import Change, Raised, Ring, Step

pytestmark = pytest.mark.timeout(300)  # the first one imports vLLM

TOKEN_BY_TOKEN = [kind for kind in Kind if kind is not Kind.OMNI_GENERATION]


class Recorded:
    """A bench whose scheduler is recorded."""

    def __init__(self, folder: Path, setup: Setup) -> None:
        self.folder = folder
        self.bench = Bench(setup)
        record(self.bench.scheduler, folder)

    def ring(self) -> Ring:
        (path,) = self.folder.glob("*.ring")
        return rings.read(path)

    def changes(self, kind: Record) -> list[Change]:
        return [one for one in self.ring().records if isinstance(one, Change) and one.kind is kind]

    def steps(self, kind: Record) -> list[Step]:
        return [one for one in self.ring().records if isinstance(one, Step) and one.kind is kind]


@pytest.fixture
def recorded(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Recorded]:
    one = Recorded(tmp_path, Setup(getattr(request, "param", Kind.SCHEDULER)))
    yield one
    one.bench.close()


every_kind = pytest.mark.parametrize("recorded", list(Kind), indirect=True)
token_by_token = pytest.mark.parametrize("recorded", TOKEN_BY_TOKEN, indirect=True)


@every_kind
def test_a_request_is_followed_from_add_to_free(recorded: Recorded) -> None:
    recorded.bench.add("one", prompt=30, max_tokens=1)
    recorded.bench.step()
    (added,) = recorded.changes(Record.ADD)
    assert (added.request, added.values, added.status, added.status_after) == ("one", (30, 0), None, "WAITING")
    assert added.queue_after == Queue.WAITING | Queue.TRACKED
    (scheduled,), (updated,) = recorded.steps(Record.SCHEDULE), recorded.steps(Record.UPDATE)
    assert scheduled.tokens == {"one": 30}
    assert (scheduled.running, scheduled.waiting) == (1, 0)
    assert updated.step == scheduled.step
    assert updated.step_us >= updated.spent_us
    assert updated.free_blocks > scheduled.free_blocks
    (freed,) = recorded.changes(Record.FREE)
    assert freed.status in ("FINISHED_LENGTH_CAPPED", "FINISHED_STOPPED")
    assert recorded.ring().header.scheduler == recorded.bench.setup.kind


@every_kind
def test_a_recorded_scheduler_does_the_same_as_another(recorded: Recorded) -> None:
    bare = Bench(recorded.bench.setup)
    for bench in (bare, recorded.bench):
        for index in range(12):
            bench.add(f"r{index}", prompt=20 + index, max_tokens=4)
        bench.step()
        bench.abort("r3")
        bench.settle()
    assert recorded.bench.clients == bare.clients
    assert recorded.bench.books().empty
    bare.close()


@every_kind
def test_requests_that_end_in_one_step_are_each_told_before_its_update(recorded: Recorded) -> None:
    names = ["first", "second", "third"]
    for name in names:
        recorded.bench.add(name, prompt=5, max_tokens=1)
    recorded.bench.step()
    *_, updated = records = recorded.ring().records
    freed = [one for one in records if isinstance(one, Change) and one.kind is Record.FREE]
    assert [one.request for one in freed] == names
    assert list(records[-4:-1]) == freed
    assert isinstance(updated, Step)
    assert updated.kind is Record.UPDATE
    assert {one.t_ns for one in freed} == {updated.t_ns}
    assert {one.queue for one in freed} == {Queue.NONE}
    assert {one.status for one in freed} <= {"FINISHED_LENGTH_CAPPED", "FINISHED_STOPPED"}
    assert {one.values[0] for one in freed} == {5}


def test_a_request_that_ends_and_is_left_in_a_queue_is_told_in_it(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = recorded.bench
    bench.add("left", max_tokens=1)
    bench.schedule()
    monkeypatch.setattr(bench.scheduler, "_free_blocks", lambda request: None)
    bench.scheduler.skipped_waiting.add_request(bench.requests["left"])
    bench.update()
    (freed,) = recorded.changes(Record.FREE)
    assert freed.queue == Queue.SKIPPED_WAITING | Queue.TRACKED


def test_what_an_update_freed_before_it_failed_is_told(recorded: Recorded) -> None:
    bench = recorded.bench
    bench.add("done", max_tokens=1)
    bench.add("lost")
    bench.schedule()
    with pytest.raises(KeyError):
        bench.update(without_rows=["lost"])
    freed, raised = recorded.ring().records[-2:]
    assert isinstance(freed, Change)
    assert (freed.kind, freed.request, freed.status) == (Record.FREE, "done", "FINISHED_LENGTH_CAPPED")
    assert isinstance(raised, Raised)
    bench.abort("lost")
    assert [one.request for one in recorded.changes(Record.FREE)] == ["done", "lost"]


@every_kind
def test_an_abort_tells_queue_and_status_of_that_moment(recorded: Recorded) -> None:
    from vllm.v1.request import RequestStatus

    bench = recorded.bench
    bench.add("waits")
    bench.abort("waits")
    bench.scheduler.finish_requests("nobody", RequestStatus.FINISHED_ABORTED)
    waits, nobody = recorded.changes(Record.ABORT)
    assert (waits.queue, waits.status, waits.status_after) == (
        Queue.WAITING | Queue.TRACKED, "WAITING", "FINISHED_ABORTED",
    )  # fmt: skip
    assert waits.queue_after == Queue.NONE
    assert (nobody.queue, nobody.status) == (Queue.NONE, None)


@token_by_token
def test_a_running_request_and_one_between_two_inputs_are_aborted(recorded: Recorded) -> None:
    bench = recorded.bench
    bench.add("runs", max_tokens=9)
    bench.add("session", max_tokens=1, resumable=True)
    bench.step()
    bench.abort("runs")
    bench.abort("session")
    runs, session = recorded.changes(Record.ABORT)
    assert (runs.queue, runs.status) == (Queue.RUNNING | Queue.TRACKED, "RUNNING")
    assert (session.queue, session.status) == (Queue.SKIPPED_WAITING | Queue.TRACKED, "WAITING_FOR_STREAMING_REQ")
    (stopped,) = recorded.changes(Record.STOP)
    assert (stopped.request, stopped.values[0], stopped.status_after) == ("session", 0, "WAITING_FOR_STREAMING_REQ")


@token_by_token
def test_a_zombie_is_recorded_before_it_ends_the_engine(recorded: Recorded) -> None:
    from vllm.v1.request import RequestStatus

    bench = recorded.bench
    gone = bench.add("gone", max_tokens=8)
    bench.add("stays")
    bench.step()
    bench.abort("gone")
    gone.status = RequestStatus.RUNNING
    bench.scheduler.running.append(gone)
    with pytest.raises(KeyError):
        bench.schedule()
    *_, scheduled, raised = recorded.ring().records
    assert isinstance(scheduled, Step)
    assert set(scheduled.tokens) == {"gone", "stays"}
    assert isinstance(raised, Raised)
    assert (raised.request, raised.text) == ("gone", "schedule: KeyError: 'gone'")


def test_a_zombie_that_the_engine_lives_with_does_not_push_its_abort_out_of_the_ring(tmp_path: Path) -> None:
    from vllm.v1.request import RequestStatus

    with patched(["scheduler_guard_only"], []):
        recorded = Recorded(tmp_path, Setup(Kind.SCHEDULER))
        bench = recorded.bench
        gone = bench.add("gone", max_tokens=8)
        bench.step()
        bench.abort("gone")
        gone.status = RequestStatus.RUNNING
        bench.scheduler.running.append(gone)
        for _ in range(1_000):
            # It gets no token, and so takes no block.
            gone.num_computed_tokens = gone.num_tokens - 1
            bench.step()
        spun = recorded.ring()
        assert spun.written < 200
        assert spun.damaged == 0
        assert [one.request for one in recorded.changes(Record.ABORT)] == ["gone"]
        last = recorded.steps(Record.SCHEDULE)[-1]
        assert (last.step, last.tokens) == (1_001, {"gone": 1})
        bench.add("next", max_tokens=1)
        bench.step()
        assert set(recorded.steps(Record.SCHEDULE)[-1].tokens) == {"gone", "next"}
        assert recorded.ring().written > spun.written + 2
        bench.close()


def test_a_request_that_an_abort_leaves_in_a_queue_is_told(recorded: Recorded) -> None:
    bench = recorded.bench
    gone = bench.add("gone")
    bench.scheduler.skipped_waiting.add_request(gone)
    bench.scheduler.waiting.remove_requests = lambda requests: None
    bench.abort("gone")
    (aborted,) = recorded.changes(Record.ABORT)
    assert aborted.queue == Queue.WAITING | Queue.SKIPPED_WAITING | Queue.TRACKED
    assert aborted.queue_after == Queue.WAITING


def test_a_row_that_the_worker_leaves_out_is_named(recorded: Recorded) -> None:
    bench = recorded.bench
    bench.add("kept")
    bench.add("lost")
    bench.schedule()
    with pytest.raises(KeyError):
        bench.update(without_rows=["lost"])
    (missing,) = recorded.steps(Record.MISSING_ROWS)
    assert (list(missing.tokens), missing.step) == (["lost"], 1)
    raised = recorded.ring().records[-1]
    assert isinstance(raised, Raised)
    assert raised.text == "update_from_output: KeyError: 'lost'"


def test_a_preempted_request_is_told(recorded: Recorded) -> None:
    recorded.bench.add("one", max_tokens=9)
    recorded.bench.step()
    recorded.bench.reset_prefix_cache()
    (preempted,) = recorded.changes(Record.PREEMPT)
    assert (preempted.request, preempted.status, preempted.status_after) == ("one", "RUNNING", "PREEMPTED")


def test_steps_without_a_request_are_counted_and_not_written_one_by_one(recorded: Recorded) -> None:
    for _ in range(500):
        recorded.bench.step()
    assert len(recorded.steps(Record.IDLE)) < 100
    recorded.bench.add("one")
    recorded.bench.step()
    (scheduled,) = recorded.steps(Record.SCHEDULE)
    assert scheduled.empty == 500


@pytest.mark.parametrize("recorded", [Kind.ASYNC], indirect=True)
def test_two_steps_in_flight_keep_their_own_numbers_and_times(recorded: Recorded) -> None:
    bench = recorded.bench
    bench.add("one", max_tokens=5)
    bench.schedule()
    bench.schedule()
    bench.update()
    bench.update()
    first, second = recorded.steps(Record.UPDATE)
    assert (first.step, second.step) == (1, 2)
    assert first.step_us > first.spent_us


@pytest.mark.parametrize("recorded", [Kind.ASYNC], indirect=True)
def test_of_too_many_steps_in_flight_the_oldest_is_forgotten(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "MAX_STEPS_IN_FLIGHT", 2)
    bench = recorded.bench
    bench.add("one", max_tokens=9)
    for _ in range(3):
        bench.schedule()
    for _ in range(3):
        bench.update()
    updates = recorded.steps(Record.UPDATE)
    assert [one.step for one in updates] == [0, 2, 3]
    assert [one.step_us > 0 for one in updates] == [False, True, True]


def test_patches_are_inside_of_what_is_recorded(tmp_path: Path) -> None:
    with patched(["scheduler_zombies"]):
        one = Recorded(tmp_path, Setup(Kind.OMNI_AR_ASYNC))
        gone = one.bench.add("gone", max_tokens=8)
        one.bench.step()
        one.bench.abort("gone")
        one.bench.scheduler.running.append(gone)
        one.bench.step()
        assert [list(step.tokens) for step in one.steps(Record.SCHEDULE)] == [["gone"]]
        one.bench.close()


def test_a_recorder_that_fails_goes_off_and_the_engine_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(books.Books, "counts", lambda self: 1 / 0)
    one = Recorded(tmp_path, Setup())
    one.bench.add("one", max_tokens=2)
    assert one.bench.settle().empty
    (note,) = tmp_path.glob(f"{ring.OFF_PREFIX}*")
    assert "it failed: ZeroDivisionError" in note.read_text()
    assert not vars(one.bench.scheduler).keys() & {"schedule", "update_from_output", "add_request", "_free_request"}
    one.bench.close()


class Connector:
    """A connector that tells what it was asked, and gives nothing back."""

    def __init__(self) -> None:
        self.asked: list[object] = []

    def put(self, **given: object) -> None:
        self.asked.append(given)


class Adapter:
    """An adapter that takes whatever it is given."""

    def __init__(self) -> None:
        self.connector = Connector()
        self.asked: list[object] = []

    def _commit_received_chunk(self, request: object, result: object, **_: object) -> None:
        self.asked.append((request, result))

    def _send_single_request_for_generation(self, task: object) -> None:
        self.asked.append(task)


@pytest.mark.parametrize(
    "call",
    [
        lambda adapter: adapter._commit_received_chunk("one", None, chunk_id=3),
        lambda adapter: adapter._send_single_request_for_generation({}),
        lambda adapter: adapter.connector.put(put_key="one_1_0"),
        lambda adapter: adapter.connector.put(put_key="one_1_\N{SUPERSCRIPT TWO}"),
    ],
)
def test_a_chunk_of_an_unexpected_shape_takes_the_recorder_off_and_not_the_engine(
    call: Callable[[Adapter], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "misfits", lambda *_: [])
    one = Recorded(tmp_path, Setup())
    adapter = one.bench.scheduler.chunk_transfer_adapter = Adapter()
    one.bench.add("one", max_tokens=2)
    assert "put" in vars(adapter.connector)
    call(adapter)
    assert len(adapter.asked) + len(adapter.connector.asked) == 1
    (note,) = tmp_path.glob(f"{ring.OFF_PREFIX}*")
    assert "it failed: " in note.read_text()
    assert "put" not in vars(adapter.connector)
    assert one.bench.settle().empty
    one.bench.close()
