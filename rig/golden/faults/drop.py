"""The server lets a connection go without a close frame."""

from dataclasses import dataclass

from rig.golden.faults.base import Fault
from rig.golden.session import Session
from rig.golden.wire import Outgoing


@dataclass
class Drop(Fault):
    """The TCP connection ends after a chunk of sound; the session waits for its caller."""

    def chunk_sent(self, session: Session, event: Outgoing) -> None:
        """The connection ends here."""
        if self.fires(session.id):
            self.plant.close(session.id, None)
