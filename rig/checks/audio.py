"""Audio: each reply is in its own caller's voice, and no token of it is missing, doubled or out of order.

Needs the marks that the tiny checkpoint's vocoder and the golden server put into their sound; with a released vocoder
this check is not applicable and says so. Cannot see: whether the sound is speech.
"""

from collections.abc import Iterable

from rig.clock import to_s
from rig.config.load import AnyPipeline
from rig.config.pipeline import GoldenPipeline, PipelineConfig, TinyModel
from rig.events.types import AudioReceived, SessionReady
from rig.history import Call, History
from rig.verdict import CheckResult, Finding, Verdict, in_time

INDEX_PERIOD = 1 << 16
"""The index of a mark has 16 bits (rig.marks)."""


def check(history: History) -> CheckResult:
    """Fail for a foreign voice or a broken order."""
    if not _marked(history.pipeline):
        return CheckResult("audio", Verdict.PASS, "not applicable: this checkpoint does not mark its audio")
    chunks = history.of(AudioReceived)
    frames = sum(run.count for chunk in chunks for run in chunk.marks)
    if frames == 0:
        return CheckResult("audio", Verdict.UNKNOWN, "no marked audio was received")
    findings = in_time(finding for call in history.calls.values() for finding in _of_call(history, call))
    if findings:
        return CheckResult("audio", Verdict.FAIL, f"{len(findings)} faults in {len(chunks)} chunks", findings)
    return CheckResult("audio", Verdict.PASS, f"{frames} token frames in {len(chunks)} chunks: own voice, in order")


def _marked(pipeline: AnyPipeline) -> bool:
    if isinstance(pipeline, PipelineConfig):
        return isinstance(pipeline.model, TinyModel)
    return isinstance(pipeline, GoldenPipeline)


def _of_call(history: History, call: Call) -> Iterable[Finding]:
    voices = {event.connection: event.voice for event in call.of(SessionReady)}
    expected: dict[tuple[str | None, int], int] = {}
    for chunk in call.of(AudioReceived):
        at_s = to_s(chunk.t_ns - history.origin_ns)
        if chunk.unreadable > 0:
            yield Finding(f"{chunk.call}: {chunk.unreadable} samples without a mark", at_s, chunk.call)
        for run in chunk.marks:
            own = voices.get(chunk.connection)
            if own is not None and run.voice != own:
                yield Finding(f"{chunk.call} heard voice {run.voice}, its own is {own}", at_s, chunk.call)
            reply = (chunk.response_id, run.stream)
            due = expected.get(reply)
            if due is not None and run.first != due:
                yield Finding(f"{chunk.call} got token {run.first} of a reply, due was {due}", at_s, chunk.call)
            expected[reply] = (run.first + run.count) % INDEX_PERIOD
