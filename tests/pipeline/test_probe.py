"""Questions to a server that answers, hangs, refuses, or is no web server at all."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from rig.pipeline import probe
from tests.ports import free_port

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def with_server(handler: Handler, question: Callable[[str], Awaitable[probe.Health]]) -> probe.Health:
    handled = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionResetError):
            await handler(reader, writer)
        writer.transport.abort()
        handled.set()

    async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        answer = await question(f"ws://127.0.0.1:{port}")
        await handled.wait()
    return answer


def saying(answer: bytes) -> Handler:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    return handler


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


def test_a_status_is_what_the_server_says() -> None:
    answer = saying(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
    found = asyncio.run(with_server(answer, lambda url: probe.health(url, 10)))
    assert (found.status, found.error) == (503, None)
    assert found.latency_ns > 0


def test_a_server_that_hangs_costs_the_time_limit_only() -> None:
    found = asyncio.run(with_server(silent, lambda url: probe.health(url, 0.05)))
    assert found.status is None
    assert found.error == "no answer within 0.05 s"


def test_a_server_that_hangs_up_without_an_answer_is_an_error() -> None:
    found = asyncio.run(with_server(saying(b""), lambda url: probe.health(url, 10)))
    assert found.status is None
    assert found.error is not None
    assert "without an HTTP answer" in found.error


def test_what_is_no_http_is_an_error() -> None:
    found = asyncio.run(with_server(saying(b"SSH-2.0-x\r\n"), lambda url: probe.health(url, 10)))
    assert found.status is None
    assert found.error is not None
    assert "SSH-2.0" in found.error


def test_a_port_nobody_listens_on_is_an_error_that_may_pass() -> None:
    url = f"ws://127.0.0.1:{free_port()}"
    found = asyncio.run(probe.health(url, 10))
    assert found.status is None
    assert found.error is not None
    answer = asyncio.run(probe.duplex(url, 10))
    assert answer.problem is not None
    assert not answer.final


def test_a_cancellation_always_ends_the_wait_for_readiness() -> None:
    async def scenario() -> None:
        url = f"ws://127.0.0.1:{free_port()}"
        for steps in range(40):
            task = asyncio.create_task(probe.until_ready(url))
            # Cancelled at another point of its work each time, also just when an answer comes in.
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait({task}, timeout=20)
            assert task.cancelled()

    asyncio.run(scenario())
