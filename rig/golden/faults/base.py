"""What a fault of the golden server is: when it fires, and where it can reach in."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from rig import ids
from rig.golden.session import Session
from rig.golden.wire import Outgoing


class Plant(Protocol):
    """What a fault may do to the server, and what it may know."""

    seed: int
    opened: int
    """Sessions opened so far."""

    def running_s(self) -> float:
        """Seconds since the server listens."""

    def sessions(self) -> list[Session]:
        """The sessions that are there, oldest first."""

    def note(self, fault: str, session_id: str) -> None:
        """Write into the record that a fault fired."""

    def kill(self) -> None:
        """SIGKILL the server's own process."""

    def exit(self, status: int) -> None:
        """End the server's process at once with this status."""

    def freeze(self, seconds: float) -> None:
        """Stand still with all that the process does."""

    def close(self, session_id: str, code: int | None) -> None:
        """End a session's connection with a close code, or without any frame for None."""

    def lose_slot(self, session_id: str) -> None:
        """Never give the session's slot back."""

    def forget(self, session_id: str) -> None:
        """A session is gone at once, with all that it would have said."""

    def when_idle_for(self, delay_s: float, action: Callable[[], None]) -> None:
        """Do `action` after `delay_s`, unless somebody connects before."""


@dataclass
class Fault:
    """A fault that does nothing; each real one overrides the moments it is about.

    It is armed once `after_sessions` sessions were opened and `after_s` seconds have passed, then fires at each of its
    moments with probability `p`, at most `times` times (0: no limit). Drawn from the server's seed and its name.
    """

    after_sessions: int = 0
    after_s: float = 0.0
    p: float = 1.0
    times: int = 0
    name: str = field(default="none", init=False)
    fired: int = field(default=0, init=False)

    def install(self, plant: Plant, name: str) -> None:
        """Meet the server; called once, before it listens."""
        self.plant = plant
        self.name = name
        self._draw: random.Random = ids.rng(plant.seed, "fault", name)

    def fires(self, session_id: str = "") -> bool:
        """Whether it fires at this moment; if so, that is counted and recorded."""
        if self.times and self.fired >= self.times:
            return False
        if self.plant.opened < self.after_sessions or self.plant.running_s() < self.after_s:
            return False
        if self._draw.random() >= self.p:
            return False
        self.fired += 1
        self.plant.note(self.name, session_id)
        return True

    # ---- the moments

    def start_delay_s(self) -> float:
        """How much later than it could the server begins to listen."""
        return 0.0

    def stays(self) -> bool:
        """The server is asked to stop: whether it does not."""
        return False

    def refuses(self) -> bool:
        """A session is asked for and a slot is free: whether it is refused all the same."""
        return False

    def deaf(self) -> bool:
        """Whether the server neither hears nor says anything on any session."""
        return False

    def outgoing(self, session: Session, event: Outgoing) -> list[Outgoing]:
        """An event is about to be numbered and sent: what is sent instead."""
        return [event]

    def chunk_sent(self, session: Session, event: Outgoing) -> None:
        """A chunk of sound has been handed to the socket."""

    def detached(self, session: Session) -> None:
        """A session has lost its connection."""

    def generation(self, session: Session, generation: int) -> int:
        """A session is being resumed with this generation: what the caller is told."""
        return generation

    def resumed_seq(self, session: Session, next_seq: int) -> int:
        """A session was resumed: the number of its next event."""
        return next_seq

    def keeps_closed(self, session: Session) -> bool:
        """A caller closed its session: whether it lives on."""
        return False

    def after_goodbye(self, session: Session) -> list[Outgoing]:
        """A session that lives on has been closed: what is sent after session.closed."""
        return []

    def repeats_turn(self, session: Session) -> bool:
        """A reply begins: whether it says the previous one again."""
        return False

    def idle(self) -> None:
        """The last connection has gone."""
