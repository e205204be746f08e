"""Connections: no call was lost that the caller did not end.

A close is not a death: this check says who closed and how; `liveness` says whether a process was gone.
"""

from rig.clock import to_s
from rig.events.types import ClosedBy, ConnectFailed, ConnectionClosed, Refused, SessionReady, Surprise
from rig.history import Call, History
from rig.verdict import CheckResult, Finding, Verdict, in_time


def check(history: History) -> CheckResult:
    """Fail for a connection the server ended or would not take, outside of refusals."""
    found = in_time(finding for call in history.calls.values() for finding in _of_call(history, call))
    abandoned_ns = history.abandoned_ns
    limit_s = None if abandoned_ns is None else to_s(abandoned_ns - history.origin_ns)
    findings = tuple(one for one in found if limit_s is None or one.at_s is None or one.at_s <= limit_s)
    if findings:
        summary = f"{len(findings)} connections were lost or not taken, the first at {findings[0].at_s:.1f} s"
        return CheckResult("connections", Verdict.FAIL, summary, findings)
    count = len(history.of(SessionReady))
    if count == 0:
        return CheckResult("connections", Verdict.UNKNOWN, "no session was ever opened")
    if limit_s is not None:
        summary = f"no session was ended by the server until the rig died at {limit_s:.1f} s"
        return CheckResult("connections", Verdict.UNKNOWN, summary)
    surprises = history.of(Surprise)
    tail = f"; {len(surprises)} surprises in the protocol, e.g. {surprises[0].what}" if surprises else ""
    return CheckResult("connections", Verdict.PASS, f"none of {count} sessions was ended by the server{tail}")


def _of_call(history: History, call: Call) -> list[Finding]:
    refused = {event.connection for event in call.of(Refused)}
    found: list[Finding] = []
    for closed in call.of(ConnectionClosed):
        if closed.by is not ClosedBy.CALLER and closed.connection not in refused:
            code = "without a close frame" if closed.code is None else f"with code {closed.code}"
            text = f"{closed.call}: {closed.by} {code} {closed.reason}".rstrip()
            found.append(Finding(text, to_s(closed.t_ns - history.origin_ns), closed.call))
    found.extend(
        Finding(f"{failed.call}: {failed.reason}", to_s(failed.t_ns - history.origin_ns), failed.call)
        for failed in call.of(ConnectFailed)
        if failed.connection not in refused
    )
    return found
