"""A chunk of a reply is sent twice."""

from dataclasses import dataclass

from rig.golden.faults.base import Fault
from rig.golden.session import Session
from rig.golden.wire import Outgoing


@dataclass
class DoubledChunk(Fault):
    """One chunk of sound goes out twice in a row, as two events with numbers of their own."""

    def outgoing(self, session: Session, event: Outgoing) -> list[Outgoing]:
        """The chunk is doubled here."""
        return [event, event] if event.is_audio and self.fires(session.id) else [event]
