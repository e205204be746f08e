"""One whole run on the golden server with its metrics served, for all who look at what it served."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 150
SCRAPE_EVERY_S = 0.5


@dataclass(frozen=True)
class Served:
    """What a run served while it went on and after its verdict, and how it ended."""

    folder: Path
    status: int
    output: str
    during: tuple[str, ...]
    after: str


def run_file(folder: Path) -> Path:
    """The shipped golden run with quicker replies and more calls, so that everything that is shown happens in it."""
    run = yaml.safe_load((ROOT / "configs/runs/golden.yaml").read_text(encoding="utf-8"))
    run |= {"pipeline": "pipeline.yaml", "metrics": {"linger_s": 100}}
    run["load"] |= {"duration_s": 20, "callers": 6}
    run["behaviours"]["barge_in"] |= {"after_audio_s": {"low": 0.2, "high": 0.5}, "turns": {"low": 2, "high": 2}}
    run["behaviours"]["hang_up"] |= {"when": {"during_reply": 1}, "after_s": {"low": 0.1, "high": 0.3}}
    run["require"] = {"sessions": 1}
    pipeline = yaml.safe_load((ROOT / "configs/pipelines/golden.yaml").read_text(encoding="utf-8"))
    pipeline["golden"] |= {"reply_s": 1.5, "first_audio_ms": 200, "chunk_ms": 400, "pace_ms": 400}
    pipeline["duplex_session"] |= {"disconnect_grace_s": 1.0, "reaper_interval_s": 0.2}
    (folder / "pipeline.yaml").write_text(yaml.safe_dump(pipeline))
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump(run))
    return path


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Served:
    """Scraped from the first moment to the verdict; the lingering after it is ended with Ctrl-C."""
    folder = tmp_path_factory.mktemp("served")
    output = folder / "output"
    results = folder / "results"
    command = [sys.executable, "-m", "rig.cli", "run", str(run_file(folder))]
    with output.open("wb") as file:
        rig = subprocess.Popen(
            [*command, "--results", str(results), "--metrics-port", "0"],
            stdout=file,
            stderr=file,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
    try:
        during, after = _scrape(rig, output)
        rig.send_signal(signal.SIGINT)
        status = rig.wait(LIMIT_S)
    finally:
        rig.kill()
        rig.wait()
    return Served(next(results.iterdir()), status, output.read_text(), tuple(during), after)


def _scrape(rig: "subprocess.Popen[bytes]", output: Path) -> tuple[list[str], str]:
    texts: list[str] = []
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline and rig.poll() is None:
        url = re.search(r"metrics at (http://\S+)", output.read_text())
        if url is not None:
            with urlopen(url[1], timeout=30) as answer:
                text = answer.read().decode()
            if "\nrig_verdict " in text:
                return texts, text
            texts.append(text)
        time.sleep(SCRAPE_EVERY_S)
    raise AssertionError(f"no verdict was served: {output.read_text()}")
