"""Two questions to a server from outside: does it say it is healthy, and does it speak duplex?"""

import asyncio
import json
import ssl
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

import websockets

from rig.clock import monotonic_ns
from rig.errors import PipelineError

PROBE = "readiness probe"
"""No JSON on purpose: a duplex server answers `invalid_json` and opens no session."""

DUPLEX_ANSWER = "invalid_json"
OK = 200
PROBE_TIMEOUT_S = 10.0
PROBE_INTERVAL_S = 0.2


@dataclass(frozen=True)
class Health:
    """One GET /health; `status` is None when no answer came, then `error` tells why."""

    status: int | None
    latency_ns: int
    error: str | None


@dataclass(frozen=True)
class Duplex:
    """Whether `/v1/realtime?duplex=1` is duplex mode; `problem` is None then."""

    problem: str | None
    final: bool
    """The server answered, and waiting will not change the answer."""


async def health(url: str, timeout_s: float) -> Health:
    """GET /health of the server with this WebSocket base URL; takes `timeout_s` at most, never raises."""
    begin_ns = monotonic_ns()
    try:
        # Not wait_for: before Python 3.12 that can swallow a cancellation.
        async with asyncio.timeout(timeout_s):
            status = await _get_status(url, "/health")
    except TimeoutError:
        return Health(None, monotonic_ns() - begin_ns, f"no answer within {timeout_s:g} s")
    except (OSError, EOFError, ValueError) as error:
        return Health(None, monotonic_ns() - begin_ns, f"{type(error).__name__}: {error}")
    return Health(status, monotonic_ns() - begin_ns, None)


async def duplex(url: str, timeout_s: float) -> Duplex:
    """Ask for a duplex session in a way that opens none; takes `timeout_s` at most, never raises."""
    try:
        async with asyncio.timeout(timeout_s):
            answer = await _ask_duplex(url)
    except (OSError, EOFError, ValueError, websockets.WebSocketException) as error:
        return Duplex(f"/v1/realtime?duplex=1 does not answer: {type(error).__name__}: {error}", final=False)
    code = _error_code(answer)
    if code == DUPLEX_ANSWER:
        return Duplex(None, final=True)
    return Duplex(f"/v1/realtime?duplex=1 is not in duplex mode, it answers: {answer[:200]}", final=True)


async def _ask_duplex(url: str) -> str:
    async with websockets.connect(f"{url}/v1/realtime?duplex=1", open_timeout=None, close_timeout=1) as socket:
        # A server that refuses may have answered and closed already; its answer can still be read.
        with suppress(websockets.ConnectionClosed):
            await socket.send(PROBE)
        answer = await socket.recv()
    return answer if isinstance(answer, str) else answer.decode(errors="replace")


def _error_code(answer: str) -> str | None:
    try:
        event = json.loads(answer)
    except json.JSONDecodeError:
        return None
    if not isinstance(event, dict):
        return None
    # Duplex errors nest (`error.code`), the errors of other modes are flat.
    nested = event.get("error")
    code = nested.get("code") if isinstance(nested, dict) else event.get("code")
    return code if isinstance(code, str) else None


async def _get_status(url: str, path: str) -> int:
    """Status of a GET. Raises OSError, EOFError or ValueError when there is no HTTP answer."""
    parts = urlsplit(url)
    secure = parts.scheme == "wss"
    port = parts.port if parts.port is not None else (443 if secure else 80)
    context = ssl.create_default_context() if secure else None
    reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=context)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        line = await reader.readline()
    finally:
        writer.transport.abort()
    version, _, rest = line.decode("latin-1").partition(" ")
    if not version.startswith("HTTP/"):
        raise EOFError("the connection closed without an HTTP answer") if not line else ValueError(repr(line))
    return int(rest.split(" ", 1)[0])


async def until_ready(url: str) -> None:
    """Return when the server is healthy and in duplex mode; waits without end otherwise.

    Raises PipelineError when it answers, but not in duplex mode.
    """
    while True:
        if (await health(url, PROBE_TIMEOUT_S)).status == OK:
            answer = await duplex(url, PROBE_TIMEOUT_S)
            if answer.problem is None:
                return
            if answer.final:
                raise PipelineError(answer.problem)
        await asyncio.sleep(PROBE_INTERVAL_S)
