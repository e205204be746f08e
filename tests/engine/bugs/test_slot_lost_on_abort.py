"""Each abort of a running request costs a slot, without an exception; after the last slot nobody is admitted."""

import pytest

pytest.importorskip("vllm_omni")

from rig.engine.patches.registry import patched
from rig.engine.repro.bench import Bench, Kind, Setup

pytestmark = pytest.mark.timeout(300)  # the first one imports vLLM

BUG = ["slot_lost_on_abort"]
AR = [Kind.OMNI_AR, Kind.OMNI_AR_ASYNC]


def two_hang_ups_on_two_slots(kind: Kind) -> Bench:
    bench = Bench(Setup(kind, max_num_seqs=2))
    for name in ("gone", "away"):
        bench.add(name, max_tokens=8)
        bench.step()
        bench.abort(name)
        bench.step()
    bench.add("polite")
    return bench


@pytest.mark.parametrize("kind", AR)
def test_after_the_last_slot_a_polite_caller_is_never_told_anything(kind: Kind) -> None:
    with patched([], BUG):
        bench = two_hang_ups_on_two_slots(kind)
        wrongs = bench.wrongs()
    assert "the client of polite was never told that its request ended" in wrongs
    assert bench.clients["polite"].tokens == []
    assert bench.books().running == ["gone", "away"]


@pytest.mark.parametrize("kind", AR)
def test_the_released_engine_gives_the_slots_back(kind: Kind) -> None:
    assert two_hang_ups_on_two_slots(kind).wrongs() == []


@pytest.mark.parametrize("kind", AR)
def test_the_sweep_of_the_patch_gives_them_back_too(kind: Kind) -> None:
    with patched(["scheduler_zombies"], BUG):
        assert two_hang_ups_on_two_slots(kind).wrongs() == []
