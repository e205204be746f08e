"""One server for several runs: each has its own part of the log, and what happened between two is noticed."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from rig.errors import PipelineError
from rig.events import journal as journals
from rig.events import ring
from rig.events.journal import Journal
from rig.events.types import AnyEvent, PipelineKept, PipelineReady, PipelineStopped
from rig.pipeline import tree
from rig.pipeline.local import LocalPipeline
from rig.pipeline.shared import STOP_PRODUCER, Afterwards, SharedServer
from tests.pipeline import fake


def run_folder(folder: Path, name: str) -> tuple[Path, Journal]:
    run = folder / name
    run.mkdir()
    return run, Journal(run, "rig", "rig")


async def taken(server: SharedServer, folder: Path, name: str) -> LocalPipeline:
    run, journal = run_folder(folder, name)
    pipeline = server.take(fake.fake_config(folder), "/no/checkpoint", run, journal)
    await pipeline.start()
    await pipeline.wait_ready()
    return pipeline


async def left(server: SharedServer, folder: Path, name: str) -> LocalPipeline:
    pipeline = await taken(server, folder, name)
    await pipeline.leave()
    server.left(fake.family_of(pipeline.server))
    return pipeline


def events(folder: Path, producer: str = "rig") -> list[AnyEvent]:
    found, _ = journals.read(folder / f"{producer}.jsonl")
    return found


def identities(pipeline: LocalPipeline) -> set[tuple[int, int]]:
    return {(process.pid, process.start_ticks) for process in fake.family_of(pipeline.server)}


def no_line(_: str) -> str | None:
    return None


def test_the_next_run_has_the_same_processes_and_only_its_part_of_the_log(tmp_path: Path) -> None:
    async def scenario() -> None:
        server = SharedServer(tmp_path / "home")
        first = await left(server, tmp_path, "one")
        processes = fake.family_of(first.server)
        assert server.kept
        assert server.afterwards(no_line) == Afterwards()
        with first.log.source.open("a") as log:
            log.write("(APIServer pid=1) said to the second run\n")
        second = await taken(server, tmp_path, "two")
        assert identities(second) == {(process.pid, process.start_ticks) for process in processes}
        await second.stop()
        assert await server.stop(tmp_path) == ""
        fake.wait_for_end(processes)

    asyncio.run(scenario())
    (ready,) = [event for event in events(tmp_path / "two") if isinstance(event, PipelineReady)]
    assert ready.earlier_runs == 1
    assert [type(event) for event in events(tmp_path / "one")].count(PipelineKept) == 1
    assert not any(isinstance(event, PipelineStopped) for event in events(tmp_path / "one"))
    assert any(isinstance(event, PipelineStopped) for event in events(tmp_path / "two"))
    whole = (tmp_path / "home" / "logs" / "server.log").read_text()
    one, two = ((tmp_path / name / "logs" / "server.log").read_text() for name in ("one", "two"))
    assert one + two == whole
    assert "a line without a prefix" in one
    assert "said to the second run" in two
    assert (tmp_path / "two" / "server" / "launch.json").is_file()
    assert not (tmp_path / STOP_PRODUCER).with_suffix(".jsonl").exists()


def test_a_process_that_died_between_two_runs_is_noticed_and_the_stop_is_recorded_apart(tmp_path: Path) -> None:
    async def scenario() -> tree.Process:
        server = SharedServer(tmp_path / "home")
        pipeline = await left(server, tmp_path, "one")
        victim = fake.family_of(pipeline.server)[-1]
        os.kill(victim.pid, signal.SIGKILL)
        fake.wait_for_end([victim])
        after = server.afterwards(no_line)
        assert (after.died, after.what) == (1, f"pids {victim.pid} of the server died")
        await server.stop(tmp_path / "one")
        assert not server.kept
        return pipeline.server

    fake.wait_for_end([asyncio.run(scenario())])
    assert any(isinstance(event, PipelineStopped) for event in events(tmp_path / "one", STOP_PRODUCER))


def test_a_bad_line_between_two_runs_is_noticed_once_and_belongs_to_neither(tmp_path: Path) -> None:
    async def scenario() -> None:
        server = SharedServer(tmp_path / "home")
        pipeline = await left(server, tmp_path, "one")
        try:
            with pipeline.log.source.open("a") as log:
                log.write("(APIServer pid=1) a bad line\n")
            bad = {"a bad line": "badness"}
            assert server.afterwards(bad.get).what == "the server's log showed badness"
            assert server.afterwards(bad.get) == Afterwards()
            again = await left(server, tmp_path, "two")
            assert again.earlier_runs == 1
        finally:
            await server.stop(tmp_path / "one")

    asyncio.run(scenario())
    for name in ("one", "two"):
        assert "a bad line" not in (tmp_path / name / "logs" / "server.log").read_text()


def test_a_server_whose_stop_cannot_be_recorded_is_stopped(tmp_path: Path) -> None:
    async def scenario() -> tuple[list[tree.Process], str]:
        server = SharedServer(tmp_path / "home")
        pipeline = await left(server, tmp_path, "one")
        return fake.family_of(pipeline.server), await server.stop(tmp_path / "gone")

    processes, problem = asyncio.run(scenario())
    fake.wait_for_end(processes)
    assert problem == f"cannot create {tmp_path}/gone/{STOP_PRODUCER}.jsonl: No such file or directory"


def test_a_server_that_cannot_be_left_is_stopped(tmp_path: Path) -> None:
    async def scenario() -> list[tree.Process]:
        server = SharedServer(tmp_path / "home")
        pipeline = await taken(server, tmp_path, "one")
        rings = tmp_path / "home" / ring.FOLDER
        rings.mkdir()
        (rings / "lost.ring").symlink_to("nowhere")
        processes = fake.family_of(pipeline.server)
        with pytest.raises(OSError, match=r"lost\.ring"):
            await pipeline.leave()
        return processes

    fake.wait_for_end(asyncio.run(scenario()))
    found = [type(event) for event in events(tmp_path / "one")]
    assert (found.count(PipelineStopped), found.count(PipelineKept)) == (1, 0)


def test_a_server_that_is_not_kept_needs_no_stop(tmp_path: Path) -> None:
    server = SharedServer(tmp_path / "home")
    assert asyncio.run(server.stop(tmp_path)) == ""
    assert server.afterwards(no_line) == Afterwards()
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_died_is_not_ready_for_the_next_run(tmp_path: Path) -> None:
    async def scenario() -> str:
        server = SharedServer(tmp_path / "home")
        pipeline = await left(server, tmp_path, "one")
        os.kill(pipeline.server.pid, signal.SIGKILL)
        fake.wait_for_end([pipeline.server])
        await pipeline.gone.wait()
        try:
            await taken(server, tmp_path, "two")
        except PipelineError as error:
            return str(error)
        finally:
            await pipeline.stop()
        return ""

    assert "was killed by SIGKILL before it was ready" in asyncio.run(scenario())
