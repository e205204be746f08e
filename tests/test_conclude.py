"""The end of a run: what happens to somebody who does not wait for the judgement."""

import os
import signal
from pathlib import Path

import pytest

from rig import conclude as module
from rig.errors import RigError


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
