"""Real runs of the rig on the golden server, for what reads run folders: three short ones, made once."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

LIMIT_S = 170

RUN: dict[str, Any] = {
    "question": "What does a reader of run folders say of this run?",
    "pipeline": "pipeline.yaml",
    "seed": 5,
    "load": {
        "callers": 4,
        "duration_s": 12,
        "pause_s": {"low": 0.1, "high": 0.2},
        "think_s": {"low": 0.1, "high": 0.2},
    },
    "behaviours": {
        "polite": {"weight": 2, "turns": {"low": 1, "high": 1}},
        "barge_in": {
            "weight": 1,
            "turns": {"low": 1, "high": 1},
            "by": {"cancel": 1},
            "after_audio_s": {"low": 0.2, "high": 0.4},
        },
    },
    "deadlines": {"connect_s": 5, "first_audio_s": 4, "reply_s": 5, "return_s": 5},
    "watch": {"health_interval_s": 0.2, "after_load_s": 3},
    "slots": {"probe": False},
}

GOLDEN: dict[str, Any] = {"reply_s": 0.8, "reply_spread": 0.2, "chunk_ms": 200, "pace_ms": 200, "silence_ms": 200}


@dataclass(frozen=True)
class GoldenRuns:
    """`quick` and `slow` differ in the time to the first audio alone; in `dying` the server dies in the middle."""

    quick: Path
    slow: Path
    dying: Path


def make(folder: Path) -> GoldenRuns:
    """Carry the three runs out, two at a time."""
    kinds = {"quick": (100, []), "slow": (300, []), "dying": (100, ["die:after_sessions=4"])}
    with ThreadPoolExecutor(2) as pool:
        made = {
            name: pool.submit(_carry_out, folder / name, {**GOLDEN, "first_audio_ms": first_ms, "faults": faults})
            for name, (first_ms, faults) in kinds.items()
        }
        return GoldenRuns(**{name: each.result() for name, each in made.items()})


def _carry_out(folder: Path, golden: dict[str, Any]) -> Path:
    folder.mkdir()
    pipeline = {
        "question": "What does a server do whose every sound and time are known?",
        "hardware_label": "golden",
        "duplex_session": {"max_sessions": 8, "disconnect_grace_s": 1.0, "reaper_interval_s": 0.2},
        "golden": golden,
    }
    (folder / "pipeline.yaml").write_text(yaml.safe_dump(pipeline))
    (folder / "run.yaml").write_text(yaml.safe_dump(RUN))
    results = folder / "results"
    command = [sys.executable, "-m", "rig.cli", "run", str(folder / "run.yaml"), "--results", str(results)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    found = sorted(results.iterdir()) if results.is_dir() else []
    assert len(found) == 1, answer.stdout + answer.stderr
    return found[0]
