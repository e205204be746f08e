"""The load that was asked for and the load that was put on: rates, and how late calls began and why.

`schedule_delay` counts from the planned start: what a caller waits. `rig_delay` counts from the moment when both the
time had come and a slot was free: what the rig itself was late.
"""

from collections.abc import Sequence

import msgspec

from rig.clock import to_ms
from rig.events.types import CallStarted
from rig.measure.figure import percentile_ms
from rig.plan import Plan

NAMED = 20
"""So many calls are named in a list; the count beside it is complete."""


class Delay(msgspec.Struct, frozen=True):
    """A distribution in milliseconds; None where no call began."""

    mean_ms: float | None
    median_ms: float | None
    p99_ms: float | None
    max_ms: float | None


class LoadSummary(msgspec.Struct, frozen=True):
    """Rates in calls per second over the load's duration; `requested_rate` is None in a closed loop, which has none."""

    planned: int | None
    started: int
    requested_rate: float | None
    achieved_rate: float | None
    waited_for_slot: int
    waited_calls: list[str]
    never_started: int
    never_started_calls: list[str]
    schedule_delay: Delay
    rig_delay: Delay


def load_summary(starts: Sequence[CallStarted], plan: Plan, duration_s: float) -> LoadSummary:
    """Compare the calls that began with the plan."""
    waited = [event.call for event in starts if waited_ns(event) > 0]
    missing = never_started(starts, plan)
    is_open = plan.is_open
    return LoadSummary(
        planned=len(plan.calls) if is_open else None,
        started=len(starts),
        requested_rate=len(plan.calls) / duration_s if is_open and duration_s > 0 else None,
        achieved_rate=len(starts) / duration_s if duration_s > 0 else None,
        waited_for_slot=len(waited),
        waited_calls=waited[:NAMED],
        never_started=len(missing),
        never_started_calls=missing[:NAMED],
        schedule_delay=_delay([max(0, event.t_ns - event.planned_ns) for event in starts]),
        rig_delay=_delay([rig_delay_ns(event) for event in starts]),
    )


def never_started(starts: Sequence[CallStarted], plan: Plan) -> list[str]:
    """Open-loop calls of the plan that never began; a closed loop plans more calls than can fit."""
    if not plan.is_open:
        return []
    begun = {event.call for event in starts}
    return [call.call for call in plan.calls if call.call not in begun]


def waited_ns(event: CallStarted) -> int:
    """How long a call had to wait for a free slot, past its planned start."""
    return 0 if event.free_ns is None else max(0, event.free_ns - event.planned_ns)


def rig_delay_ns(event: CallStarted) -> int:
    """How late the rig began a call that was due and had a slot."""
    return max(0, event.t_ns - event.planned_ns - waited_ns(event))


def _delay(values_ns: list[int]) -> Delay:
    values = sorted(values_ns)
    if not values:
        return Delay(None, None, None, None)
    mean_ms = to_ms(sum(values)) / len(values)
    return Delay(mean_ms, percentile_ms(values, 50), percentile_ms(values, 99), to_ms(values[-1]))
