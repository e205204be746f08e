"""The whole server stands still for a while: what callers wait for in that time must count as waited for."""

from dataclasses import dataclass

from rig.golden.faults.base import Fault
from rig.golden.session import Session
from rig.golden.wire import Outgoing


@dataclass
class Freeze(Fault):
    """After a chunk of sound, `for_s` seconds without any work, /health included."""

    times: int = 1
    for_s: float = 2.0

    def chunk_sent(self, session: Session, event: Outgoing) -> None:
        """It stands still here."""
        if self.fires(session.id):
            self.plant.freeze(self.for_s)
