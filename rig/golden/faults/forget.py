"""The server forgets a session as soon as its connection is gone, grace or not."""

from dataclasses import dataclass

from rig.golden.faults.base import Fault
from rig.golden.session import Session


@dataclass
class Forget(Fault):
    """A dropped session is gone at once, its slot is free, and a resume of it is refused."""

    def detached(self, session: Session) -> None:
        """The session is forgotten here."""
        if self.fires(session.id):
            self.plant.forget(session.id)
