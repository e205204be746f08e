"""Audio: each reply is in its own caller's voice, and no token of it is missing, doubled or out of order.

Needs the marks that the tiny checkpoint's vocoder puts into its sound; with a released vocoder this check is not
applicable and says so. Cannot see: whether the sound is speech.
"""

from rig.clock import to_s
from rig.config.pipeline import PipelineConfig, TinyModel
from rig.events.types import AudioReceived, SessionReady
from rig.fold import Fold
from rig.history import Call, History
from rig.verdict import CheckResult, Finding, Findings, Verdict

INDEX_PERIOD = 1 << 16
"""The index of a mark has 16 bits (rig.marks)."""


class Audio(Fold[CheckResult]):
    """Fail for a foreign voice or a broken order."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        pipeline = history.pipeline
        self._marked = isinstance(pipeline, PipelineConfig) and isinstance(pipeline.model, TinyModel)
        self._frames = 0
        self._chunks = 0
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
                due = expected.get(reply)
                if run.first != due and due is not None:
                    self._found(chunk, f" got token {run.first} of a reply, due was {due}")
                expected[reply] = (run.first + run.count) % INDEX_PERIOD

    def result(self) -> CheckResult:
        """Unknown without any marked audio."""
        if not self._marked:
            return CheckResult("audio", Verdict.PASS, "not applicable: this checkpoint does not mark its audio")
        if self._frames == 0:
            return CheckResult("audio", Verdict.UNKNOWN, "no marked audio was received")
        found = self._findings
        if found.count > 0:
            summary = f"{found.count} faults in {self._chunks} chunks"
            return CheckResult("audio", Verdict.FAIL, summary, found.in_time(), found.more)
        summary = f"{self._frames} token frames in {self._chunks} chunks: own voice, in order"
        return CheckResult("audio", Verdict.PASS, summary)

    def _found(self, chunk: AudioReceived, text: str) -> None:
        self._findings.add(Finding(f"{chunk.call}{text}", to_s(chunk.t_ns - self.history.origin_ns), chunk.call))
