"""Shutdown: the server stops when it is asked to, and leaves no process behind."""

from rig.config.pipeline import ExternalServer
from rig.events.types import PipelineReady, PipelineStopped
from rig.fold import Fold
from rig.verdict import CheckResult, Finding, Verdict


class Shutdown(Fold[CheckResult]):
    """Fail when a process had to be killed, unknown when the stop was not seen."""

    def result(self) -> CheckResult:
        """From what the rig saw of the stop."""
        if isinstance(self.history.pipeline, ExternalServer):
            return CheckResult("shutdown", Verdict.PASS, "not applicable: an external server is not stopped")
        if not self.history.of(PipelineReady):
            return CheckResult("shutdown", Verdict.UNKNOWN, "the server was never ready")
        stopped = next(iter(self.history.of(PipelineStopped)), None)
        if stopped is None:
            return CheckResult("shutdown", Verdict.UNKNOWN, "nobody saw the server stop")
        if stopped.forced:
            findings = tuple(Finding(f"pid {pid} had to be killed") for pid in stopped.forced)
            summary = f"{len(findings)} processes did not stop when asked"
            return CheckResult("shutdown", Verdict.FAIL, summary, findings)
        return CheckResult("shutdown", Verdict.PASS, "every process stopped when asked")
