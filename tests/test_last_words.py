"""What a process died of, read from its last lines."""

from rig.last_words import died_of, exception_in

TRACEBACK = [
    "ERROR 11-30 12:00:00 [core.py:98] Traceback (most recent call last):",
    'ERROR 11-30 12:00:00 [core.py:98]   File "/x/vllm/v1/engine/core.py", line 10, in run_busy_loop',
    "ERROR 11-30 12:00:00 [core.py:98]     self.step()",
    'ERROR 11-30 12:00:00 [core.py:98]   File "/x/vllm/v1/core/sched/scheduler.py", line 99, in _update_after_schedule',
    "ERROR 11-30 12:00:00 [core.py:98]     request = self.requests[req_id]",
    "ERROR 11-30 12:00:00 [core.py:98] KeyError: 'chatcmpl-12345'",
]


def test_an_earlier_exception_that_was_survived_is_not_the_cause() -> None:
    survived = ['  File "/x/serving.py", line 3, in read', "ValueError: a caller sent nonsense", "INFO: goes on"]
    later = ['  File "/x/core.py", line 3, in shut_down', "RuntimeError: while it ended"]
    announced = ["ERROR EngineCore encountered a fatal error."]
    assert exception_in([*survived, *TRACEBACK]) == "KeyError in _update_after_schedule"
    assert exception_in([*survived, *announced, *TRACEBACK, *later]) == "KeyError in _update_after_schedule"


def test_a_line_that_only_looks_like_an_exception_is_none() -> None:
    assert exception_in(["KeyError: 'told without a traceback'"]) == ""
    assert exception_in(["NotAnException", "INFO: all is well"]) == ""


def test_an_exception_is_the_last_word_only_at_the_end() -> None:
    assert died_of([*TRACEBACK, ""]) == "KeyError in _update_after_schedule"
    assert died_of([*TRACEBACK, "INFO: goes on"]) == ""
    assert died_of(["", ""]) == ""
