"""A reply that was cancelled goes on sounding after its terminal event."""

from dataclasses import dataclass

from rig.golden import wire
from rig.golden.faults.base import Fault
from rig.golden.session import Session
from rig.golden.wire import Outgoing


@dataclass
class StaleAudio(Fault):
    """`chunks` more chunks of a cancelled reply follow its response.done."""

    chunks: int = 1

    def outgoing(self, session: Session, event: Outgoing) -> list[Outgoing]:
        """The chunks that were left are sent after the terminal event of a cancelled reply."""
        reply = event.reply
        if event.kind != wire.DONE or reply is None or reply.stop_asked_ns is None:
            return [event]
        last = min(reply.sent_chunks + self.chunks, reply.plan.chunks)
        if last == reply.sent_chunks or not self.fires(session.id):
            return [event]
        late = [(index, reply.plan.chunk(index)) for index in range(reply.sent_chunks, last)]
        return [
            event,
            *(
                Outgoing(wire.audio(reply, chunk, chunk.encode()), reply, chunk, index, event.planned_ns)
                for index, chunk in late
            ),
        ]
