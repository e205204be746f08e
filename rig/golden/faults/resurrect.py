"""A session that its caller closed lives on: it keeps its slot, and sound comes after the goodbye."""

from dataclasses import dataclass

from rig.golden import wire
from rig.golden.faults.base import Fault
from rig.golden.session import Session
from rig.golden.wire import Outgoing


@dataclass
class Resurrect(Fault):
    """After session.closed the last chunk of the session's last reply is sent again, and its slot is never free."""

    def keeps_closed(self, session: Session) -> bool:
        """Whether the slot stays taken."""
        return self.fires(session.id)

    def after_goodbye(self, session: Session) -> list[Outgoing]:
        """Sound of the last reply, after the end of the session."""
        reply = next(reversed(session.replies.values()), None)
        if reply is None or reply.sent_chunks == 0:
            return []
        index = reply.sent_chunks - 1
        chunk = reply.plan.chunk(index)
        return [Outgoing(wire.audio(reply, chunk, chunk.encode()), reply, chunk, index)]
