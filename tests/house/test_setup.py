"""The set-up refuses what cannot work with one line, before it installs anything."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.house.tree import ROOT


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The files that the set-up reads, in a folder with a space in its name."""
    clone = tmp_path / "a clone"
    clone.mkdir()
    for name in ("scripts", "requirements"):
        shutil.copytree(ROOT / name, clone / name)
    shutil.copy(ROOT / "pyproject.toml", clone)
    return clone


def set_up(clone: Path, *arguments: str, python: str = "python3") -> subprocess.CompletedProcess[str]:
    """Run the clone's set-up, with `python` as the interpreter it is to use."""
    return subprocess.run(
        ["bash", "scripts/setup.sh", *arguments],
        cwd=clone,
        env={**os.environ, "PYTHON": python},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def interpreter(folder: Path, script: str) -> str:
    """A stand-in for an interpreter; `$2` is the code it is asked to run."""
    program = folder / "python-of-this-test"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


def assert_refused(answer: subprocess.CompletedProcess[str], *words: str) -> None:
    assert answer.returncode == 3
    (line,) = answer.stderr.splitlines()
    for word in words:
        assert word in line


def test_an_unknown_profile_is_refused_with_the_known_ones(clone: Path) -> None:
    assert_refused(set_up(clone, "gpu"), "unknown profile 'gpu'", "engine-gpu")
    assert not (clone / ".venv").exists()


def test_a_missing_interpreter_is_refused(clone: Path) -> None:
    assert_refused(set_up(clone, "core", python="no-such-python"), "there is no no-such-python", "python3-venv")


def test_an_interpreter_of_another_version_is_refused_with_its_version(clone: Path) -> None:
    python = interpreter(clone, 'case "$1" in -V) echo Python 3.9.2 ;; *) exit 1 ;; esac')
    assert_refused(set_up(clone, "core", python=python), "Python 3.9.2", "3.11 to 3.13")


def test_an_interpreter_without_the_venv_module_is_refused_with_the_package_to_install(clone: Path) -> None:
    python = interpreter(clone, 'case "$2" in *ensurepip*) exit 1 ;; esac')
    assert_refused(set_up(clone, "core", python=python), "virtual environments", "python3-venv")
    assert not (clone / ".venv").exists()


def test_python_3_13_without_a_compiler_is_refused_with_the_packages_to_install(clone: Path) -> None:
    cases = '*"(3, 13)"*) exit 1 ;; *sysconfig*) echo /nowhere ;;'
    python = interpreter(clone, f'case "$1" in -V) echo Python 3.13.5 ;; esac; case "$2" in {cases} esac')
    assert_refused(set_up(clone, "core", python=python), "Python 3.13.5", "hdrhistogram", "python3-dev", "PYTHON")
    assert not (clone / ".venv").exists()
