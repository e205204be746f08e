"""What a scheduler did last, where it is not the plain case (that is in test_timeline.py)."""

from pathlib import Path

from rig.events.ring import Kind, Queue
from rig.recorder import rings
from rig.recorder.callers import CallerActs
from rig.recorder.story import sentences
from rig.recorder.words import Names
from tests.builders import ns
from tests.recorder.rings import COUNTS, GONE, STAYS, HandRing

NOBODY = CallerActs((), {})


def told(hand: HandRing, until_s: float) -> list[str]:
    found = rings.read(hand.path)
    records = [record for record in found.records if record.t_ns <= ns(until_s)]
    return sentences("thinker", found, records, ns(until_s), NOBODY, Names({}))


def test_a_request_that_came_back_after_its_abort_is_no_suspect(tmp_path: Path) -> None:
    hand = HandRing(tmp_path)
    hand.abort(1.0, GONE, Queue.RUNNING)
    hand.add(2.0, GONE)
    hand.schedule(3.0, 1, GONE)
    assert told(hand, 3.5)[1].endswith("last heard of 1000 ms before in waiting, status WAITING")


def test_an_abort_that_met_nothing_hides_no_earlier_one(tmp_path: Path) -> None:
    hand = HandRing(tmp_path)
    hand.abort(1.0, GONE, Queue.SKIPPED_WAITING)
    hand.writer.request(Kind.ABORT, ns(1.5), GONE, (0, 0), (-128, 9))
    hand.schedule(2.0, 1, GONE)
    assert (
        "aborted 1000 ms before while in skipped_waiting, status FINISHED_ABORTED (was WAITING)" in told(hand, 2.1)[1]
    )


def test_of_many_requests_the_ended_ones_come_first(tmp_path: Path) -> None:
    hand = HandRing(tmp_path)
    hand.abort(1.0, GONE, Queue.RUNNING)
    hand.schedule(2.0, 1, *(f"r{number}" for number in range(12)), GONE)
    found = told(hand, 2.1)
    assert found[1].startswith(
        "thinker scheduled duplex-01234567 e0 (1 token), aborted 1000 ms before while in running"
    )
    assert found[-1] == "thinker scheduled 5 more requests in that step"


def test_a_request_without_any_other_record_is_said_to_have_none(tmp_path: Path) -> None:
    hand = HandRing(tmp_path)
    hand.schedule(2.0, 1, STAYS)
    assert told(hand, 2.1)[1].endswith("of which nothing else is recorded")


def test_rows_that_the_worker_left_out_are_named(tmp_path: Path) -> None:
    hand = HandRing(tmp_path)
    hand.schedule(2.0, 4, GONE, STAYS)
    hand.writer.step(Kind.MISSING_ROWS, ns(2.1), 4, COUNTS, {GONE: 1})
    assert "thinker: the worker's answer to step 4 left out duplex-01234567 e0" in told(hand, 2.2)


def test_an_exception_outside_of_a_step_names_its_request(tmp_path: Path) -> None:
    hand = HandRing(tmp_path)
    hand.abort(1.0, GONE, Queue.RUNNING)
    hand.writer.error(ns(2.0), GONE, "add_request: AssertionError: duplicate request id")
    found = told(hand, 2.1)
    assert found[0].startswith("thinker raised in add_request: AssertionError: duplicate request id, 100 ms before")
    assert "thinker: duplex-01234567 e0 was aborted 1000 ms before while in running" in found[1]


def test_what_happened_long_ago_is_not_told_again(tmp_path: Path) -> None:
    hand = HandRing(tmp_path)
    hand.writer.error(ns(2.0), None, "schedule: ValueError: once")
    hand.schedule(100.0, 8, STAYS)
    hand.update(100.1, 8)
    assert [one.split(":")[0] for one in told(hand, 100.2)] == ["thinker was between steps"]


def test_an_empty_ring_says_so(tmp_path: Path) -> None:
    assert "nothing recorded before this moment" in told(HandRing(tmp_path), 1.0)[0]


def test_an_update_of_an_unknown_step_leaves_open_whether_the_last_one_finished(tmp_path: Path) -> None:
    hand = HandRing(tmp_path)
    hand.schedule(2.0, 1, STAYS)
    assert told(hand, 2.1)[0].startswith("thinker was in step 1, which it did not finish: ")
    hand.writer.update(ns(2.05), 0, COUNTS, 50, 0)
    assert told(hand, 2.1)[0].startswith("thinker was in step 1, and whether it finished is not recorded: ")


def test_equal_steps_without_an_end_are_told_with_what_became_of_their_requests(tmp_path: Path) -> None:
    """Not every one of them has to be recorded: their numbers say how many they were."""
    hand = HandRing(tmp_path)
    hand.abort(1.0, GONE, Queue.RUNNING, after=Queue.RUNNING)
    hand.schedule(2.0, 1, GONE, STAYS)
    for at_s, step in ((2.1, 2), (2.2, 3), (9.0, 902)):
        hand.schedule(at_s, step, GONE)
        hand.update(at_s + 0.001, step)
    between, equal, suspect, left = told(hand, 9.1)
    assert between.startswith("thinker was between steps: step 902 ")
    assert equal == "thinker took 901 equal steps in 6900 ms: the same requests, no KV block taken or given back"
    assert suspect.startswith("thinker scheduled duplex-01234567 e0 (1 token), aborted 1100 ms before while in running")
    assert left.startswith("thinker: abort left duplex-01234567 e0 in running")


def test_a_few_equal_steps_are_nothing_to_tell(tmp_path: Path) -> None:
    hand = HandRing(tmp_path)
    for step in range(1, 100):
        hand.schedule(1 + step / 100, step, STAYS)
        hand.update(1 + step / 100 + 0.001, step)
    assert len(told(hand, 2.5)) == 1
