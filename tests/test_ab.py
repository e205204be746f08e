"""Whole comparisons on the golden server: its faults are the bugs, and a side without them is the fix."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from rig import ab, history
from rig.ab import Wanted
from rig.compare import record as records
from rig.compare.decision import Word
from rig.compare.record import Made, Record
from rig.errors import RigError, UsageError
from rig.events import ring
from rig.events.types import PipelineKept, PipelineReady, PipelineStopped, ProcessSeen
from rig.live import Lines
from rig.pipeline import preflight, tree
from rig.pipeline.shared import STOP_PRODUCER
from rig.progress import Snapshot
from rig.prove import ThreadCallers
from rig.report import Judgement
from rig.report import judge_folder as really_judge
from rig.report.comparison import COMPARISON_FILES, content
from rig.standing import STANDING_FILE
from rig.verdict import Verdict

pytestmark = pytest.mark.timeout(300)

DIE = "fault:die:after_sessions=1,p=1"
LIMIT_S = 120

RUN: dict[str, Any] = {
    "question": "Does a comparison see the fault that one side has?",
    "pipeline": "pipeline.yaml",
    "seed": 5,
    "load": {
        "callers": 2,
        "duration_s": 1.0,
        "pause_s": {"low": 0.0, "high": 0.1},
        "think_s": {"low": 0.0, "high": 0.1},
    },
    "behaviours": {"polite": {"weight": 1, "turns": {"low": 1, "high": 1}}},
    "deadlines": {"connect_s": 5, "first_audio_s": 5, "reply_s": 5, "return_s": 5},
    "watch": {"health_interval_s": 0.5, "after_load_s": 0.5},
    "slots": {"probe": True, "margin_s": 0.2},
    "bus": {"kind": "none"},
}
PIPELINE: dict[str, Any] = {
    "question": "Does a comparison see the fault that this server has?",
    "hardware_label": "golden",
    "duplex_session": {"max_sessions": 2, "disconnect_grace_s": 0.2, "reaper_interval_s": 0.1},
    "golden": {"reply_s": 0.5, "first_audio_ms": 100, "chunk_ms": 200, "pace_ms": 200},
}


def run_file(folder: Path, **changes: Any) -> Path:
    (folder / "pipeline.yaml").write_text(yaml.safe_dump(PIPELINE))
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump(RUN | changes))
    return path


def compared(folder: Path, a: str, b: str, pairs: int, **changes: Any) -> Record:
    wanted = Wanted(run_file(folder, **changes), a, b, (), pairs, None, folder / "results")
    return ab.start(wanted, Lines(sys.stderr), ThreadCallers)


def folder_of(folder: Path, record: Record, made: Made) -> Path:
    return folder / "results" / record.id / made.folder


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ab")


@pytest.fixture(scope="module")
def four(place: Path) -> Record:
    """Four pairs: A dies in every run, B in none."""
    return compared(place, DIE, "none", 4)


def test_a_side_that_always_dies_and_one_that_never_does_is_better(four: Record) -> None:
    found = four.comparison
    assert found is not None
    assert (found.a.died.hits, found.b.died.hits) == (4, 0)
    assert found.a.causes == {"api_server: killed by SIGKILL": 4}
    assert found.decision.word is Word.BETTER, found.decision.sentence
    assert found.decision.exit_code == 0
    assert four.ended == records.AS_PLANNED


def test_both_runs_of_a_pair_make_the_same_calls_and_every_pair_others(place: Path, four: Record) -> None:
    plans = {(made.pair, made.side): (folder_of(place, four, made) / "plan.jsonl").read_bytes() for made in four.runs}
    assert all(plans[pair, "a"] == plans[pair, "b"] for pair in range(4))
    assert len(set(plans.values())) == 4
    assert [made.seed for made in four.runs] == [5, 5, 6, 6, 7, 7, 8, 8]


def test_only_a_sound_run_leaves_its_server_to_the_next_one(four: Record) -> None:
    assert [made.side for made in four.runs] == ["a", "b", "b", "a", "a", "b", "b", "a"]
    b = [made for made in four.runs if made.side == "b"]
    assert [made.reused for made in b] == [False, True, False, True]
    assert [made.reused for made in four.runs if made.side == "a"] == [False] * 4
    # The second A in a row could have used a server that was alive.
    assert four.runs[4].fresh_because == "the run before ended: engine_lost"
    assert four.runs[3].fresh_because == ""


def test_a_run_on_a_booted_server_has_its_own_watchers_journal_and_log(place: Path, four: Record) -> None:
    first, second = (folder_of(place, four, made) for made in four.runs[1:3])
    one, two = history.load(first), history.load(second)
    assert [event.earlier_runs for run in (one, two) for event in run.of(PipelineReady)] == [0, 1]
    assert (len(one.of(PipelineKept)), len(one.of(PipelineStopped))) == (1, 0)
    assert (len(two.of(PipelineKept)), len(two.of(PipelineStopped))) == (0, 1)
    pids = [{event.pid for event in run.of(ProcessSeen)} for run in (one, two)]
    assert pids[0] == pids[1]
    whole = first.parent / four.id / "servers" / "02" / "logs" / "server.log"
    logs = [(folder / "logs" / "server.log").read_text() for folder in (first, second)]
    assert "".join(logs) == whole.read_text()
    assert "golden server on" in logs[0]
    assert "golden server on" not in logs[1]


def test_each_folder_is_that_of_an_ordinary_run_and_says_what_it_belongs_to(place: Path, four: Record) -> None:
    for made in four.runs:
        folder = folder_of(place, four, made)
        told = json.loads((folder / "provenance.json").read_text())
        assert (told["ab"], told["side"], told["pair"]) == (four.id, made.side, made.pair)
        assert {"verdict.json", "report.html", "junit.xml", "summary.json"} <= {path.name for path in folder.iterdir()}
        faults = yaml.safe_load((folder / "pipeline.yaml").read_text())["golden"]["faults"]
        assert faults == ([DIE.removeprefix("fault:")] if made.side == "a" else [])


def test_it_can_be_judged_again_from_the_run_folders_each_run_once(
    place: Path, four: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = place / "results" / four.id
    for name in ("report.md", *COMPARISON_FILES):
        (folder / name).unlink()
    judged: list[str] = []

    def judge_folder(run: Path) -> Judgement:
        judged.append(run.name)
        return really_judge(run)

    for module in (ab, content):
        monkeypatch.setattr(module, "judge_folder", judge_folder)
    again = ab.judge(folder)
    assert sorted(judged) == sorted(Path(made.folder).name for made in four.runs)
    assert again == four
    assert (folder / "report.md").read_text().startswith("# better: B lives")
    assert all((folder / name).is_file() for name in COMPARISON_FILES)


def test_a_run_folder_with_other_calls_is_refused(place: Path, four: Record, tmp_path: Path) -> None:
    changed = [made if made.pair else Made(**{**as_fields(made), "folder": four.runs[2].folder}) for made in four.runs]
    wrong = Record(**{**as_fields(four), "runs": (four.runs[0], *changed[1:])})
    folder = place / "results" / "wrong"
    folder.mkdir()
    records.write(folder, wrong)
    with pytest.raises(RigError, match="had different calls"):
        ab.judge(folder)


def as_fields(struct: Record | Made) -> dict[str, Any]:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


def test_a_run_that_loses_a_slot_leaves_its_server_to_nobody_and_its_stop_is_recorded(tmp_path: Path) -> None:
    """Pair 2 begins with B, and so follows B: but a server that lost a slot would lose the next run's callers."""
    found = compared(tmp_path, "none", "fault:resurrect:times=1", 2)
    first, second = (made for made in found.runs if made.side == "b")
    assert "slots" in first.facts.failed
    assert not second.reused
    assert "slots failed" in second.fresh_because
    stopped = folder_of(tmp_path, found, first) / history.EVENTS_DIR / f"{STOP_PRODUCER}.jsonl"
    assert stopped.is_file()
    shutdown = next(
        check
        for check in json.loads((folder_of(tmp_path, found, first) / "verdict.json").read_text())["checks"]
        if check["check"] == "shutdown"
    )
    assert shutdown["verdict"] == Verdict.PASS
    assert shutdown["summary"].startswith("every process stopped when asked")


def test_without_a_probe_the_next_run_waits_until_dropped_sessions_are_gone(tmp_path: Path) -> None:
    found = compared(tmp_path, "none", "none", 2, slots={"probe": False, "margin_s": 2.0})
    first, second = (folder_of(tmp_path, found, made) for made in found.runs[1:3])
    assert found.runs[2].reused
    ended, started = history.load(first).ended, history.load(second).started
    assert ended is not None
    assert started is not None
    # Grace, a tick of the reaper and the margin.
    assert started.t_ns - ended.t_ns >= 2.3e9


@pytest.mark.parametrize(
    ("a", "b", "problem"),
    [
        ("none", "no_such", "is no patch"),
        ("scheduler_zombies", "none", "has no engine"),
        ("fault:dye", "none", "'fault:dye': unknown fault 'dye'; did you mean `die`"),
    ],
)
def test_wrong_sides_are_refused_before_anything_is_started(tmp_path: Path, a: str, b: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        compared(tmp_path, a, b, 1)
    assert not (tmp_path / "results").exists()


def test_metrics_that_nobody_would_serve_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"serves no /metrics; set metrics\.enabled to false"):
        compared(tmp_path, "none", "none", 1, metrics={"enabled": True, "port": 0})
    assert not (tmp_path / "results").exists()


def rig(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "rig.cli", "ab", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))


def test_ctrl_c_stops_in_order_and_what_is_there_can_be_judged_and_resumed(tmp_path: Path) -> None:
    """The command line itself, with Locust; interrupted in the load of its second run."""
    results = tmp_path / "results"
    process = rig(run_file(tmp_path), "--a", "none", "--b", "none", "--pairs", 1, "--results", results)
    second = wait_for_second_load(results)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 2, err
    assert "cannot tell" in out
    (folder,) = results.glob("*-ab-*")
    assert f"rig ab --judge {folder}" in err
    record = records.read(folder)
    assert record.ended == "stopped by the user"
    assert [made.facts.end for made in record.runs] == ["planned", "interrupted"]
    assert history.load(second).of(PipelineStopped)

    resumed = rig("--resume", folder)
    out, err = resumed.communicate(timeout=LIMIT_S)
    assert resumed.returncode == 2, err
    assert "too few for any proof" in out
    record = records.read(folder)
    assert [(made.side, made.facts.end) for made in record.runs] == [("a", "planned"), ("b", "planned")]
    # The second server was the interrupted run's.
    assert [made.server for made in record.runs] == [1, 3]
    assert record.ended == records.AS_PLANNED

    judged = rig("--judge", folder)
    assert judged.communicate(timeout=LIMIT_S)[0] == out
    assert judged.returncode == 2


def wait_for_second_load(results: Path) -> Path:
    """The folder of the second run, once its load has begun."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        runs = sorted(path for path in results.glob("*-run-*") if "-ab-" not in path.name)
        if len(runs) == 2 and b'"phase":"load"' in (runs[1] / "events" / "rig.jsonl").read_bytes():
            return runs[1]
        time.sleep(0.02)
    raise AssertionError("the second run did not begin")


class Spoiling(ThreadCallers):
    """While they call, the server's home gets a record that cannot be copied."""

    async def start(self) -> None:
        await super().start()
        for server in self.folder.parent.glob("*-ab-*/servers/*"):
            (server / ring.FOLDER).mkdir(exist_ok=True)
            if not (link := server / ring.FOLDER / "lost.ring").is_symlink():
                link.symlink_to("nowhere")


def test_a_server_that_cannot_be_left_is_stopped_and_the_run_says_why(tmp_path: Path) -> None:
    wanted = Wanted(run_file(tmp_path), "none", "none", (), 2, None, tmp_path / "results")
    found = ab.start(wanted, Lines(sys.stderr), Spoiling)
    assert [made.facts.end for made in found.runs] == ["rig_error"] * 4
    assert [made.reused for made in found.runs] == [False] * 4
    for made in found.runs:
        run = history.load(folder_of(tmp_path, found, made))
        assert run.ended is not None
        assert "lost.ring" in run.ended.detail
        assert len(run.of(PipelineStopped)) == 1
        assert not any(tree.is_same(tree.Process(seen.pid, 0, 0, "", seen.start_ticks)) for seen in run.of(ProcessSeen))


class BrokenView(Lines):
    """Its reader is gone."""

    every_s = 0.1

    def show(self, now: Snapshot) -> None:
        raise BrokenPipeError


def test_a_run_needs_nobody_to_see_how_it_stands(tmp_path: Path) -> None:
    class Spoiled(ThreadCallers):
        async def start(self) -> None:
            await super().start()
            (self.folder / STANDING_FILE).mkdir(exist_ok=True)

    wanted = Wanted(run_file(tmp_path), "none", "none", (), 1, None, tmp_path / "results")
    found = ab.start(wanted, BrokenView(sys.stderr), Spoiled)
    assert [made.facts.end for made in found.runs] == ["planned"] * 2


def test_a_file_that_changed_since_is_refused_by_resume(place: Path, four: Record) -> None:
    changed = yaml.safe_load((place / "run.yaml").read_text()) | {"seed": 5, "require": {"sessions": 2}}
    before = (place / "run.yaml").read_text()
    (place / "run.yaml").write_text(yaml.safe_dump(changed))
    try:
        with pytest.raises(UsageError, match="has changed since"):
            ab.resume(place / "results" / four.id, Lines(sys.stderr), ThreadCallers)
    finally:
        (place / "run.yaml").write_text(before)


@pytest.mark.parametrize(
    "arguments", [(), ("run.yaml", "--a", "none"), ("run.yaml", "--judge", "x"), ("--judge", "x", "--resume", "y")]
)
def test_a_command_line_that_is_short_or_says_two_things_is_refused(arguments: tuple[str, ...]) -> None:
    process = rig(*arguments)
    _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 3, err


def test_a_server_that_cannot_even_start_is_a_death_in_the_boot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As when the address is lost between the look at it and the start.
    monkeypatch.setattr(preflight, "check", lambda _: None)
    path = run_file(tmp_path)
    (tmp_path / "pipeline.yaml").write_text(yaml.safe_dump(PIPELINE | {"host": "192.0.2.1", "port": 8099}))
    record = ab.start(Wanted(path, "none", "none", (), 2, None, tmp_path / "results"), Lines(sys.stderr), ThreadCallers)
    assert [made.facts.end for made in record.runs] == ["boot_failed"] * 4
    assert record.comparison is not None
    assert (record.comparison.a.died_in_boot, record.comparison.b.died_in_boot) == (2, 2)
    assert record.comparison.decision.word is Word.CANNOT_TELL


def test_a_comparison_that_another_rig_makes_is_neither_resumed_nor_judged(tmp_path: Path) -> None:
    folder = tmp_path / "comparison"
    folder.mkdir()
    path = str(run_file(tmp_path))
    records.write(folder, Record("x", RUN["question"], path, "pipeline.yaml", "golden", "none", "none", (), 1, 5))
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another rig"):
            ab.resume(folder, Lines(sys.stderr), ThreadCallers)
        with pytest.raises(UsageError, match="another rig"):
            ab.judge(folder)
    finally:
        os.close(held)
