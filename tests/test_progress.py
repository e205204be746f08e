"""Progress: what is known of a run while its journals still grow."""

from pathlib import Path

import pytest

from rig.clock import from_s
from rig.config.load import load_pipeline
from rig.events import types as ev
from rig.follow import Follow
from rig.history import EVENTS_DIR
from rig.progress import Progress, Snapshot
from tests.builders import EXTERNAL_YAML, GOLDEN_YAML, ORIGIN_NS, PIPELINE_YAML, RUN_YAML, Run, run_config

Following = tuple[Progress, Follow]


def following(run: Run, pipeline: str = PIPELINE_YAML) -> Following:
    path = run.folder / "pipeline.yaml"
    path.write_text(pipeline, encoding="utf-8")
    progress = Progress(run_config(run.folder), load_pipeline(path), ORIGIN_NS)
    return progress, Follow(run.folder / EVENTS_DIR, [progress])


def seen(following: Following, at_s: float = 10.0) -> Snapshot:
    progress, follow = following
    return follow.ask(lambda: progress.snapshot(ORIGIN_NS + from_s(at_s)))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run(tmp_path / "run")
    run.ready(1.0)
    return run


def test_nothing_is_known_at_first_and_absent_is_not_zero(tmp_path: Path) -> None:
    now = seen(following(Run(tmp_path / "run")), 3.0)
    assert (now.phase, now.elapsed_s, now.left_s) == (ev.Phase.BOOT, 3.0, None)
    assert now.first_audio_p50_ms is None
    assert "first audio p50 none yet" in now.line()


def test_only_what_is_new_is_read_and_nothing_twice(run: Run) -> None:
    progress = following(run)
    run.start_call(2.0)
    assert seen(progress).calls_begun == 1
    assert seen(progress).calls_begun == 1
    run.start_call(3.0, "c001-0000", caller=1)
    now = seen(progress)
    assert (now.calls_begun, now.callers, now.caller_slots) == (2, 2, 1)


def test_a_line_that_is_still_being_written_waits_for_its_rest(run: Run) -> None:
    run.start_call(2.0)
    path = run.path("callers")
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    progress = following(run)
    assert seen(progress).calls_begun == 0
    path.write_bytes(whole)
    assert seen(progress).calls_begun == 1


def test_a_damaged_line_stops_nothing(run: Run) -> None:
    run.start_call(2.0)
    with run.path("callers").open("ab") as file:
        file.write(b'{"type":"nonsense"}\n')
    progress = following(run)
    assert seen(progress).calls_begun == 1


def test_open_sessions_are_slots_and_refusals_are_none(run: Run) -> None:
    run.start_call(2.0)
    run.connect(2.0, ready_s=2.1)
    run.refuse(3.0, "c001-0000")
    run.close(3.1, "c001-0000", by=ev.ClosedBy.SERVER_CLOSE_FRAME)
    progress = following(run)
    now = seen(progress)
    assert (now.slots_used, now.slots, now.refused, now.lost) == (1, 2, 1, 0)
    run.close(4.0)
    assert seen(progress).slots_used == 0


def test_the_golden_server_has_slots_too(run: Run) -> None:
    assert seen(following(run, GOLDEN_YAML)).slots == 2


def test_a_load_in_parts_says_which_part_it_is(tmp_path: Path) -> None:
    text = RUN_YAML + "slots: {every_s: 5}\n"
    run = Run(tmp_path / "run", run=text)
    for at_s, phase in ((1.0, ev.Phase.LOAD), (6.0, ev.Phase.PROBE), (20.0, ev.Phase.LOAD)):
        run.rig(at_s, ev.PhaseEntered, phase=phase)
    progress = Progress(run_config(run.folder, text), load_pipeline(run.folder / "pipeline.yaml"), ORIGIN_NS)
    now = seen((progress, Follow(run.folder / EVENTS_DIR, [progress])), 21.0)
    assert (now.phase, now.load, now.loads, now.left_s) == (ev.Phase.LOAD, 2, 2, 4.0)


def test_callers_are_those_in_a_call_now(run: Run) -> None:
    run.start_call(2.0)
    run.start_call(2.0, "c001-0000", caller=1)
    run.call(3.0, ev.CallEnded, outcome=ev.Outcome.DONE, detail="")
    assert seen(following(run)).callers == 1


def test_a_run_that_is_over_says_so(run: Run) -> None:
    follow = following(run)
    assert not seen(follow).over
    run.stop(20.0)
    assert seen(follow, 21.0).over


def test_nobody_knows_the_slots_of_an_external_server(run: Run) -> None:
    assert seen(following(run, EXTERNAL_YAML)).slots is None


def test_first_audio_counts_from_the_planned_end_of_speech(run: Run) -> None:
    run.start_call(2.0)
    for turn, (end_s, heard_s) in enumerate(((3.0, 4.0), (6.0, 8.0))):
        run.spoke(end_s - 1, end_s, turn=turn, late_s=0.3)
        run.audio(heard_s, turn=turn)
        run.audio(heard_s + 1, turn=turn)
    now = seen(following(run))
    assert now.first_audio_p50_ms == pytest.approx(1_000, rel=0.02)
    assert now.first_audio_p99_ms == pytest.approx(2_000, rel=0.02)


def test_stuck_turns_and_lost_connections_are_found_before_the_end(run: Run) -> None:
    run.start_call(2.0)
    run.turn_ended(9.0, ev.Outcome.NO_REPLY)
    run.turn_ended(9.5, ev.Outcome.DONE, turn=1)
    run.close(9.6, by=ev.ClosedBy.SERVER_RESET)
    now = seen(following(run))
    assert (now.turns, now.stuck, now.lost) == (2, 1, 1)
    assert now.so_far == (
        ("liveness", None),
        ("progress", "turns stuck: 1"),
        ("connections", "connections ended by the server: 1"),
    )


def test_stages_are_alive_paused_dead_or_stopped(run: Run) -> None:
    run.rig(5.0, ev.ProcessPaused, pid=101, stage="thinker", paused=True)
    run.dies(6.0)
    run.dies(7.0, pid=103, stage="code2wav", expected=True)
    run.dies(7.0, pid=300, stage="helper")
    now = seen(following(run))
    states = tuple((one.stage, one.state) for one in now.processes)
    assert states == (("api_server", "alive"), ("thinker", "paused"), ("talker", "dead"), ("code2wav", "stopped"))
    assert (now.deaths, now.paused) == (1, 1)


def test_a_death_is_told_in_seconds_of_the_run_also_when_its_beginning_is_not_read(run: Run) -> None:
    path = run.path("rig")
    path.write_bytes(
        b"".join(line for line in path.read_bytes().splitlines(keepends=True) if b"run_started" not in line)
    )
    run.dies(6.0)
    (died,) = seen(following(run)).died
    assert " at 6.0 s" in died


@pytest.mark.parametrize(
    ("phase", "left_s"),
    [(ev.Phase.LOAD, 10 - 4.0), (ev.Phase.DRAIN, None), (ev.Phase.WATCH, 20 - 4.0), (ev.Phase.STOP, None)],
)
def test_time_left_is_told_where_it_is_known(tmp_path: Path, phase: ev.Phase, left_s: float | None) -> None:
    run = Run(tmp_path / "run")
    run.rig(50.0, ev.PhaseEntered, phase=phase)
    now = seen(following(run), 54.0)
    assert now.phase is phase
    assert now.left_s == left_s
    line = now.line()
    assert (f"{phase} ends in {left_s:.0f} s" in line) if left_s is not None else ("ends in" not in line)
