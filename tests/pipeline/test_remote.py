"""The rig's end of a server on a host, with real hosts, real servers and real deaths."""

import asyncio
import os
import signal
import socket
from pathlib import Path

import pytest

from rig.errors import PipelineError, UsageError
from rig.events import journal
from rig.events.types import PhaseEntered, PipelineReady, PipelineStopped, ProcessDied, ProcessSeen
from rig.pipeline import tree
from rig.pipeline.orders import line
from rig.pipeline.probe import until_ready
from rig.pipeline.remote import HostAddress, RemoteServer, parse_host
from tests.pipeline import hosting
from tests.pipeline.fake import wait_for_end
from tests.pipeline.hosting import RunningHost, in_loop, order
from tests.ports import free_port


def remote(host: RunningHost, **settings: object) -> RemoteServer:
    return RemoteServer(host.address, order(**settings), ready_deadline_s=30.0, stop_grace_s=10.0)  # type: ignore[arg-type]


async def ready(host: RunningHost, **settings: object) -> RemoteServer:
    server = remote(host, **settings)
    await server.start()
    await server.wait_ready()
    return server


def server_process(host: RunningHost, run: str = "run-1") -> tree.Process:
    """The golden server, as the host recorded it."""
    events, _ = journal.read(host.results / run / "events" / "server.jsonl")
    seen = next(event for event in events if isinstance(event, ProcessSeen))
    found = tree.read(seen.pid)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "address"),
    [("server:8098", HostAddress("server", 8098)), ("::1:8098", HostAddress("::1", 8098))],
)
def test_a_host_is_a_name_and_a_port(text: str, address: HostAddress) -> None:
    assert parse_host(text) == address


@pytest.mark.parametrize("text", ["server", ":8098", "server:", "server:0", "server:65536", "server:x"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="give NAME:PORT"):
        parse_host(text)


@in_loop
async def test_a_server_is_started_watched_and_stopped_in_order(tmp_path: Path) -> None:
    with hosting.hosting(tmp_path) as host:
        server = await ready(host)
        await until_ready(server.url)
        process = server_process(host)
        await server.stop()
        wait_for_end([process])
    events, damage = journal.read(host.results / "run-1" / "events" / "server.jsonl")
    kinds = [type(event) for event in events]
    assert kinds.count(PipelineReady) == kinds.count(PipelineStopped) == 1
    (death,) = [event for event in events if isinstance(event, ProcessDied)]
    assert (death.pid, death.exit_status, death.expected) == (process.pid, 0, True)
    assert (damage.closed, damage.missing) == (True, 0)


@in_loop
async def test_the_url_holds_the_address_that_the_name_had(tmp_path: Path) -> None:
    with hosting.hosting(tmp_path) as host:
        named = HostAddress("localhost", host.address.port)
        server = RemoteServer(named, order(), ready_deadline_s=30.0, stop_grace_s=10.0)
        await server.start()
        await server.wait_ready()
        assert server.url.startswith("ws://127.0.0.1:")
        await server.stop()


@in_loop
async def test_a_host_takes_one_order_after_another(tmp_path: Path) -> None:
    with hosting.hosting(tmp_path) as host:
        for run in ("run-1", "run-2"):
            server = await ready(host, run=run)
            await server.stop()
    assert sorted(path.name for path in host.results.iterdir()) == ["run-1", "run-2"]


@in_loop
async def test_a_results_folder_that_the_host_cannot_write_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file, not a folder")
    with hosting.hosting(tmp_path) as host:
        server = remote(host)
        await server.start()
        with pytest.raises(PipelineError, match=f"Not a directory: '{tmp_path}/results/run-1") as caught:
            await server.wait_ready()
        await server.stop()
    assert "\n" not in str(caught.value)


@in_loop
async def test_a_death_of_the_server_is_told_at_once_with_its_signal(tmp_path: Path) -> None:
    with hosting.hosting(tmp_path) as host:
        server = await ready(host)
        process = server_process(host)
        tree.send(process, signal.SIGKILL)
        assert await server.lost() == f"api_server (pid {process.pid}) was killed by SIGKILL"
        await server.stop()


@in_loop
async def test_a_host_that_is_gone_is_a_lost_server(tmp_path: Path) -> None:
    with hosting.hosting(tmp_path) as host:
        server = await ready(host)
        process = server_process(host)
        os.kill(host.process.pid, signal.SIGKILL)
        assert "is gone" in await server.lost()
        await server.stop()
        # Its warden stops what it left.
        wait_for_end([process])
    _, damage = journal.read(host.results / "run-1" / "events" / "server.jsonl")
    assert not damage.closed


@in_loop
async def test_a_rig_that_is_gone_stops_the_server_and_ends_its_journal(tmp_path: Path) -> None:
    with hosting.hosting(tmp_path) as host:
        reader, writer = await asyncio.open_connection(host.address.name, host.address.port)
        writer.write(line(order()))
        assert b'"ready"' in await reader.readline()
        process = server_process(host)
        writer.close()
        await writer.wait_closed()
        wait_for_end([process])
        path = host.results / "run-1" / "events" / "server.jsonl"
        hosting.wait_for(lambda: journal.read(path)[1].closed, "the host's journal has no end")
        kinds = [event for event in journal.read(path)[0] if isinstance(event, PhaseEntered | ProcessDied)]
        assert [type(event) for event in kinds] == [PhaseEntered, ProcessDied]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"token": "guessed"}, "does not know this token"),
        ({"run": "../outside"}, "cannot be the name of a results folder"),
        ({"golden": {"reply_s": -1}}, "reply_s"),
        ({"served_modell": "x"}, "unknown key"),
    ],
)
@in_loop
async def test_a_refused_order_says_why(tmp_path: Path, settings: dict[str, object], why: str) -> None:
    with hosting.hosting(tmp_path) as host:
        server = remote(host, **settings)
        await server.start()
        with pytest.raises(PipelineError, match=why):
            await server.wait_ready()
        await server.stop()


@in_loop
async def test_a_server_that_cannot_start_says_its_last_words(tmp_path: Path) -> None:
    with socket.socket() as taken, hosting.hosting(tmp_path) as host:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        server = remote(host, port=taken.getsockname()[1])
        await server.start()
        with pytest.raises(PipelineError, match=r"before it was ready.*cannot listen"):
            await server.wait_ready()
        await server.stop()


@in_loop
async def test_a_second_rig_is_refused_while_the_first_has_the_host(tmp_path: Path) -> None:
    with hosting.hosting(tmp_path) as host:
        first, second = remote(host), remote(host, run="run-2")
        await first.start()
        await first.wait_ready()
        await second.start()
        with pytest.raises(PipelineError, match="for another rig"):
            await second.wait_ready()
        await second.stop()
        await first.stop()


@in_loop
async def test_no_host_is_said_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rig.pipeline.remote.CONNECT_LIMIT_S", 1.0)
    server = RemoteServer(HostAddress("127.0.0.1", free_port()), order(), 1.0, 1.0)
    with pytest.raises(PipelineError, match="no host of a server at 127"):
        await server.start()
    await server.stop()
