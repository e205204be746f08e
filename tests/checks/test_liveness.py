"""Liveness: a death fails and is told with process, signal, time, last words and what the callers had done."""

from pathlib import Path

import pytest

from rig.checks.liveness import Liveness
from rig.events import types as ev
from rig.fold import result_of
from rig.verdict import Verdict
from tests.builders import EXTERNAL_YAML, Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run(tmp_path / "run")
    run.ready(1.0)
    return run


def test_a_run_without_a_death_passes(run: Run) -> None:
    run.stop()
    result = result_of(Liveness, run.history())
    assert (result.verdict, result.summary) == (Verdict.PASS, "no process of the server died")


def test_a_death_fails_and_names_process_signal_and_time(run: Run) -> None:
    run.dies(12.25)
    run.stop()
    result = result_of(Liveness, run.history())
    assert result.verdict is Verdict.FAIL
    assert result.summary == "talker (pid 102) was killed by SIGKILL at 12.25 s (load)"
    assert result.findings[0].at_s == 12.25


@pytest.mark.parametrize(
    ("status", "signal", "how"),
    [
        (None, "SIGSEGV", "was killed by SIGSEGV"),
        (0, None, "exited with status 0"),
        (1, None, "exited with status 1"),
        (None, None, "died (status not known)"),
    ],
)
def test_a_death_tells_how_as_far_as_it_is_known(run: Run, status: int | None, signal: str | None, how: str) -> None:
    run.dies(12.0, exit_status=status, signal=signal)
    assert f"talker (pid 102) {how} at" in result_of(Liveness, run.history()).summary


def test_a_death_tells_last_words_and_what_callers_did_in_the_last_10_s(run: Run) -> None:
    run.start_call(2.0)
    run.act(2.0, ev.Act.BARGE_IN_CANCEL)  # 10.5 s before: too long ago
    run.act(3.0, ev.Act.HANG_UP_RST)  # 9.5 s before
    run.dies(12.5, last_lines=["first", "  KeyError: 'req-7'\n"])
    run.act(13.0, ev.Act.SAY_GOODBYE)  # after
    text = result_of(Liveness, run.history()).findings[0].text
    assert "callers in the last 10 s: c000-0000 hang_up_rst 9.50 s before; last words: KeyError: 'req-7'" in text
    assert "cancel" not in text
    assert "goodbye" not in text


def test_an_exception_that_was_the_last_word_stands_in_the_first_line(run: Run) -> None:
    frame = '  File "/x/scheduler.py", line 99, in _update_after_schedule'
    run.dies(12.5, last_lines=[frame, "KeyError: 'req-7'"])
    assert result_of(Liveness, run.history()).summary.endswith("after KeyError in _update_after_schedule")


def test_a_death_without_a_word_is_told_with_the_first_fault_in_the_log_before_it(run: Run) -> None:
    """As when the orchestrator has failed, and the API server kills its stages."""
    run.rig(2.0, ev.LogSignature, stage="api_server", signature="traceback", line="OSError: long ago", expected=False)
    for at_s, line in ((7.5, "ValueError: no latents"), (8.0, "RuntimeError: then this")):
        run.rig(at_s, ev.LogSignature, stage="api_server", signature="traceback", line=line, expected=False)
    run.dies(12.5, last_lines=["all is well"])
    summary = result_of(Liveness, run.history()).summary
    assert summary.endswith("(load), 5.0 s after api_server logged traceback: ValueError: no latents")


def test_a_death_with_idle_callers_says_so(run: Run) -> None:
    run.dies(12.5, last_lines=[])
    assert result_of(Liveness, run.history()).findings[0].text.endswith("(load); no caller acted in the last 10 s")


def test_several_deaths_are_told_with_the_first_in_front(run: Run) -> None:
    run.dies(14.0, pid=103, stage="code2wav")
    run.dies(12.0)
    result = result_of(Liveness, run.history())
    assert result.summary == "talker (pid 102) was killed by SIGKILL at 12.00 s (load), then 1 more"
    assert len(result.findings) == 2


def test_a_death_before_the_server_was_ready_fails(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.dies(0.5)
    assert result_of(Liveness, run.history()).summary.endswith("at 0.50 s (boot)")


def test_a_death_that_the_rig_asked_for_is_none(run: Run) -> None:
    run.dies(99.0, expected=True)
    run.stop()
    assert result_of(Liveness, run.history()).verdict is Verdict.PASS


def test_the_end_of_a_helper_is_no_death(run: Run) -> None:
    run.dies(5.0, stage="helper", exit_status=0, signal=None)
    run.stop()
    assert result_of(Liveness, run.history()).verdict is Verdict.PASS


@pytest.mark.parametrize(("expected", "verdict"), [(False, Verdict.FAIL), (True, Verdict.PASS)])
def test_a_fatal_line_in_the_log_fails_unless_the_rig_caused_it(run: Run, expected: bool, verdict: Verdict) -> None:
    line = {"signature": "EngineDeadError", "stage": "thinker", "line": "EngineDeadError: gone"}
    run.rig(20.0, ev.LogSignature, **line, expected=expected)
    run.stop()
    result = result_of(Liveness, run.history())
    assert result.verdict is verdict
    if verdict is Verdict.FAIL:
        assert result.summary == "no process died, but the log of thinker shows EngineDeadError"
        assert result.findings[0].text == "thinker logged EngineDeadError: EngineDeadError: gone"


def test_a_server_whose_watcher_is_gone_with_it_is_unknown(run: Run) -> None:
    run.stop(30.0, ev.EndReason.ENGINE_LOST, "the host of the server at server:8098 is gone")
    result = result_of(Liveness, run.history())
    assert result.verdict is Verdict.UNKNOWN
    assert result.summary == (
        "the server was lost, and how is not known: the host of the server at server:8098 is gone"
    )


def test_a_server_that_was_never_ready_is_unknown(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.rig(60.0, ev.RunEnded, reason=ev.EndReason.BOOT_FAILED, detail="not ready within 60 s")
    result = result_of(Liveness, run.history())
    assert result.verdict is Verdict.UNKNOWN
    assert result.summary == "the server was never ready: not ready within 60 s"


def test_a_rig_that_died_before_the_server_leaves_it_unknown(run: Run) -> None:
    result = result_of(Liveness, run.history(closed=False))
    assert result.verdict is Verdict.UNKNOWN
    assert "the rig died first" in result.summary


def test_a_rig_that_failed_leaves_it_unknown(run: Run) -> None:
    run.stop(reason=ev.EndReason.RIG_ERROR, detail="OSError")
    assert result_of(Liveness, run.history()).verdict is Verdict.UNKNOWN


def test_a_server_of_which_no_process_was_seen_is_unknown(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.rig(1.0, ev.PipelineReady, boot_ns=1)
    run.stop()
    assert result_of(Liveness, run.history()).verdict is Verdict.UNKNOWN


def test_the_processes_of_an_external_server_are_not_judged(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", pipeline=EXTERNAL_YAML)
    run.rig(1.0, ev.PipelineReady, boot_ns=1)
    run.rig(9.0, ev.RunEnded, reason=ev.EndReason.PLANNED, detail="")
    result = result_of(Liveness, run.history())
    assert result.verdict is Verdict.PASS
    assert result.summary.startswith("not applicable")
