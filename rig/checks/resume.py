"""Resume: a session that is taken up again goes on exactly where its caller was cut off.

The contract is vLLM-Omni's (`entrypoints/duplex/session_attachment.py` and `serving.py`): every event of a session has
a `server_event_seq` that counts from 1 by one over all connections of the session, except `session.created`,
`session.resumed`, `session.replaced`, `session.resync_required` and the errors of the transport, which have none. A
caller resumes with the last number it received and is sent everything after it. Each resume raises the generation by
one, an attempt that the caller gave up may raise it too. While a dropped session is within its grace it must be there:
a resume that is refused then is a fault. `resync_required` is no refusal: the replay buffer is bounded, and once it
was said the rest of the session goes on without numbers; it is counted apart.
Cannot see: events that are wrong in any other way than by number; whether a grace that has passed was too long.
Findings about numbers need whole journals: where events are lost they are unknown, not a fault.
"""

from collections import Counter
from dataclasses import dataclass

from rig.clock import from_s, to_s
from rig.events.types import (
    AudioReceived,
    CallEvent,
    Connect,
    ConnectionClosed,
    ConnectStarted,
    Refused,
    ServerEvent,
    SessionReady,
)
from rig.fold import Fold
from rig.history import Call, History
from rig.verdict import CheckResult, Finding, Findings, Verdict

RESYNC = "resync_required"
RESYNC_EVENT = "session.resync_required"
UNNUMBERED = frozenset({"session.created", "session.resumed", "session.replaced", RESYNC_EVENT, "error"})


@dataclass
class _Session:
    """One session while its events pass by."""

    connection: int
    generation: int | None
    last_seq: int = 0
    resumed: bool = False
    """Whether the next number is the first one after a resume."""
    resynced: bool = False
    attempts: int = 0
    """Attempts to resume since the last success."""


class Resume(Fold[CheckResult]):
    """Fail for a broken number or generation and for a resume refused within the grace."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._counts: Counter[str] = Counter()
        self._by_number = 0
        self._findings = Findings()

    def see(self, call: Call) -> None:
        """Follow the sessions of the call over their connections."""
        closed = {event.connection: event.t_ns for event in call.of(ConnectionClosed)}
        resuming: set[int] = set()
        session: _Session | None = None
        numbers = 0
        for event in call.talk:
            # Millions of these pass by, nearly all with the number that is due, and few of the others.
            if type(event) is ServerEvent or type(event) is AudioReceived:
                if session is None:
                    continue
                if event.server_seq == session.last_seq + 1 and getattr(event, "name", "") != RESYNC_EVENT:
                    session.last_seq = event.server_seq
                    session.resumed = False
                    numbers += 1
                else:
                    self._number(event, session)
            elif isinstance(event, ConnectStarted):
                if event.why is Connect.RESUME:
                    resuming.add(event.connection)
                    if session is not None:
                        session.attempts += 1
            elif isinstance(event, SessionReady):
                session = self._ready(event, session)
            elif isinstance(event, Refused) and event.connection in resuming and session is not None:
                self._refused(event, closed.get(session.connection))
        self._counts["numbers"] += numbers

    def result(self) -> CheckResult:
        """Unknown when no session was opened, for refused resumes of unknown limits, and where events are lost."""
        counts, found = self._counts, self._findings
        if found.count > 0:
            findings = found.in_time()
            summary = f"{found.count} breaches of the contract, the first at {findings[0].at_s:.1f} s"
            verdict = Verdict.FAIL
            if found.count == self._by_number and self.history.lossy:
                verdict, summary = Verdict.UNKNOWN, summary + ", but events are lost from the journals"
            return CheckResult("resume", verdict, summary, findings, found.more)
        if counts["sessions"] == 0:
            return CheckResult("resume", Verdict.UNKNOWN, "no session was ever opened")
        if counts["not judged"] > 0:
            summary = f"{counts['not judged']} resumes were refused by a server of unknown limits"
            return CheckResult("resume", Verdict.UNKNOWN, summary)
        if counts["numbers"] == 0:
            return CheckResult("resume", Verdict.PASS, "not judged: this server numbers no events")
        told = [f"{counts['resumes']} resumes, {counts['numbers']} numbered events: no gap, no repeat"]
        if counts[RESYNC] > 0:
            told.append(f"{counts[RESYNC]} sessions had to begin anew ({RESYNC})")
        if counts["expired"] > 0:
            told.append(f"{counts['expired']} resumes came after the grace")
        return CheckResult("resume", Verdict.PASS, "; ".join(told))

    def _ready(self, event: SessionReady, session: _Session | None) -> _Session:
        if not event.resumed or session is None:
            self._counts["sessions"] += 1
            if event.generation not in (None, 1) and not event.resumed:
                self._found(event, f"a new session begins with generation {event.generation}, not 1")
            return _Session(event.connection, event.generation)
        self._counts["resumes"] += 1
        if event.generation is not None and session.generation is not None:
            least, most = session.generation + 1, session.generation + max(1, session.attempts)
            if not least <= event.generation <= most:
                due = f"{least}" if least == most else f"{least} to {most}"
                self._found(event, f"resumed with generation {event.generation}, due was {due}")
        session.connection, session.generation = event.connection, event.generation
        session.resumed, session.attempts = True, 0
        return session

    def _refused(self, event: Refused, dropped_ns: int | None) -> None:
        limits = self.history.limits
        if event.code == RESYNC:
            self._counts[RESYNC] += 1
        elif limits is None or dropped_ns is None:
            self._counts["not judged"] += 1
        elif event.t_ns - dropped_ns < from_s(limits.disconnect_grace_s):
            age_s = to_s(event.t_ns - dropped_ns)
            grace = f"within the grace of {limits.disconnect_grace_s:g} s"
            self._found(event, f"a resume was refused ({event.code}) {age_s:.2f} s after the drop, {grace}")
        else:
            self._counts["expired"] += 1

    def _number(self, event: AudioReceived | ServerEvent, session: _Session) -> None:
        name = event.name if isinstance(event, ServerEvent) else "audio"
        if name == RESYNC_EVENT:
            # Said on a living connection; a refused resume says the same before there is a session again.
            self._counts[RESYNC] += not session.resynced and event.connection == session.connection
            session.resynced = True
        seq = event.server_seq
        if seq is None:
            if session.last_seq > 0 and not session.resynced and name not in UNNUMBERED:
                self._wrong_number(event, f"{name} without a number after {session.last_seq}")
            return
        self._counts["numbers"] += 1
        due = session.last_seq + 1
        where = " right after a resume" if session.resumed else ""
        if seq > due:
            missing = f"{due}" if seq == due + 1 else f"{due} to {seq - 1}"
            self._wrong_number(event, f"event {missing} is missing{where}: {name} is {seq}")
        elif seq < due:
            self._wrong_number(event, f"number {seq} came again{where}: {name}, due was {due}")
        session.resumed = False
        session.last_seq = max(session.last_seq, seq)

    def _wrong_number(self, event: CallEvent, text: str) -> None:
        self._by_number += 1
        self._found(event, text)

    def _found(self, event: CallEvent, text: str) -> None:
        at_s = to_s(event.t_ns - self.history.origin_ns)
        self._findings.add(Finding(f"{event.call}: {text}", at_s, event.call))
