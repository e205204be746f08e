"""Which call a free caller slot plays next, and when. No Locust, no waiting; the desk carries the messages.

Closed loop: a slot plays its own calls, each a pause after the last. Open loop: all calls wait in one queue, in the
order of their planned starts, in the master's (or the only) process. A slot that is free takes the next one, whichever
process it is in, and holds it until its time has come. So a call is late only when every slot was busy, and then its
planned time stays what it was.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rig.clock import NS_PER_MS
from rig.plan import Plan
from rig.scripts import CallScript

NS_PER_US = 1_000
BEGIN_LEAD_NS = 100 * NS_PER_MS
"""The load begins so long after the last slot asked, so that the first calls are with their slots in time."""


@dataclass(frozen=True)
class DueCall:
    """A call and when it is due. `free_ns`: since when its slot could have begun it, None in a closed loop."""

    script: CallScript
    planned_ns: int
    free_ns: int | None = None


class SlotCalls:
    """The calls of one slot in a closed loop, whose load begins at `begin_ns`."""

    def __init__(self, calls: Sequence[CallScript], begin_ns: int) -> None:
        self._calls = iter(calls)
        self._begin_ns = begin_ns

    def next(self, free_ns: int) -> DueCall | None:
        """The call after the one that ended at `free_ns`; None when there is none, or the slot's time is over."""
        script = next(self._calls, None)
        if script is None:
            return None
        planned_ns = free_ns + script.pause_ms * NS_PER_MS
        if script.latest_ms is not None and planned_ns > self._begin_ns + script.latest_ms * NS_PER_MS:
            return None
        return DueCall(script, planned_ns)


class OpenQueue:
    """The calls of an open loop that no slot has taken yet. The load begins once every slot has asked for a call."""

    def __init__(self, plan: Plan) -> None:
        self._calls = sorted((call.start_us or 0, index) for index, call in enumerate(plan.calls))
        self._callers = plan.callers
        self._asked = 0
        self._taken = 0
        self.begin_ns: int | None = None

    @property
    def last_planned_ns(self) -> int:
        """When the last call is due; only after the load has begun."""
        assert self.begin_ns is not None
        return self.begin_ns + (self._calls[-1][0] if self._calls else 0) * NS_PER_US

    @property
    def empty(self) -> bool:
        """Whether every call was taken."""
        return self._taken == len(self._calls)

    def ask(self, now_ns: int) -> None:
        """A slot asks for a call."""
        self._asked += 1
        if self._asked >= self._callers:
            self.begin(now_ns)

    def begin(self, now_ns: int) -> None:
        """Begin the load, if it has not begun."""
        if self.begin_ns is None:
            self.begin_ns = now_ns + BEGIN_LEAD_NS

    def take(self) -> int | None:
        """Place in the plan of the next call; None when all are taken."""
        if self.empty:
            return None
        self._taken += 1
        return self._calls[self._taken - 1][1]


def open_call(plan: Plan, place: int, slot: int, begin_ns: int, free_ns: int) -> DueCall:
    """The call at a place of the plan, for the slot that took it when it was free."""
    call = plan.calls[place]
    script = CallScript(
        call.call, slot, call.index, call.behaviour, call.pause_ms, call.turns, call.start_us, length=call.length
    )
    return DueCall(script, begin_ns + (call.start_us or 0) * NS_PER_US, max(free_ns, begin_ns))
