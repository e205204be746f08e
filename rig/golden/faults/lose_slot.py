"""Each hang-up costs a slot for ever: after `max_sessions` of them everybody is refused."""

from dataclasses import dataclass

from rig.golden.faults.base import Fault
from rig.golden.session import Session


@dataclass
class LoseSlot(Fault):
    """A session whose connection is gone keeps its slot, also after its grace."""

    def detached(self, session: Session) -> None:
        """The slot is lost here."""
        if self.fires(session.id):
            self.plant.lose_slot(session.id)
