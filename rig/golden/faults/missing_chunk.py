"""A chunk in the middle of a reply never leaves the server."""

from dataclasses import dataclass

from rig.golden.faults.base import Fault
from rig.golden.session import Session
from rig.golden.wire import Outgoing


@dataclass
class MissingChunk(Fault):
    """One chunk of sound, not the first and not the last of its reply, is dropped; event numbers show no gap."""

    def outgoing(self, session: Session, event: Outgoing) -> list[Outgoing]:
        """The chunk is dropped here."""
        reply = event.reply
        inner = event.is_audio and reply is not None and 0 < event.index < reply.plan.chunks - 1
        return [] if inner and self.fires(session.id) else [event]
