"""A caller hears another caller's reply."""

from dataclasses import dataclass, replace

from rig.golden.faults.base import Fault
from rig.golden.session import Session
from rig.golden.wire import Outgoing


@dataclass
class CrossAudio(Fault):
    """A chunk carries the sound of the session that is the next older one; it takes two sessions at once."""

    def outgoing(self, session: Session, event: Outgoing) -> list[Outgoing]:
        """The sound is changed here, everything else stays."""
        if event.chunk is None:
            return [event]
        other = next((one for one in self.plant.sessions() if one.voice != session.voice), None)
        if other is None or not self.fires(session.id):
            return [event]
        chunk = replace(event.chunk, voice=other.voice)
        return [replace(event, fields={**event.fields, "delta": chunk.encode()}, chunk=chunk)]
