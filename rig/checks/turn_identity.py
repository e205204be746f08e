"""Turn identity: a reply belongs to one turn of one session, and a session to one call.

Compared are ids (a session id given twice, a response id of two sessions or two turns) and, where the server marks
its sound, what the sound itself says: the voice of a session that the caller left when it came back with a new one;
two mark streams in one response; one mark stream in two responses, which is a reply to an earlier turn said again.
Stream numbers have 8 bits and come again: they are compared only while far fewer than 256 replies lie between.
Cannot see: a reply that suits another turn's words; without marks, an old reply under a new id. Replies that nobody
asked for are counted, not judged, since a model may speak on its own.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from rig.clock import to_s
from rig.events.types import AudioReceived, CallEvent, ServerEvent, SessionReady, TurnEnded
from rig.fold import Fold
from rig.history import Call, History
from rig.verdict import CheckResult, Finding, Findings, Verdict

CREATED = "response.created"

STREAMS_APART = 128
"""Half of the 256 stream numbers: the other half is for replies that the server made and nobody heard."""


@dataclass
class _Heard:
    """What one call has heard so far."""

    sessions: dict[int, str] = field(default_factory=dict)
    """Session id of each connection."""
    voices: dict[str, int] = field(default_factory=dict)
    created: dict[str, ServerEvent] = field(default_factory=dict)
    stream_of: dict[str | None, int] = field(default_factory=dict)
    reply_of: dict[tuple[int, int], AudioReceived] = field(default_factory=dict)
    """The first chunk of a voice and stream."""
    newest: tuple[int, str | None, int, int] | None = None
    """Connection, response, voice and stream of the newest chunk: another one of the same says nothing new."""
    told: set[tuple[str | None, str]] = field(default_factory=set)
    """Replies and faults that were told of; one finding for each is enough."""


class TurnIdentity(Fold[CheckResult]):
    """Fail for a mix-up, unknown when no reply was heard."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._marked = history.marked
        self._calls: dict[str, str] = {}
        self._owners: dict[str, str] = {}
        self._begun_ns: list[int] = []
        self._again: list[tuple[int, int, Finding]] = []
        self._unasked = 0
        self._findings = Findings()

    def see(self, call: Call) -> None:
        """Follow the call in order, and compare with the sessions and replies of the others."""
        heard = _Heard()
        for event in call.talk:
            # The most frequent kind first.
            if isinstance(event, ServerEvent):
                if event.name == CREATED and event.response_id is not None:
                    self._created(event, event.response_id, heard)
            elif isinstance(event, AudioReceived):
                self._audio(event, heard)
            elif isinstance(event, SessionReady):
                self._ready(event, heard)
        turns: dict[str, int] = {}
        for ended in call.of(TurnEnded):
            if ended.response_id is None:
                continue
            other = turns.setdefault(ended.response_id, ended.turn)
            if other != ended.turn:
                self._found(ended, f"response {ended.response_id} answered the turns {other} and {ended.turn}")

    def result(self) -> CheckResult:
        """Unknown when no reply was heard."""
        begun_ns = sorted(self._begun_ns)
        for first_ns, again_ns, finding in self._again:
            if bisect_left(begun_ns, again_ns) - bisect_right(begun_ns, first_ns) < STREAMS_APART:
                self._findings.add(finding)
        found = self._findings
        if found.count > 0:
            findings = found.in_time()
            summary = f"{found.count} replies or sessions were mixed up, the first at {findings[0].at_s:.1f} s"
            return CheckResult("turn_identity", Verdict.FAIL, summary, findings, found.more)
        if not begun_ns:
            return CheckResult("turn_identity", Verdict.UNKNOWN, "no reply was heard")
        unasked = f"; {self._unasked} answered no turn" if self._unasked > 0 else ""
        ids = "" if self._marked else "; compared by id only, this sound carries no marks"
        summary = f"{len(begun_ns)} replies, each of its own turn and session{unasked}{ids}"
        return CheckResult("turn_identity", Verdict.PASS, summary)

    def _ready(self, event: SessionReady, heard: _Heard) -> None:
        heard.newest = None
        own = event.session_id in heard.voices
        heard.sessions[event.connection] = event.session_id
        heard.voices.setdefault(event.session_id, event.voice)
        other = self._calls.setdefault(event.session_id, event.call)
        if other != event.call or (own and not event.resumed):
            self._found(event, f"session {event.session_id} was given to {other} already")
        elif event.resumed and not own:
            self._found(event, f"session {event.session_id} was resumed, which the caller never had")

    def _created(self, event: ServerEvent, response_id: str, heard: _Heard) -> None:
        first = heard.created.setdefault(response_id, event)
        if first is not event and (event.server_seq is None or event.server_seq != first.server_seq):
            self._found(event, f"response {response_id} was created twice")
        self._own(event, response_id, heard)

    def _own(self, event: ServerEvent | AudioReceived, response_id: str, heard: _Heard) -> None:
        session = heard.sessions.get(event.connection)
        if session is None:
            return
        owner = self._owners.setdefault(response_id, session)
        if owner != session and self._first_time(heard, response_id, "shared"):
            self._found(event, f"response {response_id} came in the sessions {owner} and {session}")

    def _audio(self, chunk: AudioReceived, heard: _Heard) -> None:
        response_id, marks = chunk.response_id, chunk.marks
        key = (chunk.connection, response_id, marks[0].voice, marks[0].stream) if len(marks) == 1 else None
        if key is not None and key == heard.newest:
            return
        heard.newest = key if chunk.samples > 0 else None
        if chunk.samples > 0 and self._first_time(heard, response_id, "begun"):
            self._begun_ns.append(chunk.t_ns)
            self._unasked += chunk.turn < 0
        if response_id is not None:
            self._own(chunk, response_id, heard)
        if not self._marked:
            return
        session = heard.sessions.get(chunk.connection)
        left = {voice for known, voice in heard.voices.items() if known != session}
        for run in marks:
            if run.voice in left and self._first_time(heard, response_id, "left"):
                self._found(chunk, f"response {response_id} is in the voice of a session that the caller has left")
            stream = heard.stream_of.setdefault(response_id, run.stream)
            if stream != run.stream and self._first_time(heard, response_id, "streams"):
                self._found(chunk, f"response {response_id} holds two replies: streams {stream} and {run.stream}")
            first = heard.reply_of.setdefault((run.voice, run.stream), chunk)
            if first.response_id != response_id and self._first_time(heard, response_id, "again"):
                self._said_again(first, chunk, run.stream)

    def _said_again(self, first: AudioReceived, chunk: AudioReceived, stream: int) -> None:
        text = (
            f"{chunk.call}: response {chunk.response_id} (turn {chunk.turn}) is the reply {first.response_id} "
            f"(turn {first.turn}) again: both are stream {stream}"
        )
        finding = Finding(text, to_s(chunk.t_ns - self.history.origin_ns), chunk.call)
        self._again.append((first.t_ns, chunk.t_ns, finding))

    def _first_time(self, heard: _Heard, response_id: str | None, what: str) -> bool:
        key = (response_id, what)
        if key in heard.told:
            return False
        heard.told.add(key)
        return True

    def _found(self, event: CallEvent, text: str) -> None:
        at_s = to_s(event.t_ns - self.history.origin_ns)
        self._findings.add(Finding(f"{event.call}: {text}", at_s, event.call))
