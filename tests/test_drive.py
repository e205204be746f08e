"""How callers are started and what their end means. That they call is shown in tests/test_elsewhere.py and others."""

from pathlib import Path

import pytest

from rig.drive import Callers
from rig.plan import make_plan
from tests.builders import run_config


def callers(folder: Path, workers: int) -> Callers:
    """Callers that are not started."""
    config = run_config(folder)
    plan = make_plan(config, folder / "run.yaml")
    (folder / "logs").mkdir(exist_ok=True)
    return Callers(
        config,
        folder,
        "ws://127.0.0.1:1",
        "model",
        plan,
        plan_file=folder / "plan.jsonl",
        length_s=1.0,
        journals=folder,
        bus={},
        workers=workers,
    )


def test_without_workers_elsewhere_a_failure_is_locusts_own(tmp_path: Path) -> None:
    assert callers(tmp_path, 0).failure(1) == "Locust ended with status 1; see logs/"


@pytest.mark.parametrize(
    ("begun", "why"),
    [
        (False, "not all of 3 workers connected within 30 s (Locust status 1)"),
        (True, "Locust ended with status 1; see logs/"),
    ],
)
def test_a_master_whose_load_never_began_lacked_workers(tmp_path: Path, begun: bool, why: str) -> None:
    some = callers(tmp_path, 3)
    if begun:
        (tmp_path / "logs" / "locust.begun").touch()
    assert some.failure(1) == why
