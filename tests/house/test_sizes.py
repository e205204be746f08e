"""No module is longer than 400 lines: one responsibility each."""

from pathlib import Path

from tests.house.tree import ROOT, python_modules

LIMIT_LINES = 400


def too_long(root: Path) -> list[str]:
    """Modules over the limit, with their length in lines."""
    modules = python_modules(root, ("rig", "clients", "tests", "scripts"))
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in modules.values()}
    return [f"{path.relative_to(root)}: {lines} lines" for path, lines in lengths.items() if lines > LIMIT_LINES]


def test_every_module_is_at_most_400_lines() -> None:
    assert too_long(ROOT) == []


def test_a_module_of_401_lines_is_found_and_one_of_400_is_not(tmp_path: Path) -> None:
    (tmp_path / "rig").mkdir()
    (tmp_path / "rig/long.py").write_text("x = 1\n" * 401)
    (tmp_path / "rig/full.py").write_text("x = 1\n" * 400)
    assert too_long(tmp_path) == ["rig/long.py: 401 lines"]
