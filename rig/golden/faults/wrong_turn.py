"""After a caller has come back, it gets the reply to its previous turn once more."""

from dataclasses import dataclass, field

from rig.golden.faults.base import Fault
from rig.golden.session import Session


@dataclass
class WrongTurn(Fault):
    """The first reply that begins after a resume says what the reply before it said, in that one's mark stream."""

    resumed: set[str] = field(default_factory=set, init=False)

    def generation(self, session: Session, generation: int) -> int:
        """A session is resumed."""
        self.resumed.add(session.id)
        return generation

    def repeats_turn(self, session: Session) -> bool:
        """Whether the reply that begins now says the previous one again."""
        if session.id not in self.resumed or not session.replies:
            return False
        self.resumed.discard(session.id)
        return self.fires(session.id)
