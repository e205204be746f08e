"""Where requests are, and how many: read from the released schedulers."""

from collections.abc import Iterator

import pytest

pytest.importorskip("vllm")

from rig.engine.recorder.books import Books
from rig.engine.repro.bench import Bench, Kind, Setup
from rig.events import ring
from rig.events.ring import Queue

pytestmark = pytest.mark.timeout(300)  # the first one imports vLLM


@pytest.fixture
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    one = Bench(Setup(getattr(request, "param", Kind.SCHEDULER), max_num_seqs=2))
    yield one
    one.close()


every_kind = pytest.mark.parametrize("bench", list(Kind), indirect=True)


@every_kind
def test_the_queues_and_the_blocks_are_counted(bench: Bench) -> None:
    books = Books(bench.scheduler)
    *_, free = books.counts()
    for name in ("one", "two", "three"):
        bench.add(name, max_tokens=9)
    assert books.counts() == (0, 3, 0, 0, free)
    bench.schedule()
    running, waiting, skipped, parked, left = books.counts()
    assert (running, waiting, skipped, parked) == (2, 1, 0, 0)
    assert left < free


@every_kind
def test_a_request_is_found_where_it_is(bench: Bench) -> None:
    books = Books(bench.scheduler)
    for name in ("one", "two", "three"):
        bench.add(name, max_tokens=9)
    bench.schedule()
    assert books.where("one") == Queue.RUNNING | Queue.TRACKED
    assert books.where("three", bench.requests["three"]) == Queue.WAITING | Queue.TRACKED
    assert books.where("nobody") == Queue.NONE


def test_a_request_that_is_no_longer_tracked_is_found_all_the_same(bench: Bench) -> None:
    gone = bench.add("gone")
    bench.abort("gone")
    bench.scheduler.skipped_waiting.add_request(gone)
    books = Books(bench.scheduler)
    assert books.where("gone") == Queue.SKIPPED_WAITING
    assert books.where("gone", gone) == Queue.SKIPPED_WAITING
    assert books.status_of("gone") == ring.NO_STATUS


def test_of_requests_that_ended_it_is_told_what_they_were(bench: Bench) -> None:
    books = Books(bench.scheduler)
    ended, goes_on, left = (bench.add(name, prompt=5, max_tokens=9) for name in ("ended", "goes on", "left"))
    bench.schedule()
    bench.update()
    bench.abort("ended")
    bench.abort("left")
    aborted = int(ended.status)
    numbers = {"ended": 4, "left": 5, "goes on": 6}.__getitem__
    bench.scheduler.skipped_waiting.add_request(left)
    assert books.ends([ended, left, goes_on], books.counts(), numbers) == [
        4, 0, aborted, 5, 1,
        5, int(Queue.SKIPPED_WAITING), aborted, 0, 0,
        6, int(Queue.RUNNING | Queue.TRACKED), int(goes_on.status), 5, 1,
    ]  # fmt: skip
    bench.abort("goes on")
    bench.scheduler.skipped_waiting.remove_requests([left])
    assert books.counts()[:4] == (0, 0, 0, 0)
    assert books.ends([ended], books.counts(), numbers) == [4, 0, aborted, 5, 1]


def test_a_request_that_is_set_aside_is_parked_once_the_keepers_are_known(bench: Bench) -> None:
    one = bench.add("one")
    bench.scheduler.waiting.remove_requests([one])

    class Keeper:
        _held_non_active = (one,)

    bench.scheduler.chunk_transfer_adapter = Keeper()
    books = Books(bench.scheduler)
    assert books.where("one") == Queue.TRACKED
    books.meet_keepers()
    assert books.where("one") == Queue.PARKED | Queue.TRACKED
    assert books.counts()[3] == 1
    assert books.status_of("one") == int(one.status)
