"""A run that says nothing of the engines because the machine stalled the callers is made again, and no other."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.engine.rigrun import RigRun, run_in_time

PASS = {"liveness": "pass", "rig_validity": "pass"}
SLOW = {"liveness": "pass", "rig_validity": "unknown"}
DEAD = {"liveness": "fail", "rig_validity": "pass"}
DEAD_AND_SLOW = {"liveness": "fail", "rig_validity": "unknown"}


@pytest.mark.parametrize(
    ("ends", "made", "not_passed"),
    [
        ([PASS], 1, set()),
        ([SLOW, PASS], 2, set()),
        ([SLOW, SLOW, PASS], 3, set()),
        ([SLOW, SLOW, SLOW], 3, {"rig_validity"}),
        ([DEAD], 1, {"liveness"}),
        ([SLOW, DEAD], 2, {"liveness"}),
        ([DEAD_AND_SLOW], 1, {"liveness", "rig_validity"}),
    ],
)
def test_only_a_run_whose_callers_were_late_and_no_more_is_made_again(
    ends: list[dict[str, str]], made: int, not_passed: set[str], tmp_path: Path
) -> None:
    coming = iter(ends)

    def make(folder: Path) -> RigRun:
        checks = [{"check": check, "verdict": verdict} for check, verdict in next(coming).items()]
        (folder / "results" / "one").mkdir(parents=True)
        (folder / "results" / "one" / "verdict.json").write_text(json.dumps({"checks": checks}))
        with subprocess.Popen(["true"], text=True) as process:
            return RigRun(process, folder / "results")

    assert run_in_time(make, tmp_path).not_passed() == not_passed
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"run-{number}" for number in range(1, made + 1)]
