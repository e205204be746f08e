import pytest

from rig.events.ring import Kind, Queue
from rig.recorder.rings import Change, Raised, Record, Step
from rig.recorder.words import Names, described, ms
from tests.recorder.rings import GONE, OTHER_SESSION, SESSION, request_of

NAMES = Names({SESSION: "c000-0003"})
SHORT = "duplex-01234567 e0 (c000-0003)"


def change(kind: Kind, queue: Queue = Queue.NONE, after: Queue = Queue.NONE, **fields: object) -> Change:
    given = {"status": "RUNNING", "status_after": "RUNNING", "values": (0, 0), "request": GONE, **fields}
    return Change(1, 2, kind, queue=queue, queue_after=after, **given)  # type: ignore[arg-type]


def step(kind: Kind, tokens: dict[str, int], more: int = 0, number: int = 7) -> Step:
    return Step(1, 2, kind, number, 2, 1, 0, 3, 88, 50, 12_500, 4, tokens, more)


def test_a_request_is_named_by_session_epoch_and_call() -> None:
    assert NAMES.of(GONE) == SHORT
    assert NAMES.of(request_of(OTHER_SESSION, 2)) == "duplex-fedcba98 e2"
    assert NAMES.call_of(GONE) == "c000-0003"
    assert NAMES.call_of("cmpl-1") is None
    assert NAMES.of("cmpl-1") == "cmpl-1"
    assert len(NAMES.of("x" * 200)) == 40


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (step(Kind.SCHEDULE, {GONE: 20, "b": 1}), f"schedule step 7: {SHORT} 20, b 1; running 2, waiting 1, "),
        (step(Kind.SCHEDULE, {"b": 1}, more=6), "b 1 and 6 more; running 2"),
        (step(Kind.UPDATE, {}), "update of step 7, 12.5 ms after its schedule began; running 2"),
        (step(Kind.UPDATE, {}, number=0), "update of step ?; running 2"),
        (
            step(Kind.IDLE, {}),
            "4 empty steps since the last step; running 2, waiting 1, skipped_waiting 0, parked 3, 88",
        ),
        (step(Kind.MISSING_ROWS, {GONE: 1}), f"THE WORKER'S ANSWER to step 7 leaves out {SHORT} 1"),
        (
            change(Kind.ADD, after=Queue.WAITING, status=None, values=(20, 1)),
            "20 tokens, a session; in waiting, RUNNING",
        ),
        (
            change(Kind.ADD, after=Queue.WAITING, values=(13, 1)),
            "add to duplex-01234567 e0 (c000-0003): 13 tokens; was",
        ),
        (
            change(
                Kind.ABORT, Queue.SKIPPED_WAITING | Queue.TRACKED, status="WAITING", status_after="FINISHED_ABORTED"
            ),
            f"abort {SHORT} while in skipped_waiting, status WAITING",
        ),
        (
            change(Kind.ABORT, Queue.RUNNING, Queue.WAITING, status_after="FINISHED_ABORTED"),
            "while in running, status RUNNING, and STILL in waiting",
        ),
        (change(Kind.ABORT, status=None, status_after="FINISHED_ERROR"), "end as FINISHED_ERROR duplex-01234567"),
        (change(Kind.FREE, Queue.RUNNING, values=(41, 2)), "RUNNING, in running; 41 tokens computed, 2 new"),
        (change(Kind.STOP, values=(1, 0)), f"stop {SHORT}: RUNNING"),
        (change(Kind.STOP, after=Queue.SKIPPED_WAITING), "RUNNING; goes on in skipped_waiting, RUNNING"),
        (change(Kind.PREEMPT, after=Queue.WAITING), "was RUNNING, now in waiting, RUNNING"),
        (change(Kind.CHUNK_IN, values=(3, 116)), f"chunk 3 in for {SHORT}, 116 bytes"),
        (change(Kind.CHUNK_OUT, values=(3, 116)), f"chunk 3 out of {SHORT}, 116 bytes"),
        (change(Kind.CHUNK_OUT, values=(3, -1)), f"chunk 3 out of {SHORT}, NOT TAKEN"),
        (Raised(1, 2, GONE, "schedule: KeyError: 'x'"), "RAISED in schedule: KeyError: 'x'"),
    ],
)
def test_each_record_is_one_line(record: Record, said: str) -> None:
    line = described(record, NAMES)
    assert said in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("ns", "said"), [(12_345, "0.0 ms"), (1_260_000, "1.3 ms"), (250_000_000, "250 ms"), (10**10, "10.0 s")]
)
def test_durations(ns: int, said: str) -> None:
    assert ms(ns) == said
