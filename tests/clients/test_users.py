"""Locust itself, in processes of its own, with callers that talk to a real socket."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from rig.config.load import load_run
from rig.events import journal
from rig.events.types import CallEnded, CallStarted, Event, JournalClosed, Outcome
from rig.plan import make_plan
from tests.clients.server import Manners, ScriptedServer, serving
from tests.house.tree import ROOT

LIMIT_S = 40

RUN = """
question: Do Locust's users play the calls of the plan?
pipeline: nowhere.yaml
seed: 5
load:
  callers: 2
  duration_s: 4
  pause_s: {low: 0.1, high: 0.3}
  think_s: {low: 0.1, high: 0.2}
behaviours:
  polite: {weight: 1, turns: {low: 1, high: 1}}
deadlines: {connect_s: 3, first_audio_s: 3, reply_s: 5, return_s: 5}
"""


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    path = tmp_path / "run.yaml"
    path.write_text(RUN)
    return path


class Locust:
    """A Locust process under test."""

    def __init__(self, server: ScriptedServer, run_file: Path, *more: str, plan: Path | None = None) -> None:
        self.events = run_file.parent / "events"
        command = [sys.executable, "-m", "locust", "-f", str(ROOT / "clients" / "locustfile.py"), "--headless"]
        command += ["--only-summary", "--host", server.url, "--rig-config", str(run_file)]
        command += ["--rig-journal-dir", str(self.events), "--rig-model", "tiny", *more]
        if plan is not None:
            command += ["--rig-plan", str(plan)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("LOCUST_", "RIG_"))}
        self.log = run_file.parent / "locust.log"
        with self.log.open("wb") as log:
            # As from a terminal: tests that run in the background of a script inherit SIGINT as ignored.
            self.process = subprocess.Popen(
                ["env", "--default-signal=INT", *command],
                cwd=ROOT,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=environment,
            )

    def wait(self) -> int:
        """Its exit status."""
        try:
            return self.process.wait(LIMIT_S)
        finally:
            self.process.kill()

    def when(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition while the process lives."""
        deadline_s = time.monotonic() + LIMIT_S
        while not condition():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline_s, self.log.read_text()
            time.sleep(0.02)

    def journals(self) -> dict[str, list[Event]]:
        """All journals, which must be whole and closed."""
        found: dict[str, list[Event]] = {}
        for path in sorted(self.events.glob("*.jsonl")):
            events, damage = journal.read(path)
            assert (damage.closed, damage.missing, damage.bad_lines) == (True, 0, ()), self.log.read_text()
            found[path.name] = list(events)
        return found

    def calls(self) -> tuple[list[CallStarted], list[CallEnded]]:
        """Calls over all journals."""
        events = [event for found in self.journals().values() for event in found]
        started = [event for event in events if isinstance(event, CallStarted)]
        return started, [event for event in events if isinstance(event, CallEnded)]


def test_two_users_play_their_slots_and_finish_their_calls_when_the_load_is_over(run_file: Path) -> None:
    with serving() as server:
        locust = Locust(server, run_file)
        assert locust.wait() == 0, locust.log.read_text()
    started, ended = locust.calls()
    assert {event.caller for event in started} == {0, 1}
    assert [event.outcome for event in ended] == [Outcome.DONE] * len(started)
    assert len({event.call for event in started}) == len(started)
    (name,) = locust.journals()
    assert name == f"caller-local-{locust.process.pid}.jsonl"
    assert "first_audio" in locust.log.read_text()


def test_processes_share_the_slots_and_keep_a_journal_each(run_file: Path) -> None:
    plan = run_file.parent / "plan.jsonl"
    plan.write_bytes(make_plan(load_run(run_file)).encode())
    with serving() as server:
        locust = Locust(server, run_file, "--processes", "2", plan=plan)
        assert locust.wait() == 0, locust.log.read_text()
    started, ended = locust.calls()
    assert {event.caller for event in started} == {0, 1}
    assert [event.outcome for event in ended] == [Outcome.DONE] * len(started)
    indexes = [name.split("-")[1] for name in locust.journals()]
    assert sorted(indexes) == ["0", "1"]


OPEN_RUN = RUN.replace("  pause_s: {low: 0.1, high: 0.3}\n", "").replace(
    "load:\n", "load:\n  arrivals: {kind: constant, rate: 4}\n"
)
"""16 calls in 4 s, each of which takes a second or two."""


@pytest.mark.parametrize("processes", [1, 2])
def test_an_open_loop_plays_every_call_once_at_its_time_on_whichever_slot_is_free(
    run_file: Path, processes: int
) -> None:
    run_file.write_text(OPEN_RUN.replace("callers: 2", "callers: 16"))
    more = ["--processes", "2"] if processes == 2 else []
    with serving() as server:
        locust = Locust(server, run_file, *more)
        assert locust.wait() == 0, locust.log.read_text()
    started, ended = locust.calls()
    started.sort(key=lambda event: event.planned_ns)
    assert [event.call for event in started] == [f"o{index:06d}" for index in range(16)]
    assert {later.planned_ns - earlier.planned_ns for earlier, later in pairwise(started)} == {250_000_000}
    # With a slot for each call nobody waits for a slot.
    assert all(event.free_ns is not None and event.free_ns <= event.planned_ns for event in started)
    assert all(event.t_ns >= event.planned_ns for event in started)
    assert [event.outcome for event in ended] == [Outcome.DONE] * 16


def test_calls_that_find_no_free_slot_begin_late_and_keep_their_planned_times(run_file: Path) -> None:
    run_file.write_text(OPEN_RUN)
    with serving() as server:
        locust = Locust(server, run_file, "--processes", "2")
        assert locust.wait() == 0, locust.log.read_text()
    started, ended = locust.calls()
    started.sort(key=lambda event: event.planned_ns)
    assert {later.planned_ns - earlier.planned_ns for earlier, later in pairwise(started)} == {250_000_000}
    waited = [event for event in started if event.free_ns is not None and event.free_ns > event.planned_ns]
    assert waited
    assert all(event.free_ns is not None and event.t_ns >= event.free_ns for event in waited)
    # Both slots took calls, and each one the next call as soon as it was free: no two calls of a slot overlap.
    assert {event.caller for event in started} == {0, 1}
    assert len(ended) == len(started) == 16


@pytest.mark.parametrize("processes", [1, 2])
def test_a_signal_ends_an_open_loop_whose_slots_wait_for_calls(run_file: Path, processes: int) -> None:
    run_file.write_text(OPEN_RUN.replace("duration_s: 4", "duration_s: 400").replace("rate: 4", "rate: 0.05"))
    more = ["--processes", "2"] if processes == 2 else []
    with serving() as server:
        locust = Locust(server, run_file, *more)
        locust.when(lambda: any(session.replies > 0 for session in server.sessions.values()))
        locust.process.send_signal(signal.SIGTERM)
        assert locust.wait() == 0, locust.log.read_text()
    started, _ = locust.calls()
    assert [event.call for event in started] == ["o000000"]


@pytest.mark.parametrize(("processes", "sign"), [(1, signal.SIGTERM), (1, signal.SIGINT), (2, signal.SIGTERM)])
def test_a_signal_ends_the_calls_politely_as_unfinished_and_closes_the_journals(
    run_file: Path, sign: signal.Signals, processes: int
) -> None:
    more = ["--processes", "2"] if processes == 2 else []
    with serving(Manners(chunks=100)) as server:
        locust = Locust(server, run_file, *more)
        locust.when(lambda: sum(session.replies > 0 for session in server.sessions.values()) == 2)
        locust.process.send_signal(sign)
        assert locust.wait() == 0, locust.log.read_text()
    started, ended = locust.calls()
    assert len(started) == 2
    assert [event.outcome for event in ended] == [Outcome.UNFINISHED] * 2
    assert server.types().count("session.close") == 2


def test_a_call_that_outlasts_the_stop_timeout_is_recorded_as_unfinished(run_file: Path) -> None:
    with serving(Manners(answers=False)) as server:
        locust = Locust(server, run_file, "--run-time", "2s", "--stop-timeout", "1")
        assert locust.wait() == 0, locust.log.read_text()
    _, ended = locust.calls()
    assert [event.outcome for event in ended] == [Outcome.UNFINISHED] * 2


def test_a_server_without_duplex_ends_the_test_as_wrongly_set_up(run_file: Path) -> None:
    with serving(Manners(duplex=False)) as server:
        locust = Locust(server, run_file)
        assert locust.wait() == 3, locust.log.read_text()
    assert "does not speak duplex" in locust.log.read_text()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--host", "http://127.0.0.1:1"], "give a ws:// or wss:// URL"),
        (["--rig-config", "missing.yaml"], "no such file"),
    ],
)
def test_a_mistake_on_the_command_line_is_one_line_and_status_3(
    run_file: Path, arguments: list[str], told: str
) -> None:
    with serving() as server:
        locust = Locust(server, run_file, *arguments)
        assert locust.wait() == 3, locust.log.read_text()
    assert told in locust.log.read_text()
    assert "Traceback" not in locust.log.read_text()


def test_every_journal_line_is_one_json_object(run_file: Path) -> None:
    with serving() as server:
        locust = Locust(server, run_file, "--run-time", "1s")
        assert locust.wait() == 0, locust.log.read_text()
    (path,) = locust.events.glob("*.jsonl")
    lines = path.read_text().splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(len(lines)))
    assert isinstance(journal.read(path)[0][-1], JournalClosed)
