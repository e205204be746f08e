"""A resume does not raise the generation of the attachment."""

from dataclasses import dataclass

from rig.golden.faults.base import Fault
from rig.golden.session import Session


@dataclass
class WrongGeneration(Fault):
    """session.resumed tells the generation that was before."""

    def generation(self, session: Session, generation: int) -> int:
        """What the caller is told."""
        return generation - 1 if self.fires(session.id) else generation
