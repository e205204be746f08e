"""The server stops answering on every session while its process lives and /health says OK."""

from dataclasses import dataclass, field

from rig.golden.faults.base import Fault
from rig.golden.session import Session
from rig.golden.wire import Outgoing


@dataclass
class Hang(Fault):
    """From one chunk of sound on, nothing is heard and nothing is said. New sessions open and get no answer."""

    times: int = 1
    hung: bool = field(default=False, init=False)

    def deaf(self) -> bool:
        """Whether it has begun."""
        return self.hung

    def outgoing(self, session: Session, event: Outgoing) -> list[Outgoing]:
        """Begins with a chunk of sound that is never sent."""
        if not self.hung and event.is_audio and self.fires(session.id):
            self.hung = True
        return [] if self.hung else [event]
