"""A reply ends twice."""

from dataclasses import dataclass

from rig.golden import wire
from rig.golden.faults.base import Fault
from rig.golden.session import Session
from rig.golden.wire import Outgoing


@dataclass
class TwoEnds(Fault):
    """response.done goes out twice, as two events with numbers of their own."""

    def outgoing(self, session: Session, event: Outgoing) -> list[Outgoing]:
        """The terminal event is doubled here."""
        return [event, event] if event.kind == wire.DONE and self.fires(session.id) else [event]
