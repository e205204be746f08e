"""Events kept for a resume, as vLLM-Omni's DuplexEventJournal keeps them (session_attachment.py). No clock, no I/O."""

from collections import deque
from dataclasses import dataclass

from rig.errors import RigError
from rig.golden.wire import Outgoing


class ReplayGapError(RigError):
    """What the caller missed is not there any more."""


class ReplayOverflowError(RigError):
    """The kept events exceed their bytes; nothing is kept from now on."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One numbered event as it went, or would have gone, over the wire."""

    seq: int
    t_ns: int
    data: bytes
    event: Outgoing


class Replay:
    """Numbers from 1. Keeps `ttl_ns` and `max_bytes` of events, less what the caller acknowledged."""

    def __init__(self, ttl_ns: int, max_bytes: int) -> None:
        self.next_seq = 1
        self._ttl_ns = ttl_ns
        self._max_bytes = max_bytes
        self._kept: deque[Kept] = deque()
        self._bytes = 0
        self._dropped_through = 0
        self._overflowed = False

    @property
    def last_seq(self) -> int:
        """The newest number given."""
        return self.next_seq - 1

    def keep(self, data: bytes, now_ns: int, event: Outgoing) -> int:
        """Keep an event, encoded with `next_seq`; returns that number. Raises ReplayOverflowError."""
        self._prune(now_ns)
        if self._overflowed or self._bytes + len(data) > self._max_bytes:
            self._overflowed = True
            raise ReplayOverflowError(f"{self._bytes + len(data)} bytes of events, {self._max_bytes} are kept")
        seq = self.next_seq
        self._kept.append(Kept(seq, now_ns, data, event))
        self._bytes += len(data)
        self.next_seq += 1
        return seq

    def acknowledge(self, seq: int) -> None:
        """Forget what the caller has. Raises ValueError for a number that was never given."""
        if seq < 0 or seq > self.last_seq:
            raise ValueError(f"acknowledged sequence {seq} is newer than journal head {self.last_seq}")
        while self._kept and self._kept[0].seq <= seq:
            self._forget()
        self._dropped_through = max(self._dropped_through, seq)

    def after(self, seq: int, now_ns: int) -> list[Kept]:
        """What followed `seq`. Raises ReplayGapError when part is gone, ValueError for a number never given."""
        self._prune(now_ns)
        if self._overflowed or seq < self._dropped_through:
            raise ReplayGapError(f"sequence {seq} is older than what is kept, {self._dropped_through}")
        if seq > self.last_seq:
            raise ValueError(f"requested sequence {seq} is newer than journal head {self.last_seq}")
        return [kept for kept in self._kept if kept.seq > seq]

    def _prune(self, now_ns: int) -> None:
        while self._kept and self._kept[0].t_ns <= now_ns - self._ttl_ns:
            self._dropped_through = max(self._dropped_through, self._kept[0].seq)
            self._forget()

    def _forget(self) -> None:
        self._bytes -= len(self._kept.popleft().data)
