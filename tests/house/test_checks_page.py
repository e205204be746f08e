"""docs/checks.md is what the checks and the golden server's faults say."""

import re
import sys

import pytest

from rig.checks import CHECKS
from rig.golden.faults import FAULTS
from tests.house.tree import ROOT, script

JUDGE_THE_RIG = {"completeness", "rig_validity"}


def test_the_page_is_up_to_date() -> None:
    made = script("checks_page").render()
    assert (ROOT / "docs" / "checks.md").read_text(encoding="utf-8") == made, "run scripts/checks_page.py"


def test_every_check_has_a_section_in_the_order_of_the_table() -> None:
    headings = re.findall(r"^## (\w+)$", script("checks_page").render(), re.MULTILINE)
    assert headings == list(CHECKS)


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_says_what_it_cannot_see(name: str) -> None:
    text = sys.modules[CHECKS[name].__module__].__doc__ or ""
    assert text.count("Cannot see:") == 1


def test_every_check_of_a_server_has_a_fault_that_proves_it() -> None:
    assert set(CHECKS) - {entry.check for entry in FAULTS.values()} == JUDGE_THE_RIG
