"""The server gives up in the middle of a reply, as an engine that fails on an exception."""

from dataclasses import dataclass

from rig.golden.faults.base import Fault
from rig.golden.session import Session
from rig.golden.wire import Outgoing


@dataclass
class Exit(Fault):
    """Exit with `status` after a chunk of sound has gone out."""

    times: int = 1
    status: int = 1

    def chunk_sent(self, session: Session, event: Outgoing) -> None:
        """The process ends here."""
        if self.fires(session.id):
            self.plant.exit(self.status)
