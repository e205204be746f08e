"""The files that a checkout is made of."""

import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]

TEXT_LIMIT_BYTES = 4 << 20


def project_files() -> list[Path]:
    """Files that git tracks or would track, in order; files deleted but not yet forgotten are left out."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = {ROOT / name for name in listing.stdout.split("\0") if name}
    return sorted(path for path in paths if path.is_file())


def text_of(path: Path) -> str | None:
    """The text of a file; None for audio and other files that are not text."""
    data = path.read_bytes()
    if b"\0" in data[:8192] or len(data) > TEXT_LIMIT_BYTES:
        return None
    return data.decode("utf-8", errors="replace")


def script(name: str) -> ModuleType:
    """A file of scripts/ as a module; scripts are no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def python_modules(root: Path, packages: tuple[str, ...]) -> dict[str, Path]:
    """Dotted module name to file, for every module below these packages."""
    return {
        _dotted(path.relative_to(root)): path for package in packages for path in sorted((root / package).rglob("*.py"))
    }


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
