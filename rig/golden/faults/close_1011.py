"""The server closes a connection with 1011, as it does when its loop was busy for longer than a keepalive."""

from dataclasses import dataclass

from rig.golden.faults.base import Fault
from rig.golden.session import Session
from rig.golden.wire import Outgoing


@dataclass
class Close1011(Fault):
    """A close frame with `code` after a chunk of sound; the session waits for its caller."""

    code: int = 1011

    def chunk_sent(self, session: Session, event: Outgoing) -> None:
        """The connection ends here."""
        if self.fires(session.id):
            self.plant.close(session.id, self.code)
