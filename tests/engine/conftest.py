"""These tests import vLLM into the tests' own process."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="package")
def path_left_as_it_was() -> Iterator[None]:
    """vLLM's imports put a folder of vendored packages on the path, where other tests would find other versions."""
    before = list(sys.path)
    yield
    sys.path[:] = before
