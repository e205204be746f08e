"""A local server comes up, or says in one line why not; it goes down in order, and leaves nothing behind."""

import asyncio
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rig.errors import PipelineError
from rig.events.types import PipelineReady, PipelineStopped
from rig.pipeline import tree
from rig.pipeline.warden import NAMED_SEGMENTS
from tests.golden.child import child
from tests.pipeline import fake


def stopped(folder: Path) -> PipelineStopped:
    (event,) = [event for event in fake.events(folder) if isinstance(event, PipelineStopped)]
    return event


def test_a_server_that_comes_up_is_ready_and_stops_in_order(tmp_path: Path) -> None:
    async def scenario() -> list[tree.Process]:
        pipeline = fake.pipeline(tmp_path, fake.fake_config(tmp_path))
        await pipeline.start()
        await pipeline.wait_ready()
        processes = fake.family_of(pipeline.server)
        await pipeline.stop()
        return processes

    processes = asyncio.run(scenario())
    assert len(processes) == 7
    fake.wait_for_end(processes)
    (ready,) = [event for event in fake.events(tmp_path) if isinstance(event, PipelineReady)]
    assert ready.boot_ns > 0
    assert stopped(tmp_path).forced == []


def test_a_server_that_leaves_more_in_shared_memory_than_a_line_can_hold_is_stopped_and_told(tmp_path: Path) -> None:
    """The lock files of a server that clears away nothing after an abort, with names as long as theirs."""
    lock_files = [Path(f"/dev/shm/rig-test-{os.getpid()}-{number:04d}-{'x' * 80}.lock") for number in range(1500)]

    async def scenario() -> None:
        pipeline = fake.pipeline(tmp_path, fake.fake_config(tmp_path))
        await pipeline.start()
        await pipeline.wait_ready()
        for lock_file in lock_files:
            lock_file.touch()
        await pipeline.stop()

    try:
        asyncio.run(scenario())
    finally:
        for lock_file in lock_files:
            lock_file.unlink(missing_ok=True)
    event = stopped(tmp_path)
    assert len(event.segments_left) == NAMED_SEGMENTS
    assert event.left_in_all is not None
    assert event.left_in_all >= len(lock_files)


def test_a_stranger_that_answers_on_its_port_is_not_taken_for_the_server(tmp_path: Path) -> None:
    async def scenario(port: int) -> str:
        pipeline = fake.pipeline(tmp_path, fake.fake_config(tmp_path, mode="hang_in_boot", port=port))
        await pipeline.start()
        try:
            with pytest.raises(PipelineError) as error:
                await pipeline.wait_ready()
        finally:
            await pipeline.stop()
        return str(error.value)

    with child(tmp_path) as stranger:
        text = asyncio.run(scenario(stranger.port))
        assert f"another process (pid {stranger.process.pid}: " in text
    assert "the server that was started does not" in text
    assert not any(isinstance(event, PipelineReady) for event in fake.events(tmp_path))


def test_two_servers_that_are_started_side_by_side_get_ports_of_their_own(tmp_path: Path) -> None:
    async def scenario() -> set[str]:
        pipelines = []
        for name in ("one", "other"):
            folder = tmp_path / name
            folder.mkdir()
            pipelines.append(fake.pipeline(folder, fake.fake_config(folder)))
        try:
            for pipeline in pipelines:
                await pipeline.start()
            for pipeline in pipelines:
                await pipeline.wait_ready()
            return {pipeline.url for pipeline in pipelines}
        finally:
            for pipeline in pipelines:
                await pipeline.stop()

    assert len(asyncio.run(scenario())) == 2


def test_the_log_is_kept_whole_and_split_by_process(tmp_path: Path) -> None:
    async def scenario() -> int:
        pipeline = fake.pipeline(tmp_path, fake.fake_config(tmp_path))
        await pipeline.start()
        await pipeline.wait_ready()
        await pipeline.stop()
        return pipeline.server.pid

    pid = asyncio.run(scenario())
    logs = tmp_path / "logs"
    whole = (logs / "server.log").read_text()
    assert "a line without a prefix" in whole
    assert f"(APIServer pid={pid})" in whole
    assert (logs / f"APIServer-{pid}.log").read_text().splitlines()[-1].endswith("is down")
    assert (logs / "unprefixed.log").read_text() == "a line without a prefix\n"
    assert len(list(logs.glob("Worker-*.log"))) == 3


def test_a_server_that_exits_during_boot_is_reported_with_its_exception_and_log(tmp_path: Path) -> None:
    async def scenario() -> list[tree.Process]:
        pipeline = fake.pipeline(tmp_path, fake.fake_config(tmp_path, mode="exit_in_boot"))
        await pipeline.start()
        processes = fake.family_of(pipeline.server)
        try:
            with pytest.raises(PipelineError) as error:
                await pipeline.wait_ready()
        finally:
            await pipeline.stop()
        text = str(error.value)
        assert "exited with status 1 before it was ready" in text
        assert "ValueError: the fake does not like its settings" in text
        assert str(tmp_path / "logs" / "server.log") in text
        assert len(text.splitlines()) == 1
        return processes

    fake.wait_for_end(asyncio.run(scenario()))


def test_a_server_that_hangs_during_boot_is_given_up_at_the_deadline(tmp_path: Path) -> None:
    async def scenario() -> list[tree.Process]:
        settings = fake.fake_config(tmp_path, mode="hang_in_boot", ready_deadline_s=1.0)
        pipeline = fake.pipeline(tmp_path, settings)
        await pipeline.start()
        try:
            with pytest.raises(PipelineError, match="not ready within 1 s"):
                await pipeline.wait_ready()
            return fake.family_of(pipeline.server)
        finally:
            await pipeline.stop()

    fake.wait_for_end(asyncio.run(scenario()))


def test_a_server_in_turn_mode_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        pipeline = fake.pipeline(tmp_path, fake.fake_config(tmp_path, mode="turn_based"))
        await pipeline.start()
        try:
            with pytest.raises(PipelineError, match="not in duplex mode"):
                await pipeline.wait_ready()
        finally:
            await pipeline.stop()

    asyncio.run(scenario())


def test_a_command_that_cannot_be_run_is_reported(tmp_path: Path) -> None:
    async def scenario() -> None:
        settings = fake.fake_config(tmp_path)
        broken = settings.model_copy(update={"env": {"PYTHONPATH": "", "PYTHONHOME": "/nowhere"}})
        pipeline = fake.pipeline(tmp_path, broken)
        await pipeline.start()
        try:
            with pytest.raises(PipelineError, match="before it was ready"):
                await pipeline.wait_ready()
        finally:
            await pipeline.stop()

    asyncio.run(scenario())


def test_a_server_that_ignores_sigterm_is_killed_and_named(tmp_path: Path) -> None:
    async def scenario() -> list[tree.Process]:
        settings = fake.fake_config(tmp_path, stubborn=True, stop_grace_s=0.5)
        pipeline = fake.pipeline(tmp_path, settings)
        await pipeline.start()
        await pipeline.wait_ready()
        processes = fake.family_of(pipeline.server)
        await pipeline.stop()
        return processes

    processes = asyncio.run(scenario())
    fake.wait_for_end(processes)
    assert sorted(stopped(tmp_path).forced) == sorted(process.pid for process in processes)


def test_stopping_twice_at_once_and_again_later_stops_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        pipeline = fake.pipeline(tmp_path, fake.fake_config(tmp_path))
        await pipeline.start()
        await pipeline.wait_ready()
        await asyncio.gather(pipeline.stop(), pipeline.stop())
        await pipeline.stop()

    asyncio.run(scenario())
    assert stopped(tmp_path).forced == []


def test_stopping_what_was_never_started_does_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        await fake.pipeline(tmp_path, fake.fake_config(tmp_path)).stop()

    asyncio.run(scenario())
    assert not [event for event in fake.events(tmp_path) if isinstance(event, PipelineStopped)]


def test_a_cancellation_during_boot_still_stops_the_server(tmp_path: Path) -> None:
    async def run(started: asyncio.Queue[list[tree.Process]]) -> None:
        pipeline = fake.pipeline(tmp_path, fake.fake_config(tmp_path, mode="hang_in_boot"))
        try:
            await pipeline.start()
            started.put_nowait(fake.family_of(pipeline.server))
            await pipeline.wait_ready()
        finally:
            await pipeline.stop()

    async def scenario() -> list[tree.Process]:
        started: asyncio.Queue[list[tree.Process]] = asyncio.Queue()
        task = asyncio.create_task(run(started))
        processes = await started.get()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return processes

    fake.wait_for_end(asyncio.run(scenario()))


def test_a_cancellation_while_stopping_waits_for_the_end_of_the_stop(tmp_path: Path) -> None:
    async def scenario() -> list[tree.Process]:
        settings = fake.fake_config(tmp_path, stubborn=True, stop_grace_s=0.5)
        pipeline = fake.pipeline(tmp_path, settings)
        await pipeline.start()
        await pipeline.wait_ready()
        processes = fake.family_of(pipeline.server)
        task = asyncio.create_task(pipeline.stop())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert fake.family_of(pipeline.server) == []
        return processes

    fake.wait_for_end(asyncio.run(scenario()))


def test_a_server_that_dies_while_it_runs_is_noticed(tmp_path: Path) -> None:
    async def scenario() -> str:
        pipeline = fake.pipeline(tmp_path, fake.fake_config(tmp_path))
        await pipeline.start()
        await pipeline.wait_ready()
        processes = fake.family_of(pipeline.server)
        os.kill(pipeline.server.pid, signal.SIGKILL)
        await pipeline.gone.wait()
        await pipeline.stop()
        fake.wait_for_end(processes)
        return pipeline.gone_why

    assert "was killed by SIGKILL" in asyncio.run(scenario())
    assert stopped(tmp_path).forced == []


@pytest.mark.parametrize("stubborn", [False, True])
def test_a_killed_warden_is_noticed_and_the_server_stopped_without_it(tmp_path: Path, stubborn: bool) -> None:
    async def scenario() -> list[tree.Process]:
        settings = fake.fake_config(tmp_path, stubborn=stubborn, stop_grace_s=0.5)
        pipeline = fake.pipeline(tmp_path, settings)
        await pipeline.start()
        await pipeline.wait_ready()
        processes = fake.family_of(pipeline.server)
        os.kill(processes[0].ppid, signal.SIGKILL)
        await pipeline.gone.wait()
        assert pipeline.gone_why == "the warden was killed"
        await pipeline.stop()
        return processes

    processes = asyncio.run(scenario())
    fake.wait_for_end(processes)
    assert len(processes) == 7
    assert len(stopped(tmp_path).forced) == (7 if stubborn else 0)


def test_nothing_outlives_a_rig_that_is_killed(tmp_path: Path) -> None:
    rig = subprocess.Popen(
        [sys.executable, "-m", "tests.pipeline.mini_rig", str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    with rig:
        assert rig.stdout is not None
        assert select.select([rig.stdout], [], [], 30.0)[0], "the rig did not come up"
        server = tree.read(int(rig.stdout.readline()))
        assert server is not None
        warden = tree.read(server.ppid)
        assert warden is not None
        processes = [warden, *fake.family_of(server)]
        rig.kill()
    assert len(processes) == 8
    fake.wait_for_end(processes)
    assert "is down" in (tmp_path / "logs" / "server.log").read_text(), "it was not stopped in order"
