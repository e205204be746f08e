"""Stories: the first calls that went wrong are told line by line; the rest is counted."""

from pathlib import Path

import pytest

from rig.events import types as ev
from rig.report.html.stories import LINES_KEPT, Stories, Story
from tests.builders import Run, ns
from tests.report.html.runs import sound


def told(run: Run, keep: int = 12) -> tuple[tuple[Story, ...], int]:
    history = run.history()
    stories = Stories(history, keep)
    for calls in history.calls():
        for call in calls:
            stories.see(call)
    return stories.in_time(), stories.count


def test_a_call_in_which_all_is_well_has_no_story(tmp_path: Path) -> None:
    assert told(sound(tmp_path / "run")) == ((), 0)


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (ev.Outcome.NO_REPLY, "turn 0: no audio within 8 s of the end of speech"),
        (ev.Outcome.NO_END, "turn 0: no terminal event within 30 s of the first audio"),
    ],
)
def test_a_stuck_turn_is_told_with_its_deadline_and_since_when(tmp_path: Path, outcome: ev.Outcome, text: str) -> None:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    run.spoke(3.0, 5.0)
    run.turn_ended(13.0, outcome)
    ((story,), count) = told(run)
    assert (story.kind, story.text, story.t_ns, story.since_ns) == ("stuck", text, ns(13.0), ns(5.0))
    assert count == 1
    assert [line.text for line in story.lines] == [
        "calls (polite)",
        "turn 0: begins to speak (short)",
        "turn 0: has spoken",
        f"turn 0: {outcome}, 40 ms of audio in all",
    ]


def test_a_connection_that_the_server_ended_is_told_and_one_that_it_refused_is_not(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    run.refuse(2.5, "c000-0000")
    run.close(2.6, by=ev.ClosedBy.SERVER_CLOSE_FRAME, code=1013)
    run.close(4.0, connection=1, by=ev.ClosedBy.SERVER_RESET)
    run.call(5.0, ev.ConnectFailed, connection=2, reason="refused by the kernel")
    stories, count = told(run)
    assert count == 2
    assert [story.text for story in stories] == [
        "connection ended by the server: server_reset without a close frame",
        "no connection: refused by the kernel",
    ]


def test_only_the_first_in_time_are_kept_whatever_order_they_come_in(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    for index in range(9):
        call = f"c000-000{index}"
        run.start_call(20.0 - index, call)
        run.close(40.0 - index, call, by=ev.ClosedBy.SERVER_EOF)
    stories, count = told(run, keep=3)
    assert count == 9
    assert [story.call for story in stories] == ["c000-0008", "c000-0007", "c000-0006"]


def test_audio_in_a_row_is_one_line_with_its_length(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    for at_s in (3.0, 3.1, 3.2):
        run.audio(at_s, samples=12_000)
    run.close(4.0, by=ev.ClosedBy.SERVER_EOF)
    ((story,), _) = told(run)
    assert story.lines[1].text == "turn 0: hears audio, 3 in a row, 1.50 s of sound"
    assert story.lines[1].t_ns == ns(3.0)


def test_server_events_that_only_accompany_others_are_left_out(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    for at_s, name in ((3.0, "response.listen"), (3.1, "playback.acknowledged"), (3.2, "response.listen")):
        run.server_says(at_s, name)
    run.close(4.0, by=ev.ClosedBy.SERVER_EOF)
    ((story,), _) = told(run)
    assert [line.text for line in story.lines][1:-1] == ["server: response.listen, 2 in a row"]


def test_a_long_call_is_told_from_its_last_lines(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    for index in range(100):
        run.server_says(3.0 + index / 100, f"event.{index}")
    run.close(5.0, by=ev.ClosedBy.SERVER_EOF)
    ((story,), _) = told(run)
    assert len(story.lines) == LINES_KEPT
    assert story.lines[-2].text == "server: event.99"
