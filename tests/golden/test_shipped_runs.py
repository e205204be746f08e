"""Every kind of load that is shipped runs to its end: the run files as they are, shorter, on the golden server."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from rig.history import RUN_FILE

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 170

SHORTER: dict[str, dict[str, Any]] = {
    "smoke": {"load": {"duration_s": 12}},
    "open-loop": {"load": {"duration_s": 12, "arrivals": {"rate": 1.0}, "ramp": {"up_s": 4}}},
    # With a probe in the middle, as a soak of hours has them.
    "soak-8h": {"load": {"duration_s": 16}, "slots": {"every_s": 8}},
}
QUICK = {
    "slots": {"margin_s": 1},
    "watch": {"after_load_s": 2},
    "require": {"sessions": 2, "cut_replies": 0, "returns": 0},
}
PIPELINE = {
    "question": "Does a healthy server pass?",
    "hardware_label": "golden",
    "duplex_session": {"max_sessions": 4, "disconnect_grace_s": 1.0, "reaper_interval_s": 0.2},
    "golden": {"seed": 1, "reply_s": 1.0, "first_audio_ms": 200, "chunk_ms": 200, "pace_ms": 200},
}


def merged(settings: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Settings with changes in their places."""
    inner = {
        key: merged(settings[key], change)
        if isinstance(change, dict) and isinstance(settings.get(key), dict)
        else change
        for key, change in changes.items()
    }
    return {**settings, **inner}


@pytest.mark.timeout(LIMIT_S + 30)
@pytest.mark.parametrize("name", SHORTER)
def test_a_shipped_run_file_runs_to_its_end_and_a_healthy_server_fails_nothing(name: str, tmp_path: Path) -> None:
    shipped = yaml.safe_load((ROOT / "configs" / "runs" / f"{name}.yaml").read_text(encoding="utf-8"))
    run = {**merged(merged(shipped, QUICK), SHORTER[name]), "pipeline": "pipeline.yaml"}
    (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(run))
    (tmp_path / "pipeline.yaml").write_text(yaml.safe_dump(PIPELINE))
    command = [str(Path(sys.executable).with_name("rig")), "run", str(tmp_path / f"{name}.yaml"), "--results"]
    ended = subprocess.run(
        [*command, str(tmp_path / "results")], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert ended.returncode in (0, 2), ended.stdout + ended.stderr
    (folder,) = (tmp_path / "results").iterdir()
    assert (folder / RUN_FILE).is_file()
    verdict = json.loads((folder / "verdict.json").read_text())
    checks = {check["check"]: check for check in verdict["checks"]}
    # On a crowded machine the rig may find itself too slow to judge; everything else must pass.
    assert {one for one, check in checks.items() if check["verdict"] != "pass"} <= {"rig_validity"}, verdict
    assert "not" not in checks["slots"]["summary"], "the probe was made"
