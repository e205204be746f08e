"""The list explains, the check tells."""

import subprocess
import sys

import pytest

from rig.config.pipeline import EngineBug, EnginePatch
from rig.engine.patches.patch import Kind
from rig.engine.patches.report import check_all, explain


def test_the_list_names_each_patch_with_its_threads() -> None:
    text = explain()
    for name in EnginePatch:
        assert f"{name}: " in text
    assert "vllm#42158" in text


def test_the_check_has_one_line_a_patch() -> None:
    pytest.importorskip("vllm")
    text, all_fit = check_all()
    assert all_fit
    assert len(text.splitlines()) == len(EnginePatch)


def test_the_bugs_are_explained_with_what_provokes_them() -> None:
    text = explain(Kind.BUG)
    for name in EngineBug:
        assert f"{name}: " in text
    assert text.count("provoked by: ") == len(EngineBug)


def test_the_command_says_one_line_a_bug_and_nothing_else() -> None:
    pytest.importorskip("vllm")
    check = [sys.executable, "-m", "rig.cli", "bugs", "check"]
    said = subprocess.run(check, capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == [f"{name}: fits" for name in EngineBug]
