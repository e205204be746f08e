"""Refusals: the server may refuse a session only while all its slots can be held.

A dropped session holds its slot for the grace window plus one tick of the reaper; a refusal in that window is right.
A resume may also be refused because the server cannot replay what the caller missed; that is counted apart.
Cannot see: slots held by callers of another client.
"""

from rig.clock import NS_PER_S, from_s, to_s
from rig.config.pipeline import Duplex, ExternalServer
from rig.events.types import ConnectionClosed, ConnectStarted, Refused, SessionReady
from rig.history import History
from rig.verdict import CheckResult, Finding, Verdict

RESYNC_CODE = "resync_required"
"""The server's replay buffer is bounded: a caller that missed too much is told to begin anew."""

MARGIN_NS = 2 * NS_PER_S
"""The server tidies up after a close; two seconds are not a lost slot."""


def check(history: History) -> CheckResult:
    """Fail for a refusal while a slot must have been free."""
    refusals = history.of(Refused)
    if not refusals:
        return CheckResult("refusals", Verdict.PASS, "no session was refused")
    if isinstance(history.pipeline, ExternalServer):
        return CheckResult("refusals", Verdict.UNKNOWN, f"{len(refusals)} refusals by a server of unknown limits")
    limit = history.pipeline.duplex_session.max_sessions
    spans = _slot_spans(history, history.pipeline.duplex_session)
    findings: list[Finding] = []
    resyncs = sum(refused.code == RESYNC_CODE for refused in refusals)
    for refused in refusals:
        if refused.code == RESYNC_CODE:
            continue
        held = sum(begin <= refused.t_ns <= end for begin, end in spans)
        if held < limit:
            text = f"{refused.call} was refused ({refused.code}) while at most {held} of {limit} slots were held"
            findings.append(Finding(text, to_s(refused.t_ns - history.origin_ns), refused.call))
    if findings:
        summary = f"{len(findings)} of {len(refusals)} refusals came while a slot was free"
        return CheckResult("refusals", Verdict.FAIL, summary, tuple(findings))
    tail = f"; {resyncs} resumes had to begin anew" if resyncs > 0 else ""
    summary = f"{len(refusals) - resyncs} refusals, all while every slot could be held{tail}"
    return CheckResult("refusals", Verdict.PASS, summary)


def _slot_spans(history: History, duplex: Duplex) -> list[tuple[int, int]]:
    """For each connection that was not refused: from when to when it can hold a slot."""
    hold_ns = from_s(duplex.disconnect_grace_s + duplex.reaper_interval_s) + MARGIN_NS
    last_ns = history.events[-1].t_ns
    spans: list[tuple[int, int]] = []
    for call in history.calls.values():
        refused = {event.connection for event in call.of(Refused)}
        closed = {event.connection: event.t_ns for event in call.of(ConnectionClosed)}
        ready = {event.connection: event.resumed for event in call.of(SessionReady)}
        # A resumed session holds the slot that it already had.
        spans.extend(
            (start.t_ns, _released(start.connection, closed, ready, last_ns) + hold_ns)
            for start in call.of(ConnectStarted)
            if start.connection not in refused and not ready.get(start.connection, False)
        )
    return spans


def _released(connection: int, closed: dict[int, int], ready: dict[int, bool], last_ns: int) -> int:
    """When the session that began with a connection was let go, counting the connections that resumed it.

    `ready` tells of each connection with a session whether it resumed one; a refused attempt between is skipped.
    """
    last = connection
    for later in sorted(ready):
        if later > connection:
            if not ready[later]:
                break
            last = later
    return closed.get(last, last_ns)
