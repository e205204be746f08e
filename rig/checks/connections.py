"""Connections: the server takes every connection that it does not refuse, and ends none of them by itself.

A close is not a death: this check says who closed and how; `liveness` says whether a process was gone. Surprises in the
protocol and errors that the server told are counted, with an example, and fail nothing.
Cannot see: a connection that stands and is dead (that is `progress`); who, between server and caller, dropped it.
"""

from rig.clock import to_s
from rig.events.types import ClosedBy, ConnectFailed, ConnectionClosed, Refused, ServerEvent, SessionReady, Surprise
from rig.fold import Fold
from rig.history import Call, History
from rig.verdict import CheckResult, Finding, Findings, Verdict


class Connections(Fold[CheckResult]):
    """Fail for a connection the server ended or would not take, outside of refusals."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        abandoned_ns = history.abandoned_ns
        self._limit_s = None if abandoned_ns is None else to_s(abandoned_ns - history.origin_ns)
        self._findings = Findings()
        self._sessions = 0
        self._surprises = 0
        self._first_surprise: Surprise | None = None
        self._errors = 0
        self._first_error: ServerEvent | None = None

    def see(self, call: Call) -> None:
        """Look at how each connection of the call ended."""
        self._sessions += len(call.of(SessionReady))
        refused = {event.connection for event in call.of(Refused)}
        for closed in call.of(ConnectionClosed):
            if closed.by is not ClosedBy.CALLER and closed.connection not in refused:
                code = "without a close frame" if closed.code is None else f"with code {closed.code}"
                self._found(closed, f"{closed.call}: {closed.by} {code} {closed.reason}".rstrip())
        for failed in call.of(ConnectFailed):
            if failed.connection not in refused:
                self._found(failed, f"{failed.call}: {failed.reason}")
        for surprise in call.of(Surprise):
            self._surprises += 1
            if self._first_surprise is None or surprise.t_ns < self._first_surprise.t_ns:
                self._first_surprise = surprise
        for event in call.of(ServerEvent):
            # Those on a refused connection are the refusal itself.
            if event.name == "error" and event.connection not in refused:
                self._errors += 1
                if self._first_error is None or event.t_ns < self._first_error.t_ns:
                    self._first_error = event

    def result(self) -> CheckResult:
        """Unknown without a session, and when the rig died before the end."""
        found = self._findings
        if found.count > 0:
            findings = found.in_time()
            summary = f"{found.count} connections were lost or not taken, the first at {findings[0].at_s:.1f} s"
            return CheckResult("connections", Verdict.FAIL, summary, findings, found.more)
        if self._sessions == 0:
            return CheckResult("connections", Verdict.UNKNOWN, "no session was ever opened")
        if self._limit_s is not None:
            summary = f"no session was ended by the server until the rig died at {self._limit_s:.1f} s"
            return CheckResult("connections", Verdict.UNKNOWN, summary)
        first = self._first_surprise
        tail = "" if first is None else f"; {self._surprises} surprises in the protocol, e.g. {first.what}"
        error = self._first_error
        tail += "" if error is None else f"; {self._errors} errors told by the server, e.g. {error.detail}"
        summary = f"none of {self._sessions} sessions was ended by the server{tail}"
        return CheckResult("connections", Verdict.PASS, summary)

    def _found(self, event: ConnectionClosed | ConnectFailed, text: str) -> None:
        at_s = to_s(event.t_ns - self.history.origin_ns)
        # What callers meet after the rig died says nothing about the server.
        if self._limit_s is None or at_s <= self._limit_s:
            self._findings.add(Finding(text, at_s, event.call))
