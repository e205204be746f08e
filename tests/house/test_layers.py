"""A module imports its own tier or lower, and what is only installed with an engine stays inside rig/engine.

Judging and telling (tiers 3 and 4) read a run folder and import nothing that runs anything (tier 2), so that
a run can be judged again anywhere. Every import statement counts, also in functions and under TYPE_CHECKING.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.house.tree import ROOT, python_modules

PACKAGES = ("rig", "clients")

# A new module goes into the tier that says what it does; a package's entry covers what is below it.
TIERS: dict[str, int] = {
    # 0 vocabulary: what everything else is told in
    "rig": 0,
    "rig.clock": 0,
    "rig.errors": 0,
    "rig.events": 0,
    "rig.files": 0,
    "rig.ids": 0,
    "rig.marks": 0,
    "rig.standing": 0,
    # 1 intent: what is to happen
    "rig.arrivals": 1,
    "rig.config": 1,
    "rig.plan": 1,
    "rig.scripts": 1,
    "rig.slots": 1,
    "rig.speech": 1,
    # 2 doing: what makes it happen and records it
    "clients": 2,
    "rig.bus": 2,
    "rig.drive": 2,
    "rig.elsewhere": 2,
    "rig.engine": 2,
    "rig.faults": 2,
    "rig.golden": 2,
    "rig.hardware": 2,
    "rig.machine": 2,
    "rig.pipeline": 2,
    "rig.watch": 2,
    # 3 reading: what is found in a finished run folder
    "rig.checks": 3,
    "rig.compare": 3,
    "rig.fold": 3,
    "rig.follow": 3,
    "rig.history": 3,
    "rig.last_words": 3,
    "rig.measure": 3,
    "rig.explained": 3,
    "rig.recorder": 3,
    "rig.verdict": 3,
    # 4 telling
    "rig.live": 4,
    "rig.metrics": 4,
    "rig.progress": 4,
    "rig.report": 4,
    # 5 wiring
    "rig.ab": 5,
    "rig.ab_command": 5,
    "rig.arguments": 5,
    "rig.host_command": 5,
    "rig.cli": 5,
    "rig.doctor": 5,
    "rig.folder": 5,
    "rig.conclude": 5,
    "rig.prepare": 5,
    "rig.prove": 5,
    "rig.results": 5,
    "rig.run": 5,
}
DOING = 2
READING_AND_TELLING = (3, 4)

CALLER_PACKAGES = {
    "aiomqtt",
    "iotcore",
    "msgspec",
    "numpy",
    "packaging",
    "paho",
    "prometheus_client",
    "psutil",
    "pydantic",
    "pydantic_core",
    "rich",
    "shtab",
    "websockets",
    "yaml",
}
LOCUST_PACKAGES = {"flask", "gevent", "locust"}
OPTIONAL_PACKAGES = {"rig.report.export.table": "pyarrow"}
"""Packages that no profile installs, and the one module that may ask for each, in a function."""
HEAVYWEIGHTS = {"torch", "transformers", "vllm", "vllm_omni", *LOCUST_PACKAGES}


def tier_of(module: str) -> int | None:
    """The tier of a module or of the nearest package above it; `rig` itself speaks only for itself."""
    if module in TIERS:
        return TIERS[module]
    parent = module.rpartition(".")[0]
    return None if parent in ("", "rig") else tier_of(parent)


def imports(module: str, path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """Every module that a file imports, absolute; `from a import b` is a.b where that is a module."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield inner if inner in known else base


def violations(root: Path) -> list[str]:
    """One line for every breach of the tier rule or of the package rule."""
    known = python_modules(root, PACKAGES)
    found = []
    for module, path in known.items():
        tier = tier_of(module)
        if tier is None:
            found.append(f"{module} is in no tier: add it to TIERS in tests/house/test_layers.py")
            continue
        for imported in imports(module, path, known):
            problem = _tier_problem(tier, imported) if imported in known else _package_problem(module, imported)
            if problem is not None:
                found.append(f"{module} (tier {tier}) imports {imported}: {problem}")
    return found


def _tier_problem(tier: int, imported: str) -> str | None:
    other = tier_of(imported)
    if other is None:
        return None  # reported where the module itself is looked at
    if other > tier:
        return f"that is tier {other}, above"
    if other == DOING and tier in READING_AND_TELLING:
        return "judging and telling never import doing"
    return None


def _package_problem(module: str, imported: str) -> str | None:
    top = imported.partition(".")[0]
    if top in PACKAGES:
        return "there is no such module"
    if top in sys.stdlib_module_names or top in CALLER_PACKAGES:
        return None
    if OPTIONAL_PACKAGES.get(module) == top:
        return None
    if top in LOCUST_PACKAGES:
        return None if module.partition(".")[0] == "clients" else "only clients/ uses Locust and gevent"
    return None if _in_engine(module) else "not among the callers' packages; what an engine brings stays in rig/engine"


def _in_engine(module: str) -> bool:
    return module == "rig.engine" or module.startswith("rig.engine.")


def test_every_module_imports_its_own_tier_or_lower() -> None:
    assert violations(ROOT) == []


def loaded_heavyweights(root: Path, modules: list[str]) -> list[str]:
    """The engine's and Locust's packages that a fresh Python has loaded after importing these modules."""
    code = f"""
import importlib, sys
for name in {modules!r}:
    importlib.import_module(name)
print(*sorted({HEAVYWEIGHTS!r} & set(sys.modules)))
"""
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=50, check=False
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.split()


def test_everything_outside_the_engine_and_the_clients_loads_neither_engine_nor_locust() -> None:
    """Also at second hand, which import statements alone do not show."""
    modules = [name for name in python_modules(ROOT, ("rig",)) if not _in_engine(name)]
    assert loaded_heavyweights(ROOT, modules) == []


def test_a_package_loaded_at_second_hand_is_found(tmp_path: Path) -> None:
    (tmp_path / "torch.py").touch()
    (tmp_path / "middle.py").write_text("import torch")
    (tmp_path / "first.py").write_text("import middle")
    assert loaded_heavyweights(tmp_path, ["first"]) == ["torch"]


@pytest.mark.parametrize(
    ("file", "source", "complaint"),
    [
        ("rig/errors.py", "from rig.config import run", "tier 1, above"),
        ("rig/errors.py", "from rig import cli", "tier 5, above"),
        ("rig/errors.py", "import rig.cli", "tier 5, above"),
        ("rig/errors.py", "def late():\n    from rig.pipeline import ports", "tier 2, above"),
        (
            "rig/checks/one.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import rig.pipeline.ports",
            "never import doing",
        ),
        ("rig/report/page.py", "from ..pipeline import ports", "never import doing"),
        ("rig/report/page.py", "from clients import caller", "never import doing"),
        ("rig/events/one.py", "from . import two\nfrom .. import run", "tier 5, above"),
        ("rig/pipeline/ports.py", "import gevent.socket", "only clients/"),
        ("rig/plan.py", "import torch", "stays in rig/engine"),
        ("rig/pipeline/ports.py", "from vllm.platforms import current_platform", "stays in rig/engine"),
        ("clients/caller.py", "import vllm_omni.clients", "stays in rig/engine"),
        ("rig/plan.py", "import rig.gone", "no such module"),
        ("rig/novelty.py", "", "in no tier: add it to TIERS"),
    ],
)
def test_each_breach_is_found(tmp_path: Path, file: str, source: str, complaint: str) -> None:
    for name in ("rig/__init__.py", "rig/cli.py", "rig/run.py", "rig/config/run.py", "rig/pipeline/ports.py",
                 "rig/events/two.py", "clients/caller.py"):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert violations(tmp_path) == []
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(source)
    (only,) = violations(tmp_path)
    assert complaint in only


def test_what_is_allowed_is_not_reported(tmp_path: Path) -> None:
    for name, source in {
        "clients/caller.py": "import gevent, locust\nfrom rig.plan import Plan",
        "rig/plan.py": "import msgspec, json\nfrom rig import __doc__",
        "rig/__init__.py": "",
        "rig/engine/deep/one.py": "import torch, vllm, transformers\nfrom rig import plan",
        "rig/cli.py": "from rig.engine.deep import one\nfrom clients import caller",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source)
    assert violations(tmp_path) == []
