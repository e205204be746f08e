"""Refusals: the server may refuse a new session only while all its slots can be held.

A dropped session holds its slot for the grace window plus one tick of the reaper; a refusal in that window is right.
A resume needs no slot: one that is refused is judged by `resume`, and only counted here.
Cannot see: slots held by callers of another client; a slot that is lost while nobody needs it (that is `slots`).
"""

from bisect import bisect_left, bisect_right

from rig.clock import NS_PER_S, from_s, to_s
from rig.config.pipeline import Duplex
from rig.events.types import Connect, ConnectionClosed, ConnectStarted, Refused, SessionReady
from rig.fold import Fold
from rig.history import Call, History
from rig.verdict import CheckResult, Finding, Findings, Verdict

MARGIN_NS = 3 * NS_PER_S
"""A server may notice a close late and tidies up after it; the golden one took two seconds on a crowded machine."""


class Refusals(Fold[CheckResult]):
    """Fail for a refusal while a slot must have been free."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._refusals: list[tuple[int, str, str]] = []
        self._spans: list[tuple[int, int | None]] = []
        self._resumes = 0

    def see(self, call: Call) -> None:
        """Keep when the call was refused and from when to when its sessions can have held a slot."""
        refused = {event.connection for event in call.of(Refused)}
        resuming = {start.connection for start in call.of(ConnectStarted) if start.why is Connect.RESUME}
        self._resumes += len(refused & resuming)
        self._refusals.extend(
            (event.t_ns, event.call, event.code) for event in call.of(Refused) if event.connection not in resuming
        )
        closed = {event.connection: event.t_ns for event in call.of(ConnectionClosed)}
        ready = {event.connection: event.resumed for event in call.of(SessionReady)}
        # A resumed session holds the slot that it already had.
        self._spans.extend(
            (start.t_ns, closed.get(_last_connection(start.connection, ready)))
            for start in call.of(ConnectStarted)
            if start.connection not in refused and not ready.get(start.connection, False)
        )

    def result(self) -> CheckResult:
        """Unknown for refusals by a server whose limits are not known."""
        tail = f"; {self._resumes} refused resumes are judged by `resume`" if self._resumes > 0 else ""
        if not self._refusals:
            return CheckResult("refusals", Verdict.PASS, f"no new session was refused{tail}")
        limits = self.history.limits
        if limits is None:
            summary = f"{len(self._refusals)} refusals by a server of unknown limits"
            return CheckResult("refusals", Verdict.UNKNOWN, summary)
        found = self._wrong(limits)
        if found.count > 0:
            summary = f"{found.count} of {len(self._refusals)} refusals came while a slot was free"
            return CheckResult("refusals", Verdict.FAIL, summary, found.in_time(), found.more)
        summary = f"{len(self._refusals)} refusals, all while every slot could be held{tail}"
        return CheckResult("refusals", Verdict.PASS, summary)

    def _wrong(self, duplex: Duplex) -> Findings:
        """The refusals while fewer slots than there are could be held."""
        hold_ns = from_s(duplex.disconnect_grace_s + duplex.reaper_interval_s) + MARGIN_NS
        last_ns = self.history.last_ns
        begins = sorted(begin for begin, _ in self._spans)
        ends = sorted((last_ns if end is None else end) + hold_ns for _, end in self._spans)
        findings = Findings()
        for t_ns, call, code in sorted(self._refusals):
            held = bisect_right(begins, t_ns) - bisect_left(ends, t_ns)
            if held < duplex.max_sessions:
                text = f"{call} was refused ({code}) while at most {held} of {duplex.max_sessions} slots were held"
                findings.add(Finding(text, to_s(t_ns - self.history.origin_ns), call))
        return findings


def _last_connection(connection: int, ready: dict[int, bool]) -> int:
    """The last connection of the session that began with one, counting the connections that resumed it.

    `ready` tells of each connection with a session whether it resumed one; a refused attempt between is skipped.
    """
    last = connection
    for later in sorted(ready):
        if later > connection:
            if not ready[later]:
                break
            last = later
    return last
