"""Stands in for `vllm_omni.entrypoints.cli.main`: same process tree, titles, log prefixes, answers.

    API server ── stage 0, 1, 2 ── one worker each

FAKE_MODE: `ok`, `exit_in_boot`, `hang_in_boot`, `turn_based`. FAKE_STUBBORN=1: nobody heeds SIGTERM.
SIGUSR1 makes a stage or worker exit with status 3. SIGUSR2 makes a stage log a dead engine.
"""

import asyncio
import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable
from http import HTTPStatus

from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

libc = ctypes.CDLL(None)
MODE = os.environ.get("FAKE_MODE", "ok")
SIGNALS = {signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2}
STUBBORN = os.environ.get("FAKE_STUBBORN") == "1"


def say(name: str, text: str) -> None:
    os.write(2, f"({name} pid={os.getpid()}) INFO 01-31 12:00:00 [fake.py:1] {text}\n".encode())


def set_title(title: str) -> None:
    """Write over the command line, as setproctitle does."""
    with open("/proc/self/stat", encoding="utf-8") as stat:
        fields = stat.read().rpartition(")")[2].split()
    begin, end = int(fields[45]), int(fields[46])
    ctypes.memmove(begin, title.encode().ljust(end - begin, b"\0"), end - begin)


def child(title: str, log_name: str, body: Callable[[], None]) -> int:
    up_read, up_write = os.pipe()
    pid = os.fork()
    if pid > 0:
        os.read(up_read, 1)
        return pid
    libc.prctl(1, signal.SIGTERM, 0, 0, 0)
    set_title(title)
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    body()
    say(log_name, "is up")
    os.write(up_write, b"x")
    while True:
        match signal.sigwait(SIGNALS):
            case signal.SIGTERM if not STUBBORN:
                os._exit(143)
            case signal.SIGUSR1:
                os._exit(3)
            case signal.SIGUSR2:
                say(log_name, "EngineDeadError: the engine is dead")


def stage(number: int) -> int:
    name = f"StageEngineCoreProc_stage{number}_replica0"
    return child(f"VLLM::{name}_DP0", name, lambda: void(child("VLLM::Worker", "Worker", lambda: None)))


def void(_: object) -> None:
    return None


def answer_http(connection: ServerConnection, request: Request) -> Response | None:
    if request.path == "/health":
        return connection.respond(HTTPStatus.OK, "{}")
    return None


async def answer_websocket(connection: ServerConnection) -> None:
    if MODE == "turn_based":
        await connection.send(json.dumps({"type": "error", "code": "unsupported", "error": "no duplex"}))
        return
    async for _ in connection:
        error = {"code": "invalid_json", "message": "Invalid JSON in session.update"}
        await connection.send(json.dumps({"type": "error", "error": error}))
        return


async def main(port: int, stages: list[int]) -> None:
    stopping = asyncio.Event()
    if STUBBORN:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    async with serve(answer_websocket, "127.0.0.1", port, process_request=answer_http):
        say("APIServer", "is up")
        await stopping.wait()
    for pid in stages:
        os.kill(pid, signal.SIGTERM)
    for pid in stages:
        os.waitpid(pid, 0)
    say("APIServer", "is down")


if __name__ == "__main__":
    print("a line without a prefix", flush=True)
    processes = [stage(number) for number in range(3)]
    if MODE == "exit_in_boot":
        raise ValueError("the fake does not like its settings")
    if MODE == "hang_in_boot":
        signal.pause()
    asyncio.run(main(int(sys.argv[sys.argv.index("--port") + 1]), processes))
