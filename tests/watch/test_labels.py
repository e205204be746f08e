"""A process is labelled by what vLLM calls it and by whose child it is."""

import pytest

from rig.events.types import HELPER, STARTING
from rig.watch.labels import label, label_of_log

API_TITLE = "/venv/bin/python -m vllm_omni.entrypoints.cli.main serve /model --omni"
SPAWN_TITLE = "/venv/bin/python -c from multiprocessing.spawn import spawn_main; spawn_main(5) --multiprocessing-fork"


@pytest.mark.parametrize(
    ("title", "parent", "expected"),
    [
        ("VLLM::StageEngineCoreProc_stage0_replica0_DP0", "api_server", "thinker"),
        ("VLLM::StageEngineCoreProc_stage1_replica0_DP0", "api_server", "talker"),
        ("VLLM::StageEngineCoreProc_stage2_replica1_DP0", "api_server", "code2wav"),
        ("VLLM::StageEngineCoreProc_stage7_replica0_DP0", "api_server", "stage7"),
        ("VLLM::Worker", "thinker", "thinker/worker"),
        ("VLLM::Worker_TP1", "talker", "talker/worker"),
        ("VLLM::DPCoordinator", "api_server", "dpcoordinator"),
        ("python -c from multiprocessing.resource_tracker import main;main(18)", "api_server", HELPER),
        ("/sbin/ldconfig -p", "thinker", HELPER),
        (SPAWN_TITLE, "api_server", STARTING),
        (API_TITLE, "api_server", HELPER),
        ("", "api_server", HELPER),
    ],
)
def test_a_child_of_the_server_has_a_label(title: str, parent: str, expected: str) -> None:
    assert label(title, parent, API_TITLE) == expected


def test_a_worker_that_still_carries_the_name_of_its_stage_is_not_the_stage() -> None:
    title = "VLLM::StageEngineCoreProc_stage0_replica0_DP0"
    assert label(title, "thinker", title) == HELPER


@pytest.mark.parametrize(
    ("name", "expected"),
    [("StageEngineCoreProc_stage1_replica0", "talker"), ("APIServer", "api_server"), ("Worker", "worker")],
)
def test_a_log_line_of_an_unknown_process_is_labelled_by_its_prefix(name: str, expected: str) -> None:
    assert label_of_log(name) == expected
