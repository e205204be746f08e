"""What a patch or a bug says about itself, and how its claim about the installed source is proved."""

import enum
import hashlib
import importlib
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from types import FunctionType
from typing import ClassVar

from rig.errors import RigError


class PatchError(RigError):
    """A patch does not fit what is installed, or what was asked of the patches makes no sense."""


class Kind(enum.StrEnum):
    """What a change of the engine is for: to repair it, or to break it as it was once broken."""

    PATCH = "patch"
    BUG = "bug"


@dataclass(frozen=True)
class Change:
    """One function of the engine that a patch changes, and the source that it was written against.

    `target` is `module:Class.method`. `sha256` is `fingerprint` of the released function.
    """

    target: str
    sha256: str

    @property
    def package(self) -> str:
        """The top-level package that holds the function."""
        return self.target.partition(".")[0]


@dataclass(frozen=True)
class Patch:
    """One fix. Importing the module that holds it imports no engine; `apply` does.

    `upstream` names the public threads, `versions` the distributions it was written for, `excludes` other patches that
    change the same thing in another way.
    """

    kind: ClassVar[Kind] = Kind.PATCH

    name: str
    summary: str
    explanation: str
    upstream: tuple[str, ...]
    versions: Mapping[str, str]
    changes: tuple[Change, ...]
    apply: Callable[[], None]
    excludes: tuple[str, ...] = field(default=())

    def misfits(self) -> list[str]:
        """Why this patch must not be applied to what is installed: one line each, none when it fits."""
        return [problem for change in self.changes if (problem := misfit(change, self.kind)) is not None]


@dataclass(frozen=True, kw_only=True)
class Bug(Patch):
    """A published fault, put back. Put on and checked like a patch.

    `provoked_by` is what callers have to do for the fault to show.
    """

    kind: ClassVar[Kind] = Kind.BUG

    provoked_by: str


def misfit(change: Change, kind: Kind = Kind.PATCH) -> str | None:
    """Why one function is not the one the change was written for; None also where its whole package is absent."""
    if not installed(change.package):
        return None
    try:
        found = fingerprint(resolve(change.target))
    except PatchError as error:
        return str(error)
    if found != change.sha256:
        return f"{change.target} is another source (sha256 {found[:12]}, the {kind} is for {change.sha256[:12]})"
    return None


def installed(package: str) -> bool:
    """Whether a top-level package can be imported."""
    return find_spec(package) is not None


def resolve(target: str) -> FunctionType:
    """The function behind `module:Class.method`, which must be the class's own. Raises PatchError."""
    module_name, _, path = target.partition(":")
    owner_name, _, name = path.rpartition(".")
    try:
        owner = getattr(importlib.import_module(module_name), owner_name)
        found = vars(owner)[name]
    except (ImportError, AttributeError, KeyError) as error:
        raise PatchError(f"{target} is not there ({type(error).__name__}: {error})") from error
    if not isinstance(found, FunctionType):
        raise PatchError(f"{target} is not a plain function")
    return found


def fingerprint(function: FunctionType) -> str:
    """SHA-256 of a function's source without its outer indentation, spaces at line ends and empty last lines.

    A wrapper that names the function it wraps has the fingerprint of that function.
    """
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
    lines = [line.rstrip() for line in source.rstrip().splitlines()]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
