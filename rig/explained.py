"""Server errors that a caller's own act explains and that cost no caller anything: counted, not judged as faults.

There is one. vLLM-Omni 0.30.0 answers a caller who hung up before `session.created` by reading from the connection
that its own send has just found closed; it logs a traceback (`read_after_disconnect`) and closes that session at once.
That caller had no session yet, so nothing is lost. The same error after `session.created` takes from a caller the
session that it may resume: it is a fault, and so is one for which no caller hung up. The decision and its reasons:
docs/decisions/0002-read-after-disconnect.md.
"""

from collections.abc import Iterable, Sequence

from rig.clock import NS_PER_S
from rig.events.types import Act, ActTaken, LogSignature, SessionReady
from rig.history import Call

EXPLAINABLE = "read_after_disconnect"

WINDOW_NS = 10 * NS_PER_S
"""The server notices the closed connection when it has opened the session; it was never seen to take a second."""

HANG_UPS = frozenset({Act.HANG_UP_RST, Act.HANG_UP_FIN, Act.HANG_UP_CLOSE})


def early_hang_ups_ns(call: Call) -> list[int]:
    """When the caller hung up a connection on which no session had become ready."""
    ready = {event.connection for event in call.of(SessionReady)}
    return [act.t_ns for act in call.of(ActTaken) if act.act in HANG_UPS and act.connection not in ready]


def unexplained(signatures: Iterable[LogSignature], hang_ups_ns: Sequence[int]) -> list[LogSignature]:
    """The signatures that no early hang-up explains; one hang-up for one error, at most WINDOW_NS apart."""
    left = sorted(hang_ups_ns)
    found: list[LogSignature] = []
    for event in sorted(signatures, key=lambda one: one.t_ns):
        causes = [t_ns for t_ns in left if 0 <= event.t_ns - t_ns <= WINDOW_NS]
        needed = 1 + event.left_out
        if event.signature != EXPLAINABLE or len(causes) < needed:
            found.append(event)
            continue
        for cause in causes[:needed]:
            left.remove(cause)
    return found
