"""Gathering: one pass over the calls gives counts and waits by time, and what came of each behaviour."""

from pathlib import Path

import pytest

from rig.events import types as ev
from rig.fold import result_of
from rig.report.html import gather
from rig.report.html.gather import Gather, Gathered
from tests.builders import Run, ns
from tests.report.html.runs import set_clocks, sound, with_stuck_turn


def gathered(run: Run) -> Gathered:
    run.history()
    set_clocks(run.folder)
    return result_of(Gather, run.history(closed=False))


def at(found: Gathered, name: str) -> dict[float, int]:
    """Seconds to count, where there is one."""
    return {place * found.width_s: count for place, count in enumerate(found.counts[name]) if count}


def test_each_act_is_counted_in_its_own_row_when_it_happened(tmp_path: Path) -> None:
    found = gathered(sound(tmp_path / "run"))
    assert found.width_s == 0.25
    assert at(found, gather.BARGES_IN) == {7.0: 1}
    assert at(found, gather.HANGS_UP) == {9.0: 1}
    assert at(found, gather.COMES_BACK) == {10.0: 1}
    assert at(found, gather.SPEAKS) == {5.0: 1, 12.0: 1}
    assert {name for name in gather.SERIES if not any(found.counts[name])} == {"refused", "stuck", "lost"}


def test_stuck_turns_and_refusals_are_counted(tmp_path: Path) -> None:
    run = with_stuck_turn(tmp_path / "run")
    run.refuse(12.0, "c000-0000", connection=2)
    found = gathered(run)
    assert at(found, gather.STUCK) == {21.0: 1}
    assert at(found, gather.REFUSED) == {12.0: 1}
    assert [story.call for story in found.stories] == ["c001-0003"]
    assert found.troubles == 1


def test_calls_in_progress_go_up_and_down(tmp_path: Path) -> None:
    found = gathered(with_stuck_turn(tmp_path / "run"))
    in_progress = {at_s: found.running[int(at_s / found.width_s)] for at_s in (1.5, 3.0, 12.0, 17.0, 22.0)}
    assert in_progress == {1.5: 0, 3.0: 1, 12.0: 2, 17.0: 1, 22.0: 0}


def test_first_audio_counts_from_the_planned_end_of_speech_and_stands_where_it_was_heard(tmp_path: Path) -> None:
    found = gathered(sound(tmp_path / "run"))
    heard = {place: value for place, value in enumerate(found.first_audio_p50_ms) if value is not None}
    assert heard == {1: pytest.approx(1_500, rel=0.02), 3: pytest.approx(2_000, rel=0.02)}
    assert found.wait_width_s == 4
    assert found.answered[:4] == [0, 1, 0, 1]


def test_audio_before_the_end_of_speech_is_no_wait(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(1.0)
    run.spoke(2.0, 5.0)
    run.audio(4.0)
    assert sum(gathered(run).answered) == 0


def test_behaviours_are_counted_apart(tmp_path: Path) -> None:
    run = sound(tmp_path / "run")
    other = {"caller": 1, "behaviour": "hang_up", "planned_ns": 0}
    run.call(5.0, ev.CallStarted, "c001-0000", **other)
    run.refuse(6.0, "c001-0000")
    run.call(7.0, ev.CallEnded, "c001-0000", outcome=ev.Outcome.REFUSED, detail="")
    found = gathered(run).behaviours
    assert list(found) == ["hang_up", "polite"]
    assert (found["hang_up"].calls, found["hang_up"].refused, found["hang_up"].outcomes["refused"]) == (1, 1, 1)
    assert found["polite"].turns == {"cut": 1, "done": 1}
    assert found["polite"].acts["hang_up_rst"] == 1


def test_the_bins_reach_to_the_end_of_the_run(tmp_path: Path) -> None:
    run = sound(tmp_path / "run")
    run.stop(100.0)
    found = gathered(run)
    assert found.bins == len(found.running) == len(found.counts[gather.SPEAKS]) == 401


def test_hang_ups_that_may_explain_an_error_are_kept_only_when_there_is_one(tmp_path: Path) -> None:
    def run(name: str) -> Run:
        made = Run(tmp_path / name)
        made.start_call(1.0)
        made.act(2.0, ev.Act.HANG_UP_RST)
        return made

    quiet, loud = run("quiet"), run("loud")
    line = {"signature": "read_after_disconnect", "stage": "api_server", "line": "x", "expected": False}
    loud.rig(3.0, ev.LogSignature, **line)
    assert gathered(quiet).early_hang_ups_ns == []
    assert gathered(loud).early_hang_ups_ns == [ns(2.0)]
