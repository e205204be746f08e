"""docs/golden.md tells the same faults, settings and upstream files as there are."""

import re
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path

import pytest

from rig.golden.faults import FAULTS, Entry, Fault

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "golden.md").read_text(encoding="utf-8")


def row(name: str, entry: Entry) -> str:
    """The line of the page for one fault."""
    common = {one.name: one.default for one in fields(Fault) if one.init}
    own = [
        f"{one.name}={one.default}"
        for one in fields(entry.make)
        if one.init and common.get(one.name, ...) != one.default
    ]
    return f"| `{name}` | {entry.does} | {entry.check or 'none'} | {', '.join(own) or '-'} |"


def test_the_table_of_the_page_is_the_table_of_the_code() -> None:
    told = [line for line in PAGE.partition("| fault | what it does |")[2].splitlines()[2:] if line.startswith("|")]
    assert told == [row(name, entry) for name, entry in FAULTS.items()]


def test_the_upstream_files_that_it_names_exist() -> None:
    spec = find_spec("vllm_omni")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("vLLM-Omni is not installed")
    root = Path(spec.submodule_search_locations[0])
    named = re.findall(r"`((?:entrypoints|protocol|engine)/[\w/]+\.py)`", PAGE)
    assert len(named) > 10
    assert [path for path in named if not (root / path).is_file()] == []
