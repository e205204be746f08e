"""Audio: each reply is in its own caller's voice, begins with its first token, and has each token once and in order.

Needs the marks that the tiny checkpoint's vocoder and the golden server put into their sound; with a released
vocoder this check is not applicable and says so. A vocoder counts the tokens of a reply from 0, and a resume replays
what was missed, so that the first token that a caller hears of a reply is token 0, resumed or not.
Cannot see: whether the sound is speech; tokens missing at the end of a reply, since nobody says how many it has.
Findings about order need whole journals: where events are lost they are unknown, not a fault.
"""

from rig.clock import to_s
from rig.events.types import AudioReceived, SessionReady
from rig.fold import Fold
from rig.history import Call, History
from rig.verdict import CheckResult, Finding, Findings, Verdict

INDEX_PERIOD = 1 << 16
"""The index of a mark has 16 bits (rig.marks)."""


class Audio(Fold[CheckResult]):
    """Fail for a foreign voice, a missing beginning or a broken order."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._marked = history.marked
        self._frames = 0
        self._chunks = 0
        self._order_faults = 0
        self._findings = Findings()

    def see(self, call: Call) -> None:
        """Follow every reply of the call, token by token."""
        if not self._marked:
            return
        voices = {event.connection: event.voice for event in call.of(SessionReady)}
        expected: dict[tuple[str | None, int], int] = {}
        chunks = call.of(AudioReceived)
        self._chunks += len(chunks)
        for chunk in chunks:
            if chunk.unreadable > 0:
                self._found(chunk, f": {chunk.unreadable} samples without a mark")
            own = voices.get(chunk.connection)
            for run in chunk.marks:
                self._frames += run.count
                if run.voice != own and own is not None:
                    self._found(chunk, f" heard voice {run.voice}, its own is {own}")
                reply = (chunk.response_id, run.stream)
                due = expected.get(reply, 0)
                if run.first != due:
                    self._order_faults += 1
                    self._found(chunk, f" got token {run.first} of a reply, due was {due}")
                expected[reply] = (run.first + run.count) % INDEX_PERIOD

    def result(self) -> CheckResult:
        """Unknown without any marked audio, and for gaps that lost events explain."""
        if not self._marked:
            return CheckResult("audio", Verdict.PASS, "not applicable: this checkpoint does not mark its audio")
        if self._frames == 0:
            return CheckResult("audio", Verdict.UNKNOWN, "no marked audio was received")
        found = self._findings
        if found.count > 0:
            summary = f"{found.count} faults in {self._chunks} chunks"
            verdict = Verdict.FAIL
            if found.count == self._order_faults and self.history.lossy:
                verdict, summary = Verdict.UNKNOWN, summary + ", but events are lost from the journals"
            return CheckResult("audio", verdict, summary, found.in_time(), found.more)
        summary = f"{self._frames} token frames in {self._chunks} chunks: own voice, in order"
        return CheckResult("audio", Verdict.PASS, summary)

    def _found(self, chunk: AudioReceived, text: str) -> None:
        self._findings.add(Finding(f"{chunk.call}{text}", to_s(chunk.t_ns - self.history.origin_ns), chunk.call))
