"""The step after so many aborts does not return, on every scheduler; the one before does."""

import threading
from collections.abc import Iterator

import pytest

pytest.importorskip("vllm_omni")

from rig.engine.bugs import step_never_returns
from rig.engine.patches.registry import patched
from rig.engine.repro.bench import Bench, Kind, Setup
from tests.golden.phone import wait_for

pytestmark = pytest.mark.timeout(300)  # the first one imports vLLM

BUG = ["step_never_returns"]
OMNI = [kind for kind in Kind if kind.is_omni]


@pytest.fixture(autouse=True)
def released() -> Iterator[None]:
    step_never_returns.released.clear()
    yield
    step_never_returns.released.clear()


def hang_up(bench: Bench, times: int) -> None:
    for number in range(times):
        bench.add(f"gone-{number}", max_tokens=8)
        bench.abort(f"gone-{number}")


@pytest.mark.parametrize("kind", OMNI)
def test_the_step_after_the_last_abort_hangs_until_it_is_let_go(kind: Kind) -> None:
    with patched([], BUG):
        bench = Bench(Setup(kind))
        hang_up(bench, step_never_returns.ABORTS)
        before = step_never_returns.teller.count
        step = threading.Thread(target=bench.step, daemon=True)
        step.start()
        try:
            wait_for(lambda: step_never_returns.teller.count == before + 1)
            assert step.is_alive()
        finally:
            step_never_returns.released.set()
            step.join()


@pytest.mark.parametrize("kind", OMNI)
def test_fewer_aborts_and_polite_callers_hang_nothing(kind: Kind) -> None:
    with patched([], BUG):
        bench = Bench(Setup(kind))
        hang_up(bench, step_never_returns.ABORTS - 1)
        bench.add("polite")
        assert bench.wrongs() == []


@pytest.mark.parametrize("kind", OMNI)
def test_the_released_engine_goes_on(kind: Kind) -> None:
    bench = Bench(Setup(kind))
    hang_up(bench, step_never_returns.ABORTS)
    bench.add("polite")
    assert bench.wrongs() == []
