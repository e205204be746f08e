"""What is installed is what is pinned, and the project's files name no place to install from."""

import re
import sys
import sysconfig
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.house.tree import ROOT, project_files, text_of

LISTS = ("core", "engine-cpu", "engine-gpu", "dev", "parquet")
PIN = re.compile(r"([a-z0-9]+(?:[._-][a-z0-9]+)*)==([0-9][A-Za-z0-9.+!_-]*)")

# Without their dots, so that this file does not name them either.
REGISTRIES = tuple(
    words.replace(" ", ".")
    for words in (
        "pypi org",
        "pythonhosted org",
        "download pytorch org",
        "wheels vllm ai",
        "pypi nvidia com",
        "conda anaconda org",
        "deb debian org",
        "registry npmjs org",
    )
)


def pins(text: str) -> dict[str, str]:
    """Name to version. Raises ValueError where a line is not name==version or a name stands twice."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = PIN.fullmatch(line)
        if match is None:
            raise ValueError(f"not name==version: {line!r}")
        name = canonicalize_name(match[1])
        if name in found:
            raise ValueError(f"stands twice: {name}")
        found[name] = match[2]
    return found


def pinned(name: str) -> dict[str, str]:
    """One list of requirements/."""
    return pins((ROOT / f"requirements/{name}.txt").read_text(encoding="utf-8"))


def differing(wanted: dict[str, str]) -> dict[str, tuple[str, str | None]]:
    """Packages whose installed version is not the wanted one: wanted, installed (None where absent)."""
    # Not sys.path: a package that other tests have imported may have put folders with copies of its own on it.
    found = metadata.distributions(path=[sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    installed = {str(canonicalize_name(item.metadata["Name"])): item.version for item in found}
    return {name: (version, installed.get(name)) for name, version in wanted.items() if installed.get(name) != version}


def unmet(requirements: list[str], wanted: dict[str, str]) -> list[str]:
    """Requirements that the pins do not meet."""
    parsed = [Requirement(line) for line in requirements]
    return [
        str(item)
        for item in parsed
        if not item.specifier.contains(wanted.get(canonicalize_name(item.name), "0"), prereleases=True)
        or canonicalize_name(item.name) not in wanted
    ]


def owned_twice(paths: list[str]) -> dict[str, set[str]]:
    """Modules that more than one installed package brings: which of them lies there is chance."""
    owners: dict[str, set[str]] = {}
    for item in metadata.distributions(path=paths):
        for file in item.files or ():
            if file.suffix in (".py", ".so"):
                owners.setdefault(str(file), set()).add(item.metadata["Name"])
    return {file: names for file, names in owners.items() if len(names) > 1}


def places(text: str) -> list[str]:
    """Package registries named in a text."""
    return [host for host in REGISTRIES if host in text]


def local_paths(text: str) -> list[str]:
    """This checkout's folder, or the user's home folder, named in a text."""
    folders = [folder for folder in (ROOT, Path.home()) if len(folder.parts) > 1]
    return [str(folder) for folder in folders if re.search(rf"(?<![\w./-]){re.escape(str(folder))}(?![\w-])", text)]


@pytest.mark.parametrize("name", LISTS)
def test_every_line_is_name_and_version(name: str) -> None:
    assert pinned(name)


@pytest.mark.parametrize(
    "line",
    [
        "torch>=2",
        "torch",
        "torch==2.13.0 --hash=sha256:0",
        "torch @ file:///x.whl",
        "# torch",
        "a==1\na==2",
        "./x",
    ],
)
def test_a_line_that_is_anything_else_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"not name==version|stands twice"):
        pins(line)


@pytest.mark.parametrize("engine", ["engine-cpu", "engine-gpu"])
def test_an_engine_list_holds_all_that_callers_need_and_shares_no_package_with_the_tools(engine: str) -> None:
    """Each list is installed without asking the resolver, so each must be complete by itself."""
    assert set(pinned("core")) <= set(pinned(engine))
    assert {n: v for n, v in pinned("dev").items() if pinned(engine).get(n, v) != v} == {}


def test_callers_get_the_same_versions_with_and_without_the_cpu_engine() -> None:
    engine = pinned("engine-cpu")
    assert {n: v for n, v in pinned("core").items() if engine[n] != v} == {}


@pytest.mark.parametrize(
    ("extra", "lists"),
    [
        (None, ["core"]),
        ("engine-cpu", ["engine-cpu"]),
        ("engine-gpu", ["engine-gpu"]),
        ("dev", ["core", "dev"]),
        ("parquet", ["parquet"]),
    ],
)
def test_the_pins_meet_what_pyproject_asks_for(extra: str | None, lists: list[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = project["dependencies"] if extra is None else project["optional-dependencies"][extra]
    assert unmet(asked, {name: version for one in lists for name, version in pinned(one).items()}) == []


def test_a_requirement_without_a_pin_or_beside_it_is_found() -> None:
    assert unmet(["locust>=2", "PyYAML>=6", "numpy<1"], {"pyyaml": "6.0", "numpy": "2.0"}) == [
        "locust>=2",
        "numpy<1",
    ]


def test_what_is_installed_here_is_what_is_pinned() -> None:
    stamp = ROOT / ".venv/.rig-setup"
    if Path(sys.prefix).resolve() != (ROOT / ".venv").resolve() or not stamp.is_file():
        pytest.skip("these tests do not run in the .venv that scripts/setup.sh makes")
    profile = stamp.read_text(encoding="utf-8").split()[0]
    lists = ["core"] if profile == "core" else [profile, "dev"]
    assert {one: differing(pinned(one)) for one in lists} == {one: {} for one in lists}


def test_no_two_packages_bring_the_same_module() -> None:
    assert owned_twice([sysconfig.get_path("purelib")]) == {}


def test_a_module_of_two_packages_is_found(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}-1.dist-info").mkdir()
        (tmp_path / f"{name}-1.dist-info/METADATA").write_text(f"Name: {name}\n")
        (tmp_path / f"{name}-1.dist-info/RECORD").write_text(f"shared/a.py,,\n{name}/b.py,,\n")
    assert owned_twice([str(tmp_path)]) == {"shared/a.py": {"one", "two"}}


def test_an_installed_version_other_than_the_pin_is_found() -> None:
    version = metadata.version("pytest")
    assert differing({"pytest": version}) == {}
    assert differing({"pytest": "0.1", "no-such-package": "1"}) == {
        "pytest": ("0.1", version),
        "no-such-package": ("1", None),
    }


def test_no_file_names_a_package_registry_or_a_folder_of_one_machine() -> None:
    texts = {path: text for path in project_files() if (text := text_of(path)) is not None}
    found = {str(path.relative_to(ROOT)): places(text) + local_paths(text) for path, text in texts.items()}
    assert len(found) > 20
    assert {path: named for path, named in found.items() if named} == {}


def test_registries_and_local_folders_are_found_in_a_text() -> None:
    assert places(f"an index at {REGISTRIES[0]}, by name") == [REGISTRIES[0]]
    assert local_paths(f"cd {ROOT}/rig")[0] == str(ROOT)
    assert places("https://example.org") + local_paths("cd rig; ls a/b") == []
