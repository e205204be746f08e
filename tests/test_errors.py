"""Errors carry their fields, read as one line and travel between processes."""

import errno
import pickle
import socket
from pathlib import Path

import pytest

from rig.errors import ConfigError, JournalError, PipelineError, PreflightError, RigError, UsageError, nearest, reason


@pytest.mark.parametrize(
    ("line", "key", "expected"),
    [
        (3, "load.callers", "run.yaml:3: load.callers: unknown key; remove it"),
        (None, "seed", "run.yaml: seed: unknown key; remove it"),
        (3, None, "run.yaml:3: unknown key; remove it"),
        (None, None, "run.yaml: unknown key; remove it"),
    ],
)
def test_a_config_error_names_place_key_problem_and_remedy(line: int | None, key: str | None, expected: str) -> None:
    assert str(ConfigError(Path("run.yaml"), line, key, "unknown key", "remove it")) == expected


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("sede", ["seed", "load"], "did you mean `seed`?"),
        ("zzz", ["seed", "load"], "known here: load, seed"),
        ("zzz", [], "check the name"),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest_or_with_all(name: str, known: list[str], said: str) -> None:
    assert nearest(name, known) == said


def test_a_config_error_survives_pickling() -> None:
    error = ConfigError(Path("run.yaml"), 3, "seed", "missing", "add it")
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.file, copy.line, copy.key, copy.problem, copy.remedy) == (
        Path("run.yaml"),
        3,
        "seed",
        "missing",
        "add it",
    )


def test_what_the_user_gave_wrong_is_told_apart_from_what_went_wrong() -> None:
    assert issubclass(ConfigError, UsageError)
    assert issubclass(PreflightError, UsageError)
    for other in (PipelineError, JournalError):
        assert issubclass(other, RigError)
        assert not issubclass(other, UsageError)


def test_the_reason_of_the_system_is_told_in_its_own_words() -> None:
    told_by_asyncio = OSError(errno.EADDRINUSE, "error while attempting to bind on address ('127.0.0.1', 1): ...")
    assert reason(told_by_asyncio) == "Address already in use"
    assert reason(socket.gaierror(socket.EAI_NONAME, "Name or service not known")) == "Name or service not known"
    assert reason(OSError("no number")) == "no number"
