"""Committed examples: whole enough to be judged again, with the same outcome, and without the paths of a machine."""

import re
import shutil
from pathlib import Path

import pytest

from rig import ab
from rig.compare import record
from tests.house.tree import ROOT

EXAMPLES = ROOT / "results" / "examples"
COMPARISONS = sorted(path.parent.name for path in EXAMPLES.glob("*/ab.json"))
MACHINE_PATH = re.compile(r"(?<![\w.~])/(?:home|root|tmp|work|Users|mnt)/")


def test_there_is_a_comparison() -> None:
    assert COMPARISONS


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", COMPARISONS)
def test_a_comparison_judged_again_comes_to_the_same(name: str, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    told = record.read(EXAMPLES / name)
    assert ab.judge(tmp_path / "examples" / name).comparison == told.comparison
    assert told.ended == record.AS_PLANNED


def test_they_name_no_path_of_the_machine_they_were_made_on() -> None:
    files = [path for path in EXAMPLES.rglob("*") if path.is_file()]
    named = {path.name: found for path in files if (found := MACHINE_PATH.findall(path.read_text(encoding="utf-8")))}
    assert named == {}
