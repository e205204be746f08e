"""The golden server and the real pipeline say the same to the same recorded callers (tests/golden/drift).

Where they differ, the golden server is wrong and has to follow: it proves checks for the real one. What is compared and
what is not stands in docs/golden.md. With RIG_RECORD_CALLERS=1 tests/golden/test_drift.py gets what the real one says.
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine.booted import Booted, has_engine
from tests.golden.drift import recorded
from tests.golden.drift.beside import golden_beside
from tests.golden.drift.player import Player, callers
from tests.golden.drift.shape import differences, in_vain, over_early, shapes
from tests.golden.phone import Serving

pytestmark = [
    pytest.mark.engine,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not has_engine(), reason="needs the engine-cpu extra: make setup"),
]

TRIES = 5
"""The model decides how long a reply is, and some are over before the caller acts: then the caller calls again."""


@pytest.fixture(scope="module")
def golden(pipeline: Booted, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """The golden server with the limits of the real one."""
    with golden_beside(tmp_path_factory.mktemp("golden"), pipeline.config.duplex_session) as server:
        yield server


@pytest.fixture(scope="module")
def told() -> Iterator[dict[str, list[tuple[str, Any]]]]:
    """What the real server said to each caller; written to the recording where that is asked for."""
    found: dict[str, list[tuple[str, Any]]] = {}
    yield found
    if os.environ.get("RIG_RECORD_CALLERS") == "1":
        recorded.save({**recorded.load(), **found})


@pytest.mark.parametrize("caller", callers())
def test_both_servers_say_the_same_to_a_recorded_caller(
    caller: str, pipeline: Booted, golden: Serving, told: dict[str, list[tuple[str, Any]]]
) -> None:
    steps = callers()[caller]
    golden_says = shapes(Player(golden.url, "golden").play(steps))
    assert in_vain(golden_says) == [], "the golden server did not go the caller's way"
    for _ in range(TRIES):
        real = shapes(Player(pipeline.url, pipeline.config.served_model_name).play(steps))
        assert in_vain(real) == [], "the real server did not go the caller's way"
        if not over_early(golden_says, real):
            break
    else:
        pytest.fail(f"in {TRIES} calls a reply was over before the caller acted")
    told[caller] = real
    assert differences(golden_says, real) == []
