"""What somebody sees of a run that goes on: a screen that is renewed on a terminal, else a plain line now and then."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from rig.progress import Snapshot

LINES_EVERY_S = 5.0
SCREEN_EVERY_S = 1.0

STATES = {"alive": "● alive", "paused": "‖ paused", "dead": "✘ DEAD", "stopped": "■ stopped"}


class View(Protocol):
    """Where a run tells how it stands."""

    every_s: float
    """How often it wants to be shown a snapshot."""

    def say(self, line: str) -> None:
        """Tell something once; it stays."""

    def show(self, now: Snapshot) -> None:
        """Tell how the run stands."""


class Lines:
    """For pipes, logs and terminals that cannot do more."""

    every_s = LINES_EVERY_S

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def say(self, line: str) -> None:
        """See View."""
        print(f"rig: {line}", file=self._stream, flush=True)

    def show(self, now: Snapshot) -> None:
        """See View."""
        self.say(now.line())


class Screen:
    """For terminals."""

    every_s = SCREEN_EVERY_S

    def __init__(self, live: Live) -> None:
        self._live = live

    def say(self, line: str) -> None:
        """See View. It stands above what is renewed."""
        self._live.console.print(Text(f"rig: {line}"))

    def show(self, now: Snapshot) -> None:
        """See View."""
        self._live.update(picture(now), refresh=True)


@contextmanager
def view(stream: TextIO = sys.stderr) -> Iterator[View]:
    """A screen where the stream is a terminal that can move its cursor, else lines."""
    if not stream.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        yield Lines(stream)
        return
    # What the run says must not be taken for a screen's markup, and nobody else writes to this stream.
    console = Console(file=stream, markup=False, highlight=False)
    with Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live:
        yield Screen(live)


def picture(now: Snapshot) -> Group:
    """The snapshot as two small tables; every state is a sign and a word, not only a colour."""
    run = Table.grid(padding=(0, 2))
    for name, value in _rows(now):
        run.add_row(Text(name, style="dim"), Text(value))
    server = Table.grid(padding=(0, 2))
    for stage, state in now.stages:
        style = "bold red" if state == "dead" else "yellow" if state == "paused" else ""
        server.add_row(Text(stage, style="dim"), Text(STATES.get(state, state), style=style))
    for check, found in now.so_far:
        mark = Text("✘ " + found, style="bold red") if found else Text("nothing found so far")
        server.add_row(Text(check, style="dim"), mark)
    return Group(run, server, Text("The verdict comes when the run is over.", style="dim"))


def _rows(now: Snapshot) -> list[tuple[str, str]]:
    left = "not known" if now.left_s is None else f"{max(0.0, now.left_s):.0f} s"
    slots = "" if now.slots is None else f" of {now.slots}"
    return [
        ("phase", f"{now.phase}, {now.elapsed_s:.0f} s gone, left: {left}"),
        ("callers", f"{now.callers}; calls {now.calls_ended} of {now.calls_begun} ended, turns ended {now.turns}"),
        ("sessions", f"{now.slots_used}{slots} open, {now.sessions} in all, {now.refused} refused"),
        ("first audio", f"p50 {_ms(now.first_audio_p50_ms)}, p99 {_ms(now.first_audio_p99_ms)}"),
    ]


def _ms(value: float | None) -> str:
    return "none yet" if value is None else f"{value:.0f} ms"
