"""The load asked for beside the load put on."""

from rig.events.types import CallStarted
from rig.measure.load import load_summary
from rig.plan import Plan
from rig.scripts import OPEN_SLOT, Behaviour, CallScript

MS = 1_000_000


def plan_of(count: int) -> Plan:
    names = [f"o{index:06d}" for index in range(count)]
    calls = (CallScript(name, OPEN_SLOT, 0, Behaviour.POLITE, 0, (), 0) for name in names)  # type: ignore[arg-type]
    return Plan(1, 2, tuple(calls))


def began(index: int, late_ms: int, free_ms: int | None = 0) -> CallStarted:
    """A call that was planned for moment 0."""
    return CallStarted(
        seq=index,
        t_ns=late_ms * MS,
        call=f"o{index:06d}",
        connection=0,
        caller=0,
        behaviour="polite",
        planned_ns=0,
        free_ns=None if free_ms is None else free_ms * MS,
    )


def test_rates_and_calls_that_waited_or_never_began_are_told() -> None:
    summary = load_summary([began(0, 1), began(1, 802, free_ms=800)], plan_of(4), duration_s=2)
    assert (summary.requested_rate, summary.achieved_rate) == (2.0, 1.0)
    assert (summary.waited_for_slot, summary.waited_calls) == (1, ["o000001"])
    assert (summary.never_started, summary.never_started_calls) == (2, ["o000002", "o000003"])


def test_the_delay_counts_from_the_plan_and_the_rig_s_own_from_the_free_slot() -> None:
    summary = load_summary([began(0, 1), began(1, 803, free_ms=800)], plan_of(2), duration_s=2)
    assert (summary.schedule_delay.median_ms, summary.schedule_delay.max_ms) == (1.0, 803.0)
    assert (summary.rig_delay.mean_ms, summary.rig_delay.max_ms) == (2.0, 3.0)


def test_a_closed_loop_asks_for_no_rate_and_plans_no_number_of_calls() -> None:
    closed = CallScript("c000-0000", 0, 0, Behaviour.POLITE, 0, ())  # type: ignore[arg-type]
    summary = load_summary([began(0, 1, free_ms=None)], Plan(1, 1, (closed, closed)), duration_s=2)
    assert (summary.planned, summary.requested_rate, summary.never_started) == (None, None, 0)


def test_a_load_without_calls_has_no_delays() -> None:
    assert load_summary([], plan_of(0), duration_s=0).schedule_delay.p99_ms is None
