"""Slot freed: how long a caller who hung up and found the server full waits until it is let in again.

A dropped session holds its slot until the server's grace is over; when every slot is taken, its own caller is refused
meanwhile. Callers who were let in at once say nothing about when the slot was free, and are not counted.
"""

from rig.events.types import Act, ActTaken, Refused, SessionReady
from rig.history import Call
from rig.measure.figure import Measure

HANG_UPS = frozenset({Act.HANG_UP_RST, Act.HANG_UP_FIN, Act.HANG_UP_CLOSE})
FULL = "resource_exhausted"


class SlotFreed(Measure):
    """One value per hang-up after which the same caller was refused and then got in."""

    name = "slot_freed"
    measurement_origin = "hang-up due to session ready of the same caller, who was refused in between"

    def see(self, call: Call) -> None:
        """Every hang-up of the call."""
        full = [event.t_ns for event in call.of(Refused) if event.code == FULL]
        if not full:
            return
        hang_ups = [event for event in call.of(ActTaken) if event.act in HANG_UPS]
        for place, act in enumerate(hang_ups):
            until_ns = hang_ups[place + 1].t_ns if place + 1 < len(hang_ups) else None
            ready = next(
                (e.t_ns for e in call.of(SessionReady) if e.t_ns > act.t_ns and _before(e.t_ns, until_ns)), None
            )
            refused = any(t_ns > act.t_ns and _before(t_ns, until_ns if ready is None else ready) for t_ns in full)
            if refused and ready is None:
                self.miss("never let in")
            elif refused and ready is not None:
                self.add(call, ready, ready - act.planned_ns, of=act)


def _before(t_ns: int, until_ns: int | None) -> bool:
    return until_ns is None or t_ns < until_ns
