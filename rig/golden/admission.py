"""Who holds a slot: at most `max_sessions`, and a dropped session keeps its own for the grace. No clock, no I/O.

Modelled on `DuplexSessionManager` (vllm_omni/engine/duplex/session/manager.py).
"""

from rig.clock import from_s
from rig.config.pipeline import Duplex


class Admission:
    """Sessions by id: `held` includes those whose connection is gone, and slots lost to a fault."""

    def __init__(self, limits: Duplex, idle_ttl_s: float) -> None:
        self.limits = limits
        self._grace_ns = from_s(limits.disconnect_grace_s)
        self._idle_ns = from_s(idle_ttl_s)
        self._active_ns: dict[str, int] = {}
        self._detached_ns: dict[str, int] = {}
        self._lost: set[str] = set()

    @property
    def held(self) -> int:
        """Slots that cannot be given away."""
        return len(self._active_ns.keys() | self._lost)

    @property
    def full(self) -> bool:
        """Whether the next session is refused."""
        return self.held >= self.limits.max_sessions

    def admit(self, session_id: str, now_ns: int) -> None:
        """Give a slot; only when it is not full."""
        assert not self.full
        self._active_ns[session_id] = now_ns

    def touch(self, session_id: str, now_ns: int) -> None:
        """The session did something."""
        if session_id in self._active_ns:
            self._active_ns[session_id] = now_ns

    def detach(self, session_id: str, now_ns: int) -> None:
        """Its connection is gone."""
        if session_id in self._active_ns:
            self._detached_ns[session_id] = now_ns

    def attach(self, session_id: str, now_ns: int) -> None:
        """A connection took it up again."""
        self._detached_ns.pop(session_id, None)
        self.touch(session_id, now_ns)

    def release(self, session_id: str) -> bool:
        """The session is over; False when its slot is none the freer for it, because it was lost."""
        self._active_ns.pop(session_id, None)
        self._detached_ns.pop(session_id, None)
        return session_id not in self._lost

    def lose(self, session_id: str) -> None:
        """Its slot is never free again, also when the session is over (a fault)."""
        self._lost.add(session_id)

    def expired(self, now_ns: int) -> list[tuple[str, str]]:
        """Sessions whose time is up, with the reason; to be asked once a reaper tick."""
        grace = [
            (session_id, "disconnect_grace_expired")
            for session_id, since_ns in self._detached_ns.items()
            if now_ns - since_ns >= self._grace_ns
        ]
        named = {session_id for session_id, _ in grace}
        idle = [
            (session_id, "idle_ttl_expired")
            for session_id, since_ns in self._active_ns.items()
            if now_ns - since_ns >= self._idle_ns and session_id not in named
        ]
        return grace + idle
