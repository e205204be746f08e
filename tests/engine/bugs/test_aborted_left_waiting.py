"""An abort of a session's request that waits for input ends the stage with vLLM's own words."""

import pytest

pytest.importorskip("vllm_omni")

from rig.engine.patches.registry import patched
from rig.engine.repro.bench import Bench, Kind, Setup
from rig.engine.repro.scenario import Raised, raised
from tests.engine.bugs.stages import abort_while_running, on

pytestmark = pytest.mark.timeout(300)  # the first one imports vLLM

BUG = ["aborted_left_waiting"]
AR = [Kind.OMNI_AR, Kind.OMNI_AR_ASYNC]


def abort_between_two_inputs(bench: Bench) -> None:
    bench.add("gone", max_tokens=1, resumable=True)
    bench.add("stays", max_tokens=8)
    bench.step()
    bench.step()
    assert bench.books().skipped_waiting == ["gone"]
    bench.abort("gone")
    bench.step()


@pytest.mark.parametrize("kind", AR)
def test_the_stage_dies_of_the_published_exception(kind: Kind) -> None:
    bench = Bench(Setup(kind))
    with patched([], BUG), pytest.raises(RuntimeError) as caught:
        abort_between_two_inputs(bench)
    assert raised(caught.value) == Raised("RuntimeError", "Invalid request status: FINISHED_ABORTED", "schedule")


@pytest.mark.parametrize("kind", AR)
def test_the_released_engine_lives(kind: Kind) -> None:
    bench = Bench(Setup(kind))
    abort_between_two_inputs(bench)
    assert bench.wrongs() == []


@pytest.mark.parametrize("kind", AR)
def test_the_sweep_of_the_patch_clears_it_away(kind: Kind) -> None:
    with patched(["scheduler_zombies"], BUG):
        bench = Bench(Setup(kind))
        abort_between_two_inputs(bench)
        assert bench.wrongs() == []


@pytest.mark.parametrize("kind", AR)
def test_what_is_aborted_while_it_runs_leaves_nothing(kind: Kind) -> None:
    with patched([], BUG):
        on(Setup(kind), abort_while_running)
