"""The end of a run: what happens to somebody who does not wait for the judgement."""

import os
import signal
from pathlib import Path

import pytest

from rig import conclude as module
from rig.errors import RigError
from rig.report.write import VERDICT_FILE
from tests.report.runs import whole


def impatient(_: Path) -> None:
    """Somebody sends SIGTERM while the run is judged."""
    os.kill(os.getpid(), signal.SIGTERM)
    raise AssertionError("SIGTERM was not taken as Ctrl-C")


def test_a_run_that_is_stopped_while_it_is_judged_says_how_to_judge_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "judge_folder", impatient)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(RigError, match=f"do it with: rig judge {tmp_path}"), module.sigterm_as_ctrl_c():
        module.conclude(tmp_path)
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_verdict_that_cannot_be_written_is_one_line_that_says_how_to_judge_again(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    run.history()
    (run.folder / VERDICT_FILE).mkdir()
    with pytest.raises(RigError) as caught:
        module.conclude(run.folder)
    text = str(caught.value)
    assert text.startswith(f"cannot write {run.folder / VERDICT_FILE}: ")
    assert text.endswith(f"rig judge {run.folder}")
    assert list(run.folder.glob(".*")) == []
