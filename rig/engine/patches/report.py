"""What `rig patches` says."""

import textwrap

from rig.engine.patches.patch import Patch
from rig.engine.patches.registry import check, patches

WIDTH = 110


def explain() -> str:
    """Every patch: what it does, the public threads, and the versions and functions it was written for."""
    return "\n\n".join(_explained(patch) for patch in patches())


def _explained(patch: Patch) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in patch.versions.items())
    excludes = [f"excludes: {', '.join(patch.excludes)}"] if patch.excludes else []
    lines = [
        *textwrap.wrap(patch.explanation.replace("\n", " "), WIDTH),
        f"upstream: {', '.join(patch.upstream)}",
        f"for: {versions}",
        *excludes,
        *(f"changes: {change.target} (sha256 {change.sha256[:12]})" for change in patch.changes),
    ]
    return f"{patch.name}: {patch.summary}\n{textwrap.indent(chr(10).join(lines), '  ')}"


def check_all() -> tuple[str, bool]:
    """One line a patch, and whether all fit what is installed."""
    fits = [check(patch) for patch in patches()]
    lines = [
        f"{fit.patch.name}: fits" if not fit.problems else f"{fit.patch.name}: does not fit: {'; '.join(fit.problems)}"
        for fit in fits
    ]
    return "\n".join(lines), not any(fit.problems for fit in fits)
