"""These tests import vLLM into the tests' own process."""

import sys
from collections.abc import Iterator

import pytest

from tests.engine.booted import Booted, booted


@pytest.fixture(autouse=True, scope="package")
def path_left_as_it_was() -> Iterator[None]:
    """vLLM's imports put a folder of vendored packages on the path, where other tests would find other versions."""
    before = list(sys.path)
    yield
    sys.path[:] = before


@pytest.fixture(scope="session")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Booted]:
    """The real pipeline, booted at the first test that asks for it; for tests that leave it as they found it."""
    with booted(tmp_path_factory.mktemp("pipeline")) as server:
        yield server
