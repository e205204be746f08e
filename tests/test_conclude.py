"""The end of a run: what happens to somebody who does not wait for the judgement."""

import os
import signal
from pathlib import Path
from urllib.request import urlopen

import pytest

from rig import conclude as module
from rig.config.metrics import Metrics
from rig.errors import RigError
from rig.live import view
from rig.metrics.endpoint import serving
from rig.report import judgement as judgements
from rig.report.write import PROMETHEUS_FILE, VERDICT_FILE
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


def test_what_is_served_at_the_end_is_what_was_written_and_not_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = whole(tmp_path / "run")
    run.history()
    judgement = module.conclude(run.folder)
    monkeypatch.delattr(judgements, "judged")
    with serving(Metrics(enabled=True, port=0)) as endpoint, view() as told:
        assert endpoint is not None
        module.linger(endpoint, judgement, 0, told)
        with urlopen(endpoint.url, timeout=10) as answer:
            assert answer.read() == (run.folder / PROMETHEUS_FILE).read_bytes()
