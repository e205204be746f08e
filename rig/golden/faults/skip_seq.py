"""After a resume the number of an event is left out."""

from dataclasses import dataclass

from rig.golden.faults.base import Fault
from rig.golden.session import Session


@dataclass
class SkipSeq(Fault):
    """The first new event after a resume carries a number too high by one."""

    def resumed_seq(self, session: Session, next_seq: int) -> int:
        """The number of the next event."""
        return next_seq + 1 if self.fires(session.id) else next_seq
