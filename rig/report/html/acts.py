"""Every act of every caller, packed: what the callers did just before a moment is found without a second reading.

A day of a hundred callers is some hundred thousand acts, two dozen bytes each.
"""

from array import array
from dataclasses import dataclass

import numpy as np

from rig.events.types import Act, ActTaken, Connect, ConnectStarted
from rig.history import Call

KINDS = (*(str(act) for act in Act), "call", "new_session", "resume")
"""What callers do: their acts, and that they call, come back with a new session, or resume."""

_CODES = {kind: code for code, kind in enumerate(KINDS)}
_BY_WHY = {Connect.FIRST: "call", Connect.NEW_SESSION: "new_session", Connect.RESUME: "resume"}


@dataclass(frozen=True)
class Done:
    """One act of one caller."""

    t_ns: int
    call: str
    kind: str
    after_audio_ms: int | None
    """How much of the reply the caller had received; None for acts that cut no reply."""


class ActLog:
    """All acts, found by time."""

    def __init__(self) -> None:
        self._calls: list[str] = []
        self._t_ns = array("q")
        self._call = array("l")
        self._kind = array("b")
        self._heard_ms = array("l")
        self._order: np.ndarray[tuple[int], np.dtype[np.int64]] | None = None
        self._sorted = np.empty(0, dtype=np.int64)

    def see(self, call: Call) -> None:
        """Take the acts of a call in."""
        place = len(self._calls)
        self._calls.append(call.start.call)
        for start in call.of(ConnectStarted):
            if start.attempt == 1:
                self._add(start.t_ns, place, _BY_WHY[start.why], None)
        for act in call.of(ActTaken):
            self._add(act.t_ns, place, act.act, act.after_audio_ms)

    def between(self, from_ns: int, to_ns: int) -> list[Done]:
        """The acts from one moment to another, both included, in order of time."""
        if self._order is None:
            times = np.array(self._t_ns, dtype=np.int64)
            self._order = np.argsort(times, kind="stable")
            self._sorted = times[self._order]
        low = int(np.searchsorted(self._sorted, from_ns, "left"))
        high = int(np.searchsorted(self._sorted, to_ns, "right"))
        return [self._done(int(place)) for place in self._order[low:high]]

    def _add(self, t_ns: int, call: int, kind: str, heard_ms: int | None) -> None:
        self._order = None
        self._t_ns.append(t_ns)
        self._call.append(call)
        self._kind.append(_CODES[kind])
        self._heard_ms.append(-1 if heard_ms is None else heard_ms)

    def _done(self, place: int) -> Done:
        heard = self._heard_ms[place]
        kind = KINDS[self._kind[place]]
        return Done(self._t_ns[place], self._calls[self._call[place]], kind, None if heard < 0 else heard)
