"""On the real pipeline: the verdict says what really happened. Each test boots all three stages (about two minutes)."""

import os
import re
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from rig.config.pipeline import STAGE_NAMES
from tests.engine.booted import has_engine
from tests.engine.rigrun import LATE, RIG, RigRun, kill, locust_of, rig_run, run_in_time, wait_mid_call, wait_until

pytestmark = [
    pytest.mark.engine,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not has_engine(), reason="needs the engine-cpu extra: make setup"),
]


def liveness(run: RigRun) -> str:
    found = next(check for check in run.verdict()["checks"] if check["check"] == "liveness")
    return str(found["summary"])


@pytest.mark.parametrize("stage", ["thinker", "talker", "code2wav", "api_server"])
def test_a_killed_process_is_a_fail_that_names_process_signal_and_time(stage: str, tmp_path: Path) -> None:
    with rig_run(tmp_path) as run:
        wait_mid_call(run)
        kill(run.pid_of(stage))
        assert run.finish(180) == 1
        assert run.verdict()["verdict"] == "fail"
        summary = liveness(run)
        assert summary.startswith(f"{stage} (pid {run.pid_of(stage)}) was killed by SIGKILL at ")
        assert " s (load)" in summary
        assert run.left_running() == []
        if stage in STAGE_NAMES:
            assert_the_report_tells_its_last_steps(run, stage)


def assert_the_report_tells_its_last_steps(run: RigRun, stage: str) -> None:
    """The killed engine's own ring was read, and stands on one timeline with the others and the callers."""
    ring = run.folder / "recorder" / f"stage-{STAGE_NAMES.index(stage)}.{run.pid_of(stage)}.ring"
    assert ring.is_file()
    report = (run.folder / "report.md").read_text()
    told = report.partition("## What the engines did last")[2].partition("\n## ")[0]
    assert f"{stage} (pid {run.pid_of(stage)}) was killed by SIGKILL" in told
    assert f"- {stage} was " in told
    for who in STAGE_NAMES:
        assert re.search(rf" {who} +add duplex-[0-9a-f]{{8}} e\d+ \(c00", told), f"no request of a call in {who}"
    assert re.search(r"> c00\d-\d{4} +begins to speak", told)
    assert "What the engines did last" in (run.folder / "report.html").read_text()


def test_a_frozen_stage_is_no_pass_while_every_process_lives(tmp_path: Path) -> None:
    with rig_run(tmp_path, duration_s=60) as run:
        wait_mid_call(run)
        os.kill(run.pid_of("talker"), signal.SIGSTOP)
        assert run.finish(400) == 1
        checks = {check["check"]: check for check in run.verdict()["checks"]}
        assert checks["progress"]["verdict"] == "fail"
        assert checks["liveness"]["verdict"] != "fail"
        assert run.left_running() == []


def test_after_the_rig_was_killed_nothing_is_left_and_the_run_can_be_judged(tmp_path: Path) -> None:
    with rig_run(tmp_path) as run:
        wait_mid_call(run)
        callers = locust_of(run)
        assert callers
        kill(run.process.pid)
        run.finish(10)
        wait_until(lambda: not run.left_running(), 60)
        wait_until(lambda: not any(psutil.pid_exists(pid) for pid in callers), 60)
        judged = subprocess.run([RIG, "judge", str(run.folder)], capture_output=True, text=True, check=False)
        assert judged.returncode == 2, judged.stdout + judged.stderr
        assert run.verdict()["verdict"] == "unknown"
        assert "the rig itself died" in judged.stdout


def polite(folder: Path) -> RigRun:
    with rig_run(folder, duration_s=40) as run:
        code = run.finish(500)
        assert code in (0, 2), (folder / "output.txt").read_text()[-2_000:]
        assert run.verdict()["verdict"] == {0: "pass", 2: "unknown"}[code]
        assert run.left_running() == []
    return run


@pytest.mark.timeout(1_800)
def test_polite_callers_on_a_healthy_pipeline_are_a_pass(tmp_path: Path) -> None:
    """A machine that is busy with other things makes the callers late, and the run is rightly unknown: no fault of the
    engines. It is made again. Where the machine stays busy, all that is said of the engines must still be a pass.
    """
    run = run_in_time(polite, tmp_path)
    assert run.not_passed() <= LATE, run.verdict()
