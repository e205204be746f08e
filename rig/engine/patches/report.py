"""What `rig patches` and `rig bugs` say."""

import textwrap
from collections.abc import Sequence

from rig.engine.patches.patch import Bug, Kind, Patch
from rig.engine.patches.registry import bugs, check, patches

WIDTH = 110


def explain(kind: Kind = Kind.PATCH) -> str:
    """Every patch or bug: what it does, the public threads, and the versions and functions it was written for."""
    return "\n\n".join(_explained(patch) for patch in _all(kind))


def _all(kind: Kind) -> Sequence[Patch]:
    return bugs() if kind is Kind.BUG else patches()


def _explained(patch: Patch) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in patch.versions.items())
    excludes = [f"excludes: {', '.join(patch.excludes)}"] if patch.excludes else []
    lines = [
        *textwrap.wrap(patch.explanation.replace("\n", " "), WIDTH),
        *([f"provoked by: {patch.provoked_by}"] if isinstance(patch, Bug) else []),
        f"upstream: {', '.join(patch.upstream)}",
        f"for: {versions}",
        *excludes,
        *(f"changes: {change.target} (sha256 {change.sha256[:12]})" for change in patch.changes),
    ]
    return f"{patch.name}: {patch.summary}\n{textwrap.indent(chr(10).join(lines), '  ')}"


def check_all(kind: Kind = Kind.PATCH) -> tuple[str, bool]:
    """One line a patch or bug, and whether all fit what is installed."""
    fits = [check(patch) for patch in _all(kind)]
    lines = [
        f"{fit.patch.name}: fits" if not fit.problems else f"{fit.patch.name}: does not fit: {'; '.join(fit.problems)}"
        for fit in fits
    ]
    return "\n".join(lines), not any(fit.problems for fit in fits)
