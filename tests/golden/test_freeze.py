"""A server that stands still for 6 s: what callers would have waited is in the corrected figures, beside what was seen.

The load is so short that the first second of the freeze, in which whatever is planned waits for 5 s or longer, is more
than a hundredth of what was planned. `chunk_gap` must show it by its correction alone: a stalled caller sees one long
gap instead of the many short ones that the rhythm of the chunks wanted, far less than a hundredth of all. `first_audio`
and `response_latency` must show it because callers begin over 6 s, so that some end their speech in that second; their
turns come seconds apart, and a stall of one interval suppresses none.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from rig.golden import record
from rig.pipeline.golden import RECORD_FILE

FREEZE_S = 6
SHOWN_MS = 5_000
CHUNK_MS = 80
LIMIT_S = 150
BY_CORRECTION = ("chunk_gap",)
BY_SPEECH = ("first_audio", "response_latency")

PIPELINE = {
    "question": "Does it show in the figures that this server stood still?",
    "hardware_label": "golden",
    "duplex_session": {"max_sessions": 60, "disconnect_grace_s": 1.0, "reaper_interval_s": 0.2},
    "golden": {
        "seed": 3,
        "reply_s": 1.5,
        "first_audio_ms": 200,
        "chunk_ms": CHUNK_MS,
        "pace_ms": CHUNK_MS,
        "faults": [f"freeze:for_s={FREEZE_S},after_s=10"],
    },
}
RUN = {
    "question": "Does it show in the figures that the server stood still?",
    "pipeline": "pipeline.yaml",
    "seed": 3,
    "load": {
        "callers": 40,
        "duration_s": 24,
        "ramp": {"up_s": 6},
        "pause_s": {"low": 0.1, "high": 0.5},
        "think_s": {"low": 0.1, "high": 1.0},
    },
    "behaviours": {"polite": {"weight": 1, "turns": {"low": 1, "high": 3}}},
    # Nobody gives up because of the freeze: what is missing from a figure cannot be in its percentiles.
    "deadlines": {"connect_s": 20, "first_audio_s": 20, "reply_s": 30, "return_s": 20},
    "watch": {"after_load_s": 0},
    "slots": {"probe": False},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the run, judged and reported as `rig run` does it."""
    work = tmp_path_factory.mktemp("freeze")
    (work / "pipeline.yaml").write_text(yaml.safe_dump(PIPELINE))
    (work / "run.yaml").write_text(yaml.safe_dump(RUN))
    command = [sys.executable, "-m", "rig.cli", "run", str(work / "run.yaml"), "--results", str(work / "results")]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    (found,) = (work / "results").iterdir()
    frozen = [line for line in record.read(found / "server" / RECORD_FILE) if isinstance(line, record.FaultFired)]
    assert len(frozen) == 1, answer.stdout + answer.stderr
    return found


pytestmark = pytest.mark.timeout(200)


@pytest.fixture(scope="module")
def summary(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return content


@pytest.mark.parametrize("name", BY_CORRECTION + BY_SPEECH)
def test_the_corrected_p99_is_at_least_5_s(summary: dict[str, Any], name: str) -> None:
    figure = summary["figures"][name]
    assert figure["unavailable"] == {}
    assert figure["corrected"]["p99"] >= SHOWN_MS
    assert figure["corrected"]["p99"] == summary[f"p99_{name}_corrected_ms"]


@pytest.mark.parametrize("name", BY_CORRECTION)
def test_what_was_seen_hides_it_and_stands_beside(summary: dict[str, Any], name: str) -> None:
    seen, corrected = (summary["figures"][name][kind] for kind in ("uncorrected", "corrected"))
    assert seen["max"] >= SHOWN_MS
    assert seen["p99"] == summary[f"p99_{name}_ms"] < SHOWN_MS
    # One stalled caller alone missed so many.
    assert corrected["n"] >= seen["n"] + FREEZE_S * 1_000 // CHUNK_MS - 1


@pytest.mark.parametrize("name", BY_CORRECTION + BY_SPEECH)
def test_both_stand_in_the_reports(folder: Path, summary: dict[str, Any], name: str) -> None:
    seen, corrected = (summary["figures"][name][kind]["p99"] for kind in ("uncorrected", "corrected"))
    lines = (folder / "report.md").read_text().splitlines()
    head = next(line for line in lines if line.startswith("| figure |")).split(" | ")
    row = next(line for line in lines if line.startswith(f"| {name} (ms) |")).split(" | ")
    told = dict(zip(head, row, strict=True))
    assert (told["p99"], told["p99 corrected"]) == (f"{seen:.0f}", f"{corrected:.0f}")
    page = re.sub(r"<svg.*?</svg>", "", (folder / "report.html").read_text(), flags=re.DOTALL)
    cells = re.search(rf">{name}</t[dh]>\s*<td[^>]*>as seen</td>(.*?)</tr>\s*<tr>(.*?)</tr>", page, re.DOTALL)
    assert cells is not None
    assert f">{seen:,.0f} ms<" in cells[1]
    assert ">corrected<" in cells[2]
    assert f">{corrected:,.0f} ms<" in cells[2]
