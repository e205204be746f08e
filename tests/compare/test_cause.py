"""The cause of a death in the same few words for every run with the same fault."""

from pathlib import Path

import pytest

from rig.compare.cause import cause_of
from rig.events.types import ProcessDied
from tests.test_last_words import TRACEBACK

DEAD_AT_SECOND_HAND = [
    '  File "/x/client.py", line 3, in get_output',
    "vllm.v1.engine.exceptions.EngineDeadError: dead",
]


def death(**changes: object) -> ProcessDied:
    fields: dict[str, object] = {
        "seq": 0,
        "t_ns": 0,
        "pid": 7,
        "stage": "thinker",
        "title": "",
        "exit_status": None,
        "signal": "SIGKILL",
        "expected": False,
        "last_lines": [],
    }
    return ProcessDied(**(fields | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["'chatcmpl-12345'", "'other-9'"])
def test_it_is_the_exception_and_its_function_whatever_the_request(name: str) -> None:
    lines = [*TRACEBACK[:-1], f"ERROR 11-30 12:00:00 [core.py:98] KeyError: {name}"]
    assert cause_of([death(last_lines=lines)], Path("nowhere")) == "thinker: KeyError in _update_after_schedule"


def test_an_engine_is_the_cause_when_it_dies_together_with_the_api_server() -> None:
    api = death(stage="api_server", last_lines=['  File "/x/o.py", line 1, in run', "RuntimeError: it died"])
    assert cause_of([api, death(last_lines=TRACEBACK)], Path("nowhere")).startswith("thinker: KeyError")
    assert cause_of([api], Path("nowhere")) == "api_server: RuntimeError in run"


def test_an_exception_told_at_second_hand_is_not_the_cause() -> None:
    first, second = death(stage="api_server", last_lines=DEAD_AT_SECOND_HAND), death(last_lines=TRACEBACK)
    assert cause_of([first, second], Path("nowhere")) == "thinker: KeyError in _update_after_schedule"


def test_a_process_whose_last_lines_do_not_tell_has_a_log(tmp_path: Path) -> None:
    (tmp_path / "StageEngineCoreProc_stage0_x-7.log").write_text("\n".join([*TRACEBACK, *["chatter"] * 50]))
    (tmp_path / "Other-8.log").write_text("\n".join(TRACEBACK))
    assert cause_of([death(last_lines=["chatter"])], tmp_path) == "thinker: KeyError in _update_after_schedule"
    assert cause_of([death(pid=9)], tmp_path) == "thinker: killed by SIGKILL"


def test_without_an_exception_it_is_how_the_first_process_ended() -> None:
    assert cause_of([death()], Path("nowhere")) == "thinker: killed by SIGKILL"
    assert cause_of([death(signal=None, exit_status=3)], Path("nowhere")) == "thinker: exited with status 3"
    assert cause_of([death(signal=None)], Path("nowhere")) == "thinker: died"


def test_without_a_death_there_is_none() -> None:
    assert cause_of([], Path("nowhere")) == ""
