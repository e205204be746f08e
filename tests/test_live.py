"""The live view: a screen on a terminal, plain lines elsewhere; the same facts in both."""

import io
import os
import pty
import threading
from contextlib import suppress
from dataclasses import replace
from typing import TextIO

import pytest
from rich.console import Console

from rig.events.types import Phase
from rig.live import LINES_EVERY_S, Lines, Screen, picture, view
from rig.progress import Snapshot

NOW = Snapshot(
    elapsed_s=71.0,
    left_s=99.0,
    phase=Phase.LOAD,
    callers=2,
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
    stages=(("thinker", "alive"), ("talker", "alive")),
)
BAD = replace(NOW, deaths=1, stuck=3, stages=(("thinker", "paused"), ("talker", "dead")))


def text_of(now: Snapshot) -> str:
    console = Console(file=io.StringIO(), width=100, force_terminal=False)
    with console.capture() as captured:
        console.print(picture(now))
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
    assert "first audio p50 2300 ms  99 s left" in second
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


def test_the_screen_has_phase_time_left_callers_slots_waits_and_stages() -> None:
    text = " ".join(text_of(NOW).split())
    for expected in (
        "phase load, 71 s gone, left: 99 s",
        "callers 2; calls 7 of 9 ended, turns ended 12",
        "sessions 2 of 4 open, 11 in all, 1 refused",
        "first audio p50 2300 ms, p99 4200 ms",
        "talker ● alive",
        "liveness nothing found so far",
        "The verdict comes when the run is over.",
    ):
        assert expected in text


def test_what_is_wrong_is_told_by_sign_and_word() -> None:
    text = " ".join(text_of(BAD).split())
    assert "thinker ‖ paused" in text
    assert "talker ✘ DEAD" in text
    assert "liveness ✘ processes died: 1" in text
    assert "progress ✘ turns stuck: 3" in text


def test_what_is_not_known_is_said() -> None:
    text = " ".join(text_of(replace(NOW, left_s=None, first_audio_p50_ms=None, slots=None)).split())
    assert "left: not known" in text
    assert "p50 none yet" in text
    assert "sessions 2 open" in text
