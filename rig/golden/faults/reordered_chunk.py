"""Two chunks of a reply change places."""

from dataclasses import dataclass, field

from rig.golden.faults.base import Fault
from rig.golden.session import Session
from rig.golden.wire import Outgoing


@dataclass
class ReorderedChunk(Fault):
    """A chunk that is not the last of its reply goes out right after the one that follows it."""

    held: dict[str, Outgoing] = field(default_factory=dict, init=False)

    def outgoing(self, session: Session, event: Outgoing) -> list[Outgoing]:
        """A chunk is held back until the next one, or until its reply ends early."""
        reply = event.reply
        if reply is None:
            return [event]
        if reply.id in self.held and (event.is_audio or reply.ended):
            held = self.held.pop(reply.id)
            return [event, held] if event.is_audio else [held, event]
        if event.is_audio and event.index < reply.plan.chunks - 1 and self.fires(session.id):
            self.held[reply.id] = event
            return []
        return [event]
