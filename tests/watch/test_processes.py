"""Every process of the server is seen, and every death is recorded: who, how, and its last words."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from rig.clock import NS_PER_MS, monotonic_ns
from rig.config.run import Watch
from rig.events.journal import Journal
from rig.events.types import ProcessDied, ProcessPaused, ProcessSeen
from rig.pipeline import tree
from rig.pipeline.local import LocalPipeline
from rig.watch import processes
from rig.watch.server import ServerWatch
from tests.pipeline import fake
from tests.watch.watched import LABELS, of, recorded, run

THINKER = "VLLM::StageEngineCoreProc_stage0"


def first_unexpected(events: list[ProcessDied]) -> ProcessDied:
    return next(event for event in events if not event.expected)


def test_an_orderly_stop_is_seven_expected_deaths(tmp_path: Path) -> None:
    async def nothing(pipeline: LocalPipeline, watch: ServerWatch) -> None:
        return None

    events = run(tmp_path, nothing)
    assert {event.stage for event in of(events, ProcessSeen)} >= LABELS
    deaths = of(events, ProcessDied)
    assert {event.stage for event in deaths} == LABELS
    assert all(event.expected for event in deaths)
    (server,) = [event for event in deaths if event.stage == "api_server"]
    assert (server.exit_status, server.signal) == (0, None)


def test_on_a_server_that_runs_already_every_process_is_seen_and_labelled_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a later run on the same server finds it, whatever the order in which the kernel lists the processes."""
    second = tmp_path / "second"
    second.mkdir()

    async def look_again(pipeline: LocalPipeline, watch: ServerWatch) -> None:
        family = tree.family
        monkeypatch.setattr(tree, "family", lambda root, table: list(reversed(family(root, table))))
        journal = Journal(second, "rig", "rig")
        other = ServerWatch(pipeline, journal, Watch(after_load_s=0.0))
        other.start()
        await recorded(second, ProcessSeen, lambda seen: len(seen) >= len(LABELS))
        await other.stop()
        assert {process.pid for process in other.alive()} == {process.pid for process in watch.alive()}

    run(tmp_path, look_again)
    assert {event.stage for event in of(fake.events(second), ProcessSeen)} == LABELS


@pytest.mark.parametrize(
    ("signum", "exit_status", "name"),
    [(signal.SIGKILL, None, "SIGKILL"), (signal.SIGUSR1, 3, None), (signal.SIGTERM, 143, None)],
)
def test_the_death_of_a_stage_tells_how_and_its_last_lines(
    tmp_path: Path, signum: int, exit_status: int | None, name: str | None
) -> None:
    async def kill(pipeline: LocalPipeline, watch: ServerWatch) -> None:
        os.kill(fake.by_title(pipeline.server, THINKER).pid, signum)
        assert "thinker (pid" in await watch.lost()

    death = first_unexpected(of(run(tmp_path, kill), ProcessDied))
    assert death.stage == "thinker"
    assert death.title.startswith(THINKER)
    assert (death.exit_status, death.signal) == (exit_status, name)
    assert death.last_lines[-1].endswith("is up")


def test_the_death_of_a_grandchild_is_recorded(tmp_path: Path) -> None:
    async def kill(pipeline: LocalPipeline, watch: ServerWatch) -> None:
        talker = fake.by_title(pipeline.server, "VLLM::StageEngineCoreProc_stage1")
        (worker,) = tree.descendants(talker.pid, tree.table())
        os.kill(worker.pid, signal.SIGKILL)
        await watch.lost()

    death = first_unexpected(of(run(tmp_path, kill), ProcessDied))
    # Its parent, which never reaps, keeps it as a zombie: dead all the same.
    assert (death.stage, death.signal) == ("talker/worker", "SIGKILL")


def test_the_death_of_the_api_server_takes_the_rest_along_and_all_are_recorded(tmp_path: Path) -> None:
    async def kill(pipeline: LocalPipeline, watch: ServerWatch) -> None:
        os.kill(pipeline.server.pid, signal.SIGKILL)
        await recorded(tmp_path, ProcessDied, lambda deaths: len(deaths) == len(LABELS))

    deaths = of(run(tmp_path, kill), ProcessDied)
    assert (deaths[0].stage, deaths[0].signal) == ("api_server", "SIGKILL")
    assert {event.stage for event in deaths} == LABELS
    # Asked by the kernel, when their parent died.
    assert {event.exit_status for event in deaths[1:]} == {143}
    assert not any(event.expected for event in deaths)


def test_a_server_that_died_unasked_is_no_orderly_stop_however_late_it_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a busy machine, where the rig hears of the end from the warden and stops before the watch comes to it."""

    async def kill(pipeline: LocalPipeline, watch: ServerWatch) -> None:
        def late() -> int:
            assert pipeline.stop_asked.wait(30)
            return monotonic_ns()

        monkeypatch.setattr(processes, "monotonic_ns", late)
        os.kill(pipeline.server.pid, signal.SIGKILL)
        await pipeline.gone.wait()

    (server,) = [death for death in of(run(tmp_path, kill), ProcessDied) if death.stage == "api_server"]
    assert (server.signal, server.expected) == ("SIGKILL", False)


def test_a_server_that_ends_before_the_first_look_at_it_is_seen_and_died(tmp_path: Path) -> None:
    known_ns: list[int] = []

    async def scenario() -> str:
        journal = Journal(tmp_path, "rig", "rig")
        pipeline = LocalPipeline(fake.fake_config(tmp_path), "/no/checkpoint", tmp_path, journal)
        watch = ServerWatch(pipeline, journal, Watch(after_load_s=0.0))
        try:
            await pipeline.start()
            os.kill(pipeline.server.pid, signal.SIGKILL)
            await pipeline.gone.wait()
            known_ns.append(monotonic_ns())
            watch.start()
        finally:
            await pipeline.stop()
            await watch.stop()
        return str(pipeline.server.pid)

    pid = asyncio.run(scenario())
    events = fake.events(tmp_path)
    assert [str(seen.pid) for seen in of(events, ProcessSeen) if seen.stage == "api_server"] == [pid]
    (server,) = [death for death in of(events, ProcessDied) if death.stage == "api_server"]
    assert (server.signal, server.expected) == ("SIGKILL", False)
    assert server.t_ns < known_ns[0], "it has the time at which it ended"


def test_a_death_is_stamped_when_it_happens(tmp_path: Path) -> None:
    stamps: list[int] = []

    async def kill(pipeline: LocalPipeline, watch: ServerWatch) -> None:
        victim = fake.by_title(pipeline.server, THINKER)
        stamps.append(monotonic_ns())
        os.kill(victim.pid, signal.SIGKILL)
        await watch.lost()
        stamps.append(monotonic_ns())

    death = first_unexpected(of(run(tmp_path, kill), ProcessDied))
    before, after = stamps
    assert before < death.t_ns < after
    # Not found by the periodic scan, which would make half its interval on average.
    assert death.t_ns - before < 250 * NS_PER_MS


def test_a_stage_that_is_frozen_is_recorded_and_is_no_death(tmp_path: Path) -> None:
    async def freeze(pipeline: LocalPipeline, watch: ServerWatch) -> None:
        thinker = fake.by_title(pipeline.server, THINKER)
        os.kill(thinker.pid, signal.SIGSTOP)
        await recorded(tmp_path, ProcessPaused, lambda events: len(events) == 1)
        os.kill(thinker.pid, signal.SIGCONT)
        await recorded(tmp_path, ProcessPaused, lambda events: len(events) == 2)

    events = run(tmp_path, freeze)
    assert [(event.stage, event.paused) for event in of(events, ProcessPaused)] == [
        ("thinker", True),
        ("thinker", False),
    ]
    assert all(event.expected for event in of(events, ProcessDied))
