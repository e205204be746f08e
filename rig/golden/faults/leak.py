"""Memory that belongs to a reply is kept when the reply is cut or its caller hangs up."""

from dataclasses import dataclass, field

from rig.golden import wire
from rig.golden.faults.base import Fault
from rig.golden.session import Session
from rig.golden.wire import Outgoing

PAGE = 4096


@dataclass
class Leak(Fault):
    """`mib` MiB of resident memory for each cancelled reply and each hang-up."""

    mib: int = 4
    kept: list[bytearray] = field(default_factory=list, init=False)

    def outgoing(self, session: Session, event: Outgoing) -> list[Outgoing]:
        """A cancelled reply ends."""
        if event.kind == wire.DONE and event.reply is not None and event.reply.stop_asked_ns is not None:
            self._keep(session)
        return [event]

    def detached(self, session: Session) -> None:
        """A caller has hung up."""
        self._keep(session)

    def _keep(self, session: Session) -> None:
        if self.fires(session.id):
            memory = bytearray(self.mib << 20)
            # Touched, because untouched pages are not resident.
            memory[::PAGE] = b"\1" * len(memory[::PAGE])
            self.kept.append(memory)
