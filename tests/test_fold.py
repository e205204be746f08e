"""Folds see every call once, in one pass, and one that breaks does not hurt the others."""

import gc
from pathlib import Path

import pytest

from rig.fold import Crash, Fold, Guarded, result_of, run_folds
from rig.history import Call
from tests.builders import Run


class Names(Fold[list[str]]):
    """The calls it saw."""

    seen: list[str]

    def see(self, call: Call) -> None:
        self.seen = [*getattr(self, "seen", []), call.start.call]

    def result(self) -> list[str]:
        return sorted(self.seen)


class BreaksOnTheSecond(Names):
    def see(self, call: Call) -> None:
        super().see(call)
        if len(self.seen) == 2:
            raise ValueError("two is too many")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run(tmp_path / "run")
    for caller in range(3):
        run.start_call(2.0, f"c00{caller}-0000", caller)
    return run


def test_a_fold_sees_every_call_once(run: Run) -> None:
    assert result_of(Names, run.history()) == ["c000-0000", "c001-0000", "c002-0000"]


def test_a_fold_that_breaks_is_told_of_and_the_others_see_all(run: Run) -> None:
    history = run.history()
    broken, whole = Guarded(BreaksOnTheSecond, history), Guarded(Names, history)
    run_folds(history, [broken, whole])
    with pytest.raises(Crash, match=r"^ValueError\('two is too many'\) in see, line \d+$"):
        broken.result()
    assert len(whole.result()) == 3


def test_a_fold_of_the_load_does_not_see_the_probe_that_follows_it(run: Run) -> None:
    class NamesOfTheLoad(Names):
        load_only = True

    run.start_call(9.0, "s0000", behaviour="slots")
    history = run.history()
    of_load, of_all = Guarded(NamesOfTheLoad, history), Guarded(Names, history)
    run_folds(history, [of_load, of_all])
    assert of_load.result() == result_of(NamesOfTheLoad, history) == ["c000-0000", "c001-0000", "c002-0000"]
    assert of_all.result() == [*of_load.result(), "s0000"]


def test_alone_a_fold_shows_its_own_error(run: Run) -> None:
    with pytest.raises(ValueError, match="two is too many"):
        result_of(BreaksOnTheSecond, run.history())


def test_the_collector_runs_again_after_the_pass(run: Run) -> None:
    states: list[bool] = []

    class Looks(Fold[None]):
        def see(self, call: Call) -> None:
            states.append(gc.isenabled())

    history = run.history()
    run_folds(history, [Guarded(Looks, history)])
    assert states == [False] * 3
    assert gc.isenabled()
