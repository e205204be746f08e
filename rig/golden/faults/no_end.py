"""A reply is heard to its end, but its terminal event never comes."""

from dataclasses import dataclass

from rig.golden import wire
from rig.golden.faults.base import Fault
from rig.golden.session import Session
from rig.golden.wire import Outgoing


@dataclass
class NoEnd(Fault):
    """response.done is left out."""

    def outgoing(self, session: Session, event: Outgoing) -> list[Outgoing]:
        """The terminal event is dropped here."""
        return [] if event.kind == wire.DONE and self.fires(session.id) else [event]
