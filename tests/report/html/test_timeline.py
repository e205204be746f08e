"""The timeline: rows for everything that a run has, in one order, with the numbers that its script reads out."""

import re
from pathlib import Path

import pytest

from rig.events import types as ev
from rig.fold import result_of
from rig.report.html import timeline
from rig.report.html.gather import Gather
from rig.report.html.incidents import incidents_of
from tests.builders import Run
from tests.report.html.runs import set_clocks, sound, with_death


def drawn(run: Run) -> tuple[dict[str, timeline.Row], timeline.Scale]:
    run.history()
    set_clocks(run.folder)
    history = run.history(closed=False)
    gathered = result_of(Gather, history)
    rows = timeline.rows_of(history, gathered, incidents_of(history, gathered))
    names = [row.name for row in rows]
    assert len(set(names)) == len(names)
    return {row.name: row for row in rows}, timeline.scale_of(history, gathered)


def test_the_rows_go_from_the_run_over_the_server_to_the_callers(tmp_path: Path) -> None:
    rows, _ = drawn(with_death(tmp_path / "run"))
    assert list(rows) == [
        "phase of the run", "incidents", "api_server", "thinker", "talker", "code2wav", "first audio",
        "calls in progress", "speaks", "barges in", "hangs up", "comes back", "refused", "stuck", "lost",
        "memory of thinker", "memory of talker", "caller 0",
    ]  # fmt: skip


def test_a_death_ends_its_lifeline_and_has_a_mark_there(tmp_path: Path) -> None:
    rows, scale = drawn(with_death(tmp_path / "run"))
    assert scale.bins == 80
    body = rows["talker"].body
    assert 'x="4" width="46"' in body
    assert re.search(r'class="mark"[^>]* data-x="50"[^>]*killed by SIGKILL', body)
    assert rows["talker"].right == "died"
    assert (rows["thinker"].right, "mark" in rows["thinker"].body) == ("lived", False)


def test_a_pause_is_drawn_over_its_lifeline(tmp_path: Path) -> None:
    run = sound(tmp_path / "run")
    run.rig(5.0, ev.ProcessPaused, pid=102, stage="talker", paused=True)
    run.rig(7.0, ev.ProcessPaused, pid=102, stage="talker", paused=False)
    run.stop(20.0)
    rows, _ = drawn(run)
    assert re.search(r'<rect x="20" width="8"[^>]* class="paused">', rows["talker"].body)
    assert rows["talker"].right == "paused"


def test_phases_follow_each_other_to_the_end(tmp_path: Path) -> None:
    run = sound(tmp_path / "run")
    run.rig(18.0, ev.PhaseEntered, phase=ev.Phase.DRAIN)
    run.stop(20.0)
    rows, _ = drawn(run)
    places = re.findall(r'class="phase (\w+)"[^>]* data-x="([\d.]+)" data-x2="([\d.]+)"', rows["phase of the run"].body)
    assert places == [("boot", "0", "4"), ("load", "4", "72"), ("drain", "72", "80")]


def test_a_mark_of_an_incident_leads_to_it(tmp_path: Path) -> None:
    rows, _ = drawn(with_death(tmp_path / "run"))
    assert re.search(r'<a class="mark"[^>]*href="#i0"', rows["incidents"].body)
    assert rows["incidents"].right == "1 in all"


def test_a_known_error_has_a_mark_and_is_no_incident(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(1.0)
    run.act(2.0, ev.Act.HANG_UP_RST)
    line = {"signature": "read_after_disconnect", "stage": "api_server", "line": "x", "expected": False}
    run.rig(3.0, ev.LogSignature, **line)
    run.stop(20.0)
    rows, _ = drawn(run)
    assert rows["incidents"].right == "none"
    assert "known and without harm" in rows["incidents"].body


def test_memory_holds_between_two_samples_and_not_after_the_last(tmp_path: Path) -> None:
    run = sound(tmp_path / "run")
    run.stop(30.0)
    rows, scale = drawn(run)
    (values,) = rows["memory of talker"].values.values()
    assert values[int(2.0 / scale.width_s)] == 901
    assert values[int(4.0 / scale.width_s)] == 904
    assert values[int(25.0 / scale.width_s)] is None
    assert values[0] is None


def test_the_readout_has_the_numbers_of_the_rows_short(tmp_path: Path) -> None:
    run = with_death(tmp_path / "run")
    rows, scale = drawn(run)
    read = timeline.readout(list(rows.values()), scale)
    assert (read["width"], read["span"]) == (0.25, 20.0)
    numbers = read["rows"]
    assert isinstance(numbers, dict)
    first_audio = numbers[str(list(rows).index("first audio"))]
    assert (first_audio["u"], first_audio["w"]) == ("ms", 4.0)
    assert first_audio["s"]["p50"][:2] == [None, pytest.approx(1_500, rel=0.02)]
    assert first_audio["s"]["turns"][:4] == [0, 1, 0, 1]
    assert numbers[str(list(rows).index("barges in"))]["s"][""][28] == 1
    assert "0" not in numbers


def test_a_run_of_no_length_has_a_scale(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.history()
    set_clocks(run.folder)
    history = run.history(closed=False)
    assert timeline.scale_of(history, result_of(Gather, history)).span_s == 0.25
