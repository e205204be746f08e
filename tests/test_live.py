"""The live view: a screen on a terminal, plain lines elsewhere; the same facts in both."""

import io
import os
import pty
import re
import threading
from contextlib import suppress
from dataclasses import replace
from typing import TextIO

import pytest
from rich.console import Console

from rig.events.types import Phase
from rig.live import LINES_EVERY_S, Lines, Screen, picture, view
from rig.progress import Snapshot
from rig.standing import Process

NOW = Snapshot(
    elapsed_s=71.0,
    left_s=99.0,
    phase=Phase.LOAD,
    load=1,
    loads=1,
    over=False,
    callers=2,
    caller_slots=4,
    calls_begun=9,
    calls_ended=7,
    sessions=11,
    slots_used=2,
    slots=4,
    refused=1,
    turns=12,
    first_audio_p50_ms=2_300.4,
    first_audio_p99_ms=4_200.0,
    deaths=0,
    paused=0,
    stuck=0,
    lost=0,
    processes=(Process(101, "thinker", "alive"), Process(102, "talker", "alive")),
)
BAD = replace(NOW, deaths=1, stuck=3, processes=(Process(101, "thinker", "paused"), Process(102, "talker", "dead")))


def text_of(now: Snapshot, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    with console.capture() as captured:
        console.print(picture(now, width))
    return captured.get()


def test_without_a_terminal_there_are_plain_lines() -> None:
    stream = io.StringIO()
    with view(stream) as shown:
        assert isinstance(shown, Lines)
        assert shown.every_s == LINES_EVERY_S
        shown.say("results in x")
        shown.show(NOW)
    first, second = stream.getvalue().splitlines()
    assert first == "rig: results in x"
    assert second.startswith("rig:    71 s  load   calls 7/9 ended  sessions 11  refused 1  deaths 0  stuck 0  lost 0")
    assert "first audio p50 2300 ms  load ends in 99 s" in second
    assert "\x1b" not in stream.getvalue()


def read_to_end(master: int, chunks: list[bytes]) -> None:
    """A terminal's side: Linux says EIO when the other side is closed."""
    with suppress(OSError):
        while chunk := os.read(master, 1 << 16):
            chunks.append(chunk)
    os.close(master)


def on_terminal(stream: TextIO) -> None:
    with view(stream) as shown:
        assert isinstance(shown, Screen)
        shown.say("results in [bold]x[/bold]")
        shown.show(NOW)
        shown.show(BAD)


def test_on_a_terminal_the_screen_is_renewed_and_what_was_said_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    master, slave = pty.openpty()
    chunks: list[bytes] = []
    reader = threading.Thread(target=read_to_end, args=(master, chunks))
    reader.start()
    with os.fdopen(slave, "w", encoding="utf-8") as stream:
        on_terminal(stream)
    reader.join()
    written = b"".join(chunks).decode()
    assert "rig: results in [bold]x[/bold]" in written
    assert written.count("first audio") == 2 or "\x1b[1A" in written
    assert "\x1b[?25l" in written
    assert written.rstrip().endswith("\x1b[?25h")


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    master, slave = pty.openpty()
    with os.fdopen(slave, "w", encoding="utf-8") as stream, view(stream) as shown:
        assert isinstance(shown, Lines)
    os.close(master)


def words(now: Snapshot, width: int = 100) -> str:
    return " ".join(text_of(now, width).split())


def test_the_screen_has_phase_time_left_stages_findings_callers_slots_and_waits() -> None:
    text = words(NOW)
    for expected in (
        "phase load, ends in 99 s; 71 s since the start",
        "server ● alive thinker, talker",
        "found nothing so far (liveness, progress, connections)",
        "callers 2 of 4 in a call; calls 7 of 9 ended; 12 turns",
        "sessions 2 of 4 open, 11 in all, 1 refused",
        "first audio p50 2300 ms, p99 4200 ms",
        "The verdict comes when the run is over.",
    ):
        assert expected in text


def test_what_is_wrong_is_told_by_sign_and_word_and_before_what_is_well() -> None:
    text = words(BAD)
    assert "server ✘ DEAD talker server ‖ paused thinker" in text
    assert "found ✘ liveness: processes died: 1 found ✘ progress: turns stuck: 3" in text
    assert "nothing so far" not in text


def test_what_is_not_known_is_said() -> None:
    text = words(replace(NOW, left_s=None, first_audio_p50_ms=None, slots=None))
    assert "phase load; 71 s since the start" in text
    assert "p50 none yet" in text
    assert "sessions 2 open" in text


def test_parts_of_a_load_and_the_end_are_told() -> None:
    assert "phase load 3 of 48, ends in 99 s" in words(replace(NOW, load=3, loads=48))
    assert "The run is over and is judged now." in words(replace(NOW, over=True, phase=Phase.STOP))


@pytest.mark.parametrize("width", [20, 40, 59, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_left_out(width: int) -> None:
    text = text_of(BAD, width)
    assert max(map(len, text.splitlines())) <= width
    for word in ("DEAD", "paused", "2300", "refused", "verdict"):
        assert word in text


def on_a_terminal_of(lines: int, columns: int, then: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the screen writes to a terminal of that size, which then has another one."""
    monkeypatch.setenv("TERM", "xterm-256color")
    size = [os.terminal_size((columns, lines))]
    monkeypatch.setattr(os, "get_terminal_size", lambda *_: size[-1])
    master, slave = pty.openpty()
    chunks: list[bytes] = []
    reader = threading.Thread(target=read_to_end, args=(master, chunks))
    reader.start()
    with os.fdopen(slave, "w", encoding="utf-8") as stream, view(stream) as shown:
        shown.say("results in x")
        shown.show(NOW)
        if then is not None:
            size.append(os.terminal_size((then[1], then[0])))
        shown.show(BAD)
    reader.join()
    return b"".join(chunks).decode()


CLEARED = "\x1b[H\x1b[2J"


def test_a_terminal_that_changes_its_size_is_drawn_anew_with_what_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    written = on_a_terminal_of(24, 80, (24, 40), monkeypatch)
    before, after = (re.sub(r"\x1b\[\d*m", "", part) for part in written.split(CLEARED))
    assert "phase        load" in before
    assert "rig: results in x" in after
    assert "phase: load" in after


def test_one_that_keeps_its_size_is_never_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    assert CLEARED not in on_a_terminal_of(24, 80, None, monkeypatch)


def test_a_low_terminal_is_not_scrolled(monkeypatch: pytest.MonkeyPatch) -> None:
    written = on_a_terminal_of(4, 80, None, monkeypatch)
    assert "phase" in written
    assert "first audio" not in written.split("\x1b[1A", maxsplit=1)[0]
