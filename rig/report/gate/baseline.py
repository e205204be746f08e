"""Baselines: what a run is held against. A run folder is one, or a small file made of runs, to keep with the code."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from rig.errors import RigError, UsageError
from rig.files import replace
from rig.history import RUN_FILE
from rig.report.digest import Digest, digest_of
from rig.report.gate.standing import gated
from rig.report.judgement import judge_folder
from rig.report.pool import pool
from rig.verdict import Verdict

_STAMPED = re.compile(r"\d{8}T\d{6}Z-")
_NOT_KEPT = ("provenance.host", "provenance.argv")
"""Facts that a file beside the code need not tell: what a machine is called, and what was typed there."""


class Baseline(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One or more runs of one config on one kind of machine; their figures are pooled."""

    runs: Annotated[tuple[Digest, ...], msgspec.Meta(min_length=1)]
    kind: Literal["rig-baseline"] = "rig-baseline"
    schema_version: Literal[1] = 1

    @property
    def name(self) -> str:
        """Its runs."""
        return ", ".join(run.run for run in self.runs)


def read_baseline(path: Path) -> Baseline:
    """A run folder, judged anew, or a file that `save_baseline` made. Raises RigError for anything else."""
    if path.is_dir():
        return Baseline((digest_of(judge_folder(path)),))
    try:
        baseline = msgspec.json.decode(path.read_bytes(), type=Baseline)
        pool(baseline.runs)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; give a run folder or a baseline file") from error
    except (msgspec.MsgspecError, RigError) as error:
        raise UsageError(f"{path} is no baseline ({error}); make one with: rig gate --save RUN --to FILE") from error
    return baseline


def save_baseline(path: Path, runs: Sequence[Path]) -> Baseline:
    """Write the file. Raises UsageError for runs that did not pass or are not of one config and machine."""
    digests = tuple(_kept(digest_of(judge_folder(run))) for run in runs)
    if len({digest.run for digest in digests}) < len(digests):
        raise UsageError("a run stands twice: its values would count twice")
    for digest in digests:
        if digest.verdict is not Verdict.PASS:
            raise UsageError(f"{digest.run} is no baseline: {digest.sentence}")
    for digest in digests[1:]:
        found = gated(digests[0].facts, digest.facts)
        if found:
            raise UsageError(f"{digests[0].run} and {digest.run} are no one baseline: {'; '.join(map(str, found))}")
    baseline = Baseline(digests)
    content = msgspec.json.format(msgspec.json.encode(baseline), indent=1) + b"\n"
    replace(path, content, "name another file with --to", make_folder=True)
    return baseline


def newest_run(results: Path) -> Path:
    """The run folder whose name has the latest time. Raises UsageError where there is none."""
    folders = [path for path in results.glob("*/") if _STAMPED.match(path.name) and (path / RUN_FILE).is_file()]
    if not folders:
        raise UsageError(f"there is no run in {results}; name the run, or another folder with --results")
    return max(folders, key=lambda path: path.name)


def _kept(digest: Digest) -> Digest:
    facts = {key: value for key, value in digest.facts.items() if key not in _NOT_KEPT}
    return msgspec.structs.replace(digest, facts=facts)
