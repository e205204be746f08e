"""The server kills itself in the middle of a reply, as an engine that the kernel kills."""

from dataclasses import dataclass

from rig.golden.faults.base import Fault
from rig.golden.session import Session
from rig.golden.wire import Outgoing


@dataclass
class Die(Fault):
    """SIGKILL after a chunk of sound has gone out."""

    times: int = 1

    def chunk_sent(self, session: Session, event: Outgoing) -> None:
        """The process ends here."""
        if self.fires(session.id):
            self.plant.kill()
