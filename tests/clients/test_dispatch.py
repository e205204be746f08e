"""Which call a free slot plays next: its own in a closed loop, the next of all in an open one."""

from clients.dispatch import BEGIN_LEAD_NS, OpenQueue, SlotCalls, open_call
from rig.ids import call_id, open_call_id
from rig.plan import Plan
from rig.scripts import OPEN_SLOT, Behaviour, CallScript

MS = 1_000_000


def open_plan(*starts_us: int, callers: int = 2) -> Plan:
    calls = (
        CallScript(open_call_id(index), OPEN_SLOT, index, Behaviour.POLITE, 0, (), start_us)
        for index, start_us in enumerate(starts_us)
    )
    return Plan(1, callers, tuple(calls))


def closed(index: int, pause_ms: int, latest_ms: int | None = None) -> CallScript:
    return CallScript(call_id(0, index), 0, index, Behaviour.POLITE, pause_ms, (), latest_ms=latest_ms)


def test_a_closed_call_is_due_a_pause_after_the_slot_became_free() -> None:
    calls = SlotCalls([closed(0, 20), closed(1, 30)], begin_ns=0)
    first, second = calls.next(0), calls.next(500 * MS)
    assert first is not None
    assert second is not None
    assert (first.planned_ns, second.planned_ns, second.free_ns) == (20 * MS, 530 * MS, None)
    assert calls.next(600 * MS) is None


def test_a_slot_that_leaves_in_the_ramp_begins_no_call_after_its_time() -> None:
    calls = SlotCalls([closed(0, 20, latest_ms=100), closed(1, 20, latest_ms=100)], begin_ns=1_000 * MS)
    assert calls.next(1_080 * MS) is not None
    assert calls.next(1_081 * MS) is None


def test_an_open_load_begins_when_every_slot_has_asked() -> None:
    queue = OpenQueue(open_plan(0, 5, callers=2))
    begun = []
    for now_ns in (10, 20, 30):
        queue.ask(now_ns)
        begun.append(queue.begin_ns)
    assert begun == [None, 20 + BEGIN_LEAD_NS, 20 + BEGIN_LEAD_NS]


def test_calls_are_taken_in_the_order_of_their_planned_starts() -> None:
    queue = OpenQueue(open_plan(7_000, 0, 3_000))
    queue.begin(0)
    assert [queue.take(), queue.take(), queue.empty, queue.take(), queue.empty, queue.take()] == [
        1,
        2,
        False,
        0,
        True,
        None,
    ]
    assert queue.last_planned_ns == BEGIN_LEAD_NS + 7 * MS


def test_an_open_call_keeps_its_planned_time_and_tells_since_when_its_slot_was_free() -> None:
    plan = open_plan(0, 2_000)
    in_time = open_call(plan, 1, 4, begin_ns=1_000 * MS, free_ns=900 * MS)
    late = open_call(plan, 1, 4, begin_ns=1_000 * MS, free_ns=1_700 * MS)
    assert (in_time.planned_ns, in_time.free_ns) == (1_002 * MS, 1_000 * MS)
    assert (late.planned_ns, late.free_ns) == (1_002 * MS, 1_700 * MS)
    assert (late.script.caller, late.script.call) == (4, "o000001")
