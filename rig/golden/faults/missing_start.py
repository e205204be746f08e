"""The beginning of a reply never leaves the server."""

from dataclasses import dataclass

from rig.golden.faults.base import Fault
from rig.golden.session import Session
from rig.golden.wire import Outgoing


@dataclass
class MissingStart(Fault):
    """The first chunk of a reply is dropped; event numbers show no gap."""

    def outgoing(self, session: Session, event: Outgoing) -> list[Outgoing]:
        """The chunk is dropped here."""
        return [] if event.is_audio and event.index == 0 and self.fires(session.id) else [event]
