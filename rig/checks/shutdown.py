"""Shutdown: the server outlives its last caller, stops when it is asked to, and leaves no process behind.

A server can die of what its callers did when they are gone, so the rig goes on watching for `watch.after_load_s` after
the last call (a death in that time is found by `liveness`). A watch that was shorter proves nothing and is unknown.
Files that are new in /dev/shm are counted and fail nothing, as they may be another program's.
Cannot see: what an external server does when it stops; processes that left the server's own process tree.
"""

from rig.clock import to_s
from rig.config.pipeline import ExternalServer
from rig.events.types import CallEnded, Phase, PipelineKept, PipelineReady, PipelineStopped
from rig.fold import Fold
from rig.history import Call, History
from rig.verdict import CheckResult, Finding, Verdict

SHORT_S = 0.5
"""A watch may be short by so much: calls and phases are stamped by different processes."""


class Shutdown(Fold[CheckResult]):
    """Fail when a process had to be killed, unknown when the stop or the watch before it was not seen."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._last_call_ns = 0

    def see(self, call: Call) -> None:
        """Keep when the last call was over."""
        ended = call.of(CallEnded)
        if ended:
            self._last_call_ns = max(self._last_call_ns, ended[-1].t_ns)

    def result(self) -> CheckResult:
        """From what the rig saw of the stop."""
        if isinstance(self.history.pipeline, ExternalServer):
            return CheckResult("shutdown", Verdict.PASS, "not applicable: an external server is not stopped")
        if not self.history.of(PipelineReady):
            return CheckResult("shutdown", Verdict.UNKNOWN, "the server was never ready")
        stopped = next(iter(self.history.of(PipelineStopped)), None)
        if stopped is None and self.history.of(PipelineKept):
            return self._watched("the server lives and was left to another run, its stop is not judged here")
        if stopped is None:
            return CheckResult("shutdown", Verdict.UNKNOWN, "nobody saw the server stop")
        if stopped.forced:
            at_s = to_s(stopped.t_ns - self.history.origin_ns)
            findings = tuple(Finding(f"pid {pid} had to be killed", at_s) for pid in stopped.forced)
            summary = f"{len(findings)} processes did not stop when asked"
            return CheckResult("shutdown", Verdict.FAIL, summary, findings)
        left = len(stopped.segments_left) if stopped.left_in_all is None else stopped.left_in_all
        shared = f" and {left} new files stayed in /dev/shm" if left else ""
        return self._watched(f"every process stopped when asked{shared}")

    def _watched(self, good: str) -> CheckResult:
        watched_s, wanted_s = self._watched_s(), self.history.config.watch.after_load_s
        told = f"watched for {watched_s:.1f} s after the last caller"
        if watched_s < wanted_s - SHORT_S:
            summary = f"{good}, but it was {told}, not for {wanted_s:g} s"
            return CheckResult("shutdown", Verdict.UNKNOWN, summary)
        return CheckResult("shutdown", Verdict.PASS, f"{good}, {told}")

    def _watched_s(self) -> float:
        """From the last caller, or the phase that follows it, to the stop."""
        watch_ns, stop_ns = self.history.phase_ns(Phase.WATCH), self.history.phase_ns(Phase.STOP)
        if watch_ns is None or stop_ns is None:
            return 0.0
        return max(0.0, to_s(stop_ns - max(watch_ns, self._last_call_ns)))
