"""Whole runs of the rig on the golden server: a healthy one passes, and each fault fails the check it is meant for."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from rig import history
from rig.events import journal
from rig.events.types import EndReason, PipelineStopped, ProcessDied, RunEnded
from rig.golden import record
from rig.live import Lines
from rig.pipeline.golden import RECORD_FILE
from rig.prove import ThreadCallers
from rig.run import run
from rig.verdict import Verdict

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 170

FAULTS = {
    "healthy": ("none", "pass"),
    "die": ("die:after_sessions=2", "liveness"),
    "late_death": ("late_death:delay_s=0.5", "liveness"),
    "hang": ("hang:after_sessions=2", "progress"),
    "close_1011": ("close_1011:after_sessions=2", "connections"),
    "refuse": ("refuse:after_sessions=1,p=0.5", "refusals"),
    "cross_audio": ("cross_audio:times=2", "audio"),
    "resurrect": ("resurrect", "audio"),
    "lose_slot": ("lose_slot", "slots"),
}

HANG_UPS = {
    "hang_up": {
        "weight": 1,
        "how": {"rst": 1, "close_frame": 1},
        "when": {"during_reply": 1},
        "then": {"new_session": 1},
        "after_s": {"low": 0.1, "high": 0.3},
    }
}
"""For faults that need callers who hang up."""

RUN: Mapping[str, Any] = {
    "question": "Does the rig see the fault that the golden server has?",
    "pipeline": "pipeline.yaml",
    "seed": 5,
    "load": {
        "callers": 2,
        "duration_s": 12,
        "pause_s": {"low": 0.1, "high": 0.3},
        "think_s": {"low": 0.1, "high": 0.2},
    },
    "behaviours": {"polite": {"weight": 1, "turns": {"low": 1, "high": 1}}},
    "deadlines": {"connect_s": 5, "first_audio_s": 4, "reply_s": 5, "return_s": 5},
    "watch": {"health_interval_s": 0.2, "after_load_s": 3},
}


@dataclass
class Ended:
    """A run that is over."""

    folder: Path
    status: int
    output: str

    @property
    def checks(self) -> dict[str, str]:
        """Verdict of each check."""
        content = json.loads((self.folder / "verdict.json").read_text())
        return {check["check"]: check["verdict"] for check in content["checks"]}


def rig_run(folder: Path, fault: str) -> Ended:
    """`rig run` with two callers, polite ones unless the fault needs others."""
    content = {**RUN, "behaviours": HANG_UPS} if fault == "lose_slot" else dict(RUN)
    content["slots"] = {"probe": fault in ("none", "lose_slot"), "margin_s": 1}
    # Callers who hang up once find no slot any more when each of them had one.
    slots = 2 if fault == "lose_slot" else 4
    pipeline = {
        "question": "Does the rig see the fault that this server has?",
        "hardware_label": "golden",
        "duplex_session": {"max_sessions": slots, "disconnect_grace_s": 1.0, "reaper_interval_s": 0.2},
        "golden": {"reply_s": 1.5, "first_audio_ms": 200, "chunk_ms": 400, "pace_ms": 400, "faults": [fault]},
    }
    folder.mkdir()
    (folder / "pipeline.yaml").write_text(yaml.safe_dump(pipeline))
    (folder / "run.yaml").write_text(yaml.safe_dump(content))
    results = folder / "results"
    command = [sys.executable, "-m", "rig.cli", "run", str(folder / "run.yaml"), "--results", str(results)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False, env=dict(os.environ))
    said = answer.stdout + answer.stderr
    assert results.is_dir(), f"refused before it began: {said}"
    return Ended(next(results.iterdir()), answer.returncode, said)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    """All runs, two at a time."""
    folder = tmp_path_factory.mktemp("runs")
    with ThreadPoolExecutor(2) as pool:
        futures = {name: pool.submit(rig_run, folder / name, fault) for name, (fault, _) in FAULTS.items()}
        return {name: future.result() for name, future in futures.items()}


@pytest.mark.timeout(600)
def test_a_healthy_server_fails_no_check_and_the_rig_starts_watches_and_stops_it(runs: dict[str, Ended]) -> None:
    ended = runs["healthy"]
    # On a crowded machine the rig may find itself too slow to judge; everything else must pass.
    assert {name for name, verdict in ended.checks.items() if verdict != "pass"} <= {"rig_validity"}, ended.output
    assert (ended.folder / "server" / "launch.json").is_file()
    deaths = history.load(ended.folder).of(ProcessDied)
    assert [(death.stage, death.exit_status, death.expected) for death in deaths] == [("api_server", 0, True)]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", [name for name in FAULTS if name != "healthy"])
def test_a_fault_fails_the_check_it_is_meant_for(runs: dict[str, Ended], name: str) -> None:
    ended = runs[name]
    lines = record.read(ended.folder / "server" / RECORD_FILE)
    assert any(isinstance(line, record.FaultFired) for line in lines)
    assert ended.checks[FAULTS[name][1]] == "fail", ended.output
    assert ended.status == 1


class Unreadable(ThreadCallers):
    """While they call, there is a journal that nobody can read."""

    async def start(self) -> None:
        await super().start()
        (self.journals / "lost.jsonl").mkdir()


class OftenShown(Lines):
    """Looks at the run often."""

    every_s = 0.1


@pytest.mark.timeout(LIMIT_S)
def test_a_journal_that_cannot_be_followed_ends_the_run_with_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline = {"question": "Is it stopped?", "hardware_label": "golden", "golden": {}}
    (tmp_path / "pipeline.yaml").write_text(yaml.safe_dump(pipeline))
    (tmp_path / "run.yaml").write_text(yaml.safe_dump({**RUN, "bus": {"kind": "none"}}))
    judgement = run(tmp_path / "run.yaml", tmp_path / "results", OftenShown(sys.stderr), callers=Unreadable)
    assert judgement.verdict is not Verdict.PASS
    (folder,) = (tmp_path / "results").iterdir()
    events, _ = journal.read(folder / history.EVENTS_DIR / "rig.jsonl")
    (ended,) = [event for event in events if isinstance(event, RunEnded)]
    why = f"[Errno 21] Is a directory: '{folder / history.EVENTS_DIR / 'lost.jsonl'}'"
    assert (ended.reason, ended.detail) == (EndReason.RIG_ERROR, why)
    assert sum(isinstance(event, PipelineStopped) for event in events) == 1
    told = [line for line in capsys.readouterr().err.splitlines() if "lost.jsonl" in line]
    assert told == [f"rig: the run ended early: rig_error: {why}"]
