"""Stages: when each process lived, was paused, how it ended and what it weighed."""

from pathlib import Path

import pytest

from rig.clock import NS_PER_S
from rig.events import types as ev
from rig.report.html.bins import Axis
from rig.report.html.stages import MIB, lives_of, memory_by_stage, signatures_by_stage
from tests.builders import Run


def test_a_process_lives_from_when_it_was_first_seen_also_before_it_had_a_title(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    seen = {"pid": 7, "ppid": 1, "start_ticks": 1, "title": "python"}
    run.rig(1.0, ev.ProcessSeen, **seen, stage="starting")
    run.rig(1.0, ev.ProcessSeen, **(seen | {"pid": 8}), stage="helper")
    run.rig(4.0, ev.ProcessSeen, **seen, stage="thinker")
    (life,) = lives_of(run.history())
    assert (life.stage, life.pid, life.from_s, life.to_s, life.died) == ("thinker", 7, 1.0, None, False)


@pytest.mark.parametrize(
    ("fields", "died", "how"),
    [
        ({}, True, "killed by SIGKILL"),
        ({"signal": None, "exit_status": 1}, True, "exited with status 1"),
        ({"signal": None}, True, "ended, status not known"),
        ({"expected": True, "signal": None, "exit_status": 0}, False, "exited with status 0, as asked by the rig"),
    ],
)
def test_how_a_process_ended(tmp_path: Path, fields: dict[str, object], died: bool, how: str) -> None:
    run = Run(tmp_path / "run")
    run.ready(1.0)
    run.dies(12.5, **fields)
    life = next(life for life in lives_of(run.history()) if life.stage == "talker")
    assert (life.to_s, life.died, life.how, life.last_lines) == (12.5, died, how, ("last words",))


def test_the_death_of_a_process_that_was_never_seen_is_told_and_that_of_a_helper_is_not(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.dies(3.0, pid=55)
    run.dies(4.0, pid=56, stage="helper")
    assert [(life.pid, life.died) for life in lives_of(run.history())] == [(55, True)]


def test_pauses_have_an_end_or_none(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ready(1.0)
    for at_s, pid, paused in ((5.0, 102, True), (7.5, 102, False), (9.0, 102, True), (6.0, 101, True)):
        run.rig(at_s, ev.ProcessPaused, pid=pid, stage="x", paused=paused)
    run.rig(8.0, ev.ProcessPaused, pid=101, stage="x", paused=False)
    lives = {life.pid: life for life in lives_of(run.history())}
    assert lives[102].pauses == [(5.0, 7.5), (9.0, None)]
    assert lives[102].paused_s is None
    assert lives[101].paused_s == 2.0
    assert lives[103].paused_s == 0


def test_memory_is_told_at_first_at_most_and_at_last(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ready(1.0)
    for at_s, size in ((2.0, 5), (3.0, 9), (4.0, 7)):
        run.rig(at_s, ev.MemorySampled, pid=102, stage="talker", rss_bytes=size)
    lives = {life.pid: life for life in lives_of(run.history())}
    assert (lives[102].first_rss, lives[102].peak_rss, lives[102].last_rss) == (5, 9, 7)
    assert lives[101].peak_rss is None


def test_memory_by_time_belongs_to_the_stage_that_a_process_became(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.rig(0.5, ev.MemorySampled, pid=101, stage="starting", rss_bytes=2 * MIB)
    run.ready(1.0)
    run.rig(2.5, ev.MemorySampled, pid=101, stage="thinker", rss_bytes=3 * MIB)
    history = run.history()
    peaks = memory_by_stage(history, Axis(history.origin_ns, NS_PER_S))
    assert {stage: each.values(3) for stage, each in peaks.items()} == {"thinker": [2.0, None, 3.0]}


def test_fault_lines_are_counted_with_those_left_out_and_without_those_of_the_stop(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    line = {"signature": "traceback", "stage": "talker", "line": "x"}
    run.rig(2.0, ev.LogSignature, **line, expected=False, left_out=4)
    run.rig(3.0, ev.LogSignature, **line, expected=True)
    assert signatures_by_stage(run.history()) == {"talker": {"traceback": 5}}
