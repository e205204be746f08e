"""An abort of a request that waits for a chunk ends the stage; with the guard alone it costs a slot."""

import gc

import pytest

pytest.importorskip("vllm_omni")

from rig.engine.bugs import zombie_in_running
from rig.engine.bugs.leftovers import all_left, leave
from rig.engine.patches.registry import patched
from rig.engine.repro.bench import Bench, Kind, Setup
from rig.engine.repro.scenario import Raised, raised
from tests.engine.bugs.stages import abort_while_running, on, parked, receiver

pytestmark = pytest.mark.timeout(300)  # the first one imports vLLM

BUG = ["zombie_in_running"]
FED = [Kind.OMNI_GENERATION, Kind.OMNI_AR, Kind.OMNI_AR_ASYNC]


def abort_while_parked(bench: Bench) -> None:
    parked(bench, "gone")
    bench.abort("gone")
    bench.step()


def two_aborts_while_parked(bench: Bench) -> None:
    for name in ("gone", "away"):
        parked(bench, name)
        bench.abort(name)
        bench.step()


@pytest.mark.parametrize("kind", FED)
def test_the_stage_dies_of_the_published_exception(kind: Kind) -> None:
    with patched([], BUG), pytest.raises(KeyError) as caught:
        on(receiver(kind), abort_while_parked)
    assert raised(caught.value) == Raised("KeyError", "'gone'", "_update_after_schedule")


@pytest.mark.parametrize("kind", FED)
def test_the_released_engine_lives(kind: Kind) -> None:
    def play(bench: Bench) -> None:
        two_aborts_while_parked(bench)
        assert bench.books().empty

    on(receiver(kind), play)


@pytest.mark.parametrize("kind", [Kind.OMNI_GENERATION, Kind.OMNI_AR])
def test_with_the_guard_alone_a_second_abort_gives_no_slot_back(kind: Kind) -> None:
    def play(bench: Bench) -> None:
        two_aborts_while_parked(bench)
        bench.abort("gone")
        bench.abort("away")
        bench.step()
        bench.add("polite", resumable=True)
        bench.step()
        assert bench.books().running == ["gone", "away"]

    with patched(["scheduler_guard_only"], BUG):
        on(receiver(kind), play)


@pytest.mark.parametrize("kind", [Kind.OMNI_GENERATION, Kind.OMNI_AR])
def test_with_the_guard_alone_each_abort_costs_a_slot(kind: Kind) -> None:
    def play(bench: Bench) -> None:
        two_aborts_while_parked(bench)
        assert bench.books().running == ["gone", "away"]
        assert len(bench.books().running) == bench.setup.max_num_seqs

    with patched(["scheduler_guard_only"], BUG):
        on(receiver(kind), play)


def test_with_the_guard_alone_the_asynchronous_scheduler_still_dies() -> None:
    with patched(["scheduler_guard_only"], BUG), pytest.raises(KeyError):
        on(receiver(Kind.OMNI_AR_ASYNC), abort_while_parked)


@pytest.mark.parametrize("kind", FED)
def test_with_the_sweep_every_zombie_is_cleared_away(kind: Kind) -> None:
    def play(bench: Bench) -> None:
        before = zombie_in_running.teller.count
        two_aborts_while_parked(bench)
        assert zombie_in_running.teller.count == before + 2
        assert bench.books().empty

    with patched(["scheduler_zombies"], BUG):
        on(receiver(kind), play)


@pytest.mark.parametrize("kind", FED)
def test_a_stage_that_is_not_fed_by_chunks_is_left_alone(kind: Kind) -> None:
    with patched([], BUG):
        on(Setup(kind), abort_while_running)


def test_what_nobody_holds_any_more_is_not_kept_as_left_over() -> None:
    class Anything:
        pass

    scheduler, request = Anything(), Anything()
    leave(scheduler, request)
    assert all_left(scheduler) == [request]
    del request
    gc.collect()
    assert all_left(scheduler) == []
