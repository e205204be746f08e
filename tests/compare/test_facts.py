"""What a run folder says about its side."""

from pathlib import Path

import pytest

from rig.compare.facts import Facts
from rig.events import types as ev
from rig.report import judge_folder
from rig.report.ab import facts_from
from rig.slots import PROBE_FILE, make_probes
from rig.verdict import Verdict
from tests.builders import Run
from tests.report.runs import whole


def facts(run: Run) -> Facts:
    run.history()
    return facts_from(judge_folder(run.folder))


def test_a_run_in_which_all_went_well(tmp_path: Path) -> None:
    found = facts(whole(tmp_path / "run"))
    assert (found.deaths, found.first_death_s, found.cause) == (0, None, "")
    assert (found.turns, found.answered_turns, found.lost_turns) == (1, 1, 0)
    assert (found.lost_slots, found.end) == (None, ev.EndReason.PLANNED)
    assert found.waits["first_audio"].p50 == pytest.approx(1_000.0, rel=0.01)
    assert found.believed
    assert found.timed


def test_a_turn_that_the_end_of_the_run_cut_is_not_among_those_that_could_be_lost(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    run.turn_ended(27.0, ev.Outcome.UNFINISHED, turn=1)
    run.turn_ended(26.0, ev.Outcome.NO_END, turn=2)
    found = facts(run)
    assert (found.turns, found.lost_turns) == (2, 1)


def test_a_death_is_timed_from_the_start_of_the_load(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ready(3.0)
    run.start_call(4.0)
    run.turn_ended(10.0, ev.Outcome.LOST)
    run.dies(10.5, stage="thinker", pid=101)
    run.dies(10.6)
    run.rig(11.0, ev.ProcessDied, **dying("helper", expected=False), **died_of(900))
    run.rig(12.0, ev.ProcessDied, **dying("api_server", expected=True), **died_of(100))
    run.stop(13.0, ev.EndReason.ENGINE_LOST, "thinker died")
    found = facts(run)
    assert found.deaths == 2
    assert found.first_death_s == pytest.approx(7.5)
    assert found.cause == "thinker: killed by SIGKILL"
    assert (found.turns, found.lost_turns) == (1, 1)
    assert "liveness" in found.failed
    assert found.believed
    assert not found.timed


def dying(stage: str, *, expected: bool) -> dict[str, object]:
    return {"stage": stage, "title": stage, "exit_status": 0, "signal": None, "expected": expected, "last_lines": []}


def died_of(pid: int) -> dict[str, int]:
    return {"pid": pid}


def test_a_death_before_the_load_has_no_time(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.dies(1.0)
    run.stop(2.0, ev.EndReason.BOOT_FAILED, "it died")
    found = facts(run)
    assert (found.deaths, found.first_death_s) == (1, None)
    assert found.believed


def test_a_server_that_never_came_up_and_did_not_die_says_nothing(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.stop(2.0, ev.EndReason.BOOT_FAILED, "not ready within 60 s")
    assert not facts(run).believed


def test_lost_slots_are_the_most_that_one_probe_found_missing(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    history = run.history()
    probes = make_probes(history.config, history.limits)
    assert probes is not None
    (run.folder / PROBE_FILE).write_bytes(probes.encode())
    first, second = (call.call for call in probes.calls)
    again = Run(tmp_path / "again")
    (again.folder / PROBE_FILE).write_bytes(probes.encode())
    again.ready(1.0)
    for name, taken in ((first, True), (second, False)):
        again.start_call(20.0, name, behaviour="slots")
        again.connect(20.0, name, ready_s=20.5 if taken else None)
        if taken:
            again.audio(21.0, name)
        else:
            again.refuse(20.5, name)
        again.close(22.0, name)
        again.call(22.0, ev.CallEnded, name, outcome=ev.Outcome.DONE, detail="")
    again.watch(23.0, 43.0)
    again.stop(44.0)
    found = facts(again)
    assert found.lost_slots == 1
    assert found.verdict is Verdict.FAIL
    # Nobody made the probe that was planned: how many slots are left is not known.
    assert facts_from(judge_folder(run.folder)).lost_slots is None
