"""A reply carries the response id of another session's reply."""

from dataclasses import dataclass, field, replace

from rig.golden.faults.base import Fault
from rig.golden.session import Session
from rig.golden.wire import Outgoing


@dataclass
class SharedId(Fault):
    """All events of a reply name the latest reply of another session, which must have one."""

    names: dict[str, str] = field(default_factory=dict, init=False)
    """What each reply is called."""

    def outgoing(self, session: Session, event: Outgoing) -> list[Outgoing]:
        """The id is changed here."""
        if event.reply is None:
            return [event]
        own = event.reply.id
        if own not in self.names:
            other = self._other(session)
            self.names[own] = other if other is not None and self.fires(session.id) else own
        name = self.names[own]
        return [event] if name == own else [replace(event, fields=_renamed(event.fields, own, name))]

    def _other(self, session: Session) -> str | None:
        others = (one for one in self.plant.sessions() if one is not session and one.replies)
        return next((next(reversed(one.replies)) for one in others), None)


def _renamed(fields: dict[str, object], own: str, name: str) -> dict[str, object]:
    """The fields with one id in place of another, also one level down, where the response object has it."""
    renamed: dict[str, object] = {}
    for key, value in fields.items():
        if isinstance(value, dict):
            renamed[key] = {inner: name if one == own else one for inner, one in value.items()}
        else:
            renamed[key] = name if value == own else value
    return renamed
