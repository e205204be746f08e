"""After a resume the number of an event is used a second time."""

from dataclasses import dataclass

from rig.golden.faults.base import Fault
from rig.golden.session import Session


@dataclass
class RepeatSeq(Fault):
    """The first new event after a resume carries the number of the last one before it."""

    def resumed_seq(self, session: Session, next_seq: int) -> int:
        """The number of the next event."""
        return next_seq - 1 if next_seq > 1 and self.fires(session.id) else next_seq
