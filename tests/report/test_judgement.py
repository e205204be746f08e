"""One pass over the calls gives every check and figure what each would find alone, whatever they share."""

from pathlib import Path

import pytest

from rig.checks import judge
from rig.fold import result_of
from rig.history import Call, load
from rig.measure import measure_all
from rig.measure.connect import Connect
from rig.measure.totals import TotalsFold
from rig.report import judge_folder
from tests.report.runs import whole


def test_checks_figures_and_counts_are_those_of_passes_of_their_own(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    run.history(closed=True)
    folder = run.folder
    whole_run = judge_folder(folder)
    assert whole_run.checks == judge(load(folder))
    assert whole_run.figures == measure_all(load(folder))
    assert whole_run.totals == result_of(TotalsFold, load(folder))
    # The count that is shared has been made, once.
    complete = next(check for check in whole_run.checks if check.check == "completeness")
    assert complete.summary.startswith("1 sessions, 0 replies cut")


def test_a_run_of_which_a_figure_could_not_be_taken_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(self: Connect, call: Call) -> None:
        raise KeyError("req-7")

    monkeypatch.setattr(Connect, "see", crash)
    run = whole(tmp_path / "run")
    run.history()
    judgement = judge_folder(run.folder)
    assert judgement.sentence.startswith("UNKNOWN: rig_validity: 1 of the rig's own figures and counts crashed; ")
    (validity,) = [check for check in judgement.checks if check.check == "rig_validity"]
    assert validity.findings[0].text.startswith("a figure or a count crashed: KeyError('req-7') in crash, line ")
