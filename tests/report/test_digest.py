"""A digest holds what comparing and gating need of a run, and nothing that cannot be written to a file."""

from pathlib import Path

import msgspec

from rig.events import types as ev
from rig.report.digest import Digest, digest_of
from rig.report.judgement import judge_folder
from tests.builders import EXTERNAL_YAML, Run
from tests.report.runs import whole


def digest(run: Run) -> Digest:
    run.history()
    return digest_of(judge_folder(run.folder))


def test_a_whole_run_has_its_verdict_its_counts_and_its_figures(tmp_path: Path) -> None:
    found = digest(whole(tmp_path / "run"))
    assert (found.verdict, found.deaths, found.turns, found.turns_lost) == ("pass", 0, {"done": 1}, 0)
    assert {measured.name for measured in found.measures} >= {"connect", "first_audio", "send_slip"}
    assert found.run == "run"


def test_unexpected_ends_of_processes_are_deaths_and_ordered_ones_are_not(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    run.dies(7.0)
    run.dies(27.5, pid=101, expected=True)
    assert digest(run).deaths == 1


def test_the_end_of_a_helper_is_no_death(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    run.dies(7.0, pid=300, stage="helper", exit_status=0, signal=None)
    assert digest(run).deaths == 0


def test_where_no_process_was_watched_the_number_of_deaths_is_not_known(tmp_path: Path) -> None:
    assert digest(Run(tmp_path / "run", pipeline=EXTERNAL_YAML)).deaths is None


def test_turns_without_a_whole_reply_are_lost_and_those_that_callers_left_are_not(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    for number, outcome in enumerate(ev.Outcome):
        run.turn_ended(5.6 + number / 100, outcome, turn=number + 1)
    found = digest(run)
    assert found.turns_lost == 3
    assert found.turns_ended == len(ev.Outcome)  # with the turn that was there, without the unfinished one


def test_a_digest_survives_a_file(tmp_path: Path) -> None:
    found = digest(whole(tmp_path / "run"))
    assert msgspec.json.decode(msgspec.json.encode(found), type=Digest) == found
