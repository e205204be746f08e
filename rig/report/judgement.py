"""A run judged: its history, every check and every figure."""

from dataclasses import dataclass
from pathlib import Path

from rig.checks import judge
from rig.history import History, load
from rig.measure import measure_all
from rig.measure.figure import Figure
from rig.verdict import CheckResult, Verdict, merge


@dataclass(frozen=True)
class Judgement:
    """What a run came to."""

    history: History
    checks: tuple[CheckResult, ...]
    figures: tuple[Figure, ...]

    @property
    def verdict(self) -> Verdict:
        """Fail beats unknown beats pass."""
        return merge(check.verdict for check in self.checks)

    @property
    def sentence(self) -> str:
        """The verdict in one sentence, with the check that decided it."""
        complete = next(check for check in self.checks if check.check == "completeness")
        if self.verdict is Verdict.PASS:
            return f"PASS: {complete.summary}; every check passed"
        # Why a run cannot be believed is first of all what did not happen in it.
        deciding = next(check for check in (complete, *self.checks) if check.verdict is self.verdict)
        return f"{self.verdict.upper()}: {deciding.check}: {deciding.summary}"


def judge_folder(folder: Path) -> Judgement:
    """Judge what is on disk. Raises RigError when the folder is not a run's."""
    history = load(folder)
    return Judgement(history, judge(history), measure_all(history))
