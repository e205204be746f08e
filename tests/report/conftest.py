"""What the tests of reports share."""

import pytest

from tests.report.golden_runs import GoldenRuns, make


@pytest.fixture(scope="session")
def golden_runs(tmp_path_factory: pytest.TempPathFactory) -> GoldenRuns:
    """Three real runs on the golden server; nothing may be written into their folders but what can be made anew."""
    return make(tmp_path_factory.mktemp("golden"))
