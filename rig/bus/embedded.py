"""Starting, watching over and stopping the embedded broker. A broker that dies is started again on the same port."""

import asyncio
import contextlib
import signal
import socket
import sys

from rig.bus.address import Address
from rig.bus.broker import HOST
from rig.errors import BusError
from rig.events.bus import BrokerExited
from rig.events.journal import Recorder

START_LIMIT_S = 20.0
POLL_S = 0.05
RESTART_PAUSE_S = 0.2


class EmbeddedBroker:
    """One broker process at a time, from `start` to `stop`."""

    def __init__(self, journal: Recorder) -> None:
        self._journal = journal
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None
        self._port = 0

    @property
    def pid(self) -> int:
        """Pid of the broker that runs now."""
        assert self._process is not None
        return self._process.pid

    @property
    def address(self) -> Address:
        """Where it listens; known after `start`."""
        return Address(HOST, self._port)

    async def start(self) -> None:
        """Start it on a free port and return when it takes connections. Raises BusError."""
        with socket.socket() as listener:
            listener.bind((HOST, 0))
            self._port = listener.getsockname()[1]
        await self._launch()
        self._watch = asyncio.create_task(self._keep_alive())

    async def stop(self) -> None:
        """End it. Harmless at any time, and twice."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
        process = self._process
        if process is not None and process.returncode is None:
            process.kill()  # it keeps nothing that could be lost
            await process.wait()
        if process is not None and process.stdin is not None:
            process.stdin.close()

    async def _launch(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "rig.bus.broker", str(self._port)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(START_LIMIT_S):
                while not await self._answers():
                    if self._process.returncode is not None:
                        raise BusError(f"the embedded broker ended at once with status {self._process.returncode}")
                    await asyncio.sleep(POLL_S)
        except TimeoutError as error:
            self._process.kill()
            raise BusError(f"the embedded broker took no connection within {START_LIMIT_S:g} s") from error

    async def _answers(self) -> bool:
        try:
            _, writer = await asyncio.open_connection(HOST, self._port)
        except OSError:
            return False
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        return True

    async def _keep_alive(self) -> None:
        while True:
            assert self._process is not None
            status = await self._process.wait()
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._journal.record(
                BrokerExited,
                pid=self._process.pid,
                exit_status=status if status >= 0 else None,
                signal=signal.Signals(-status).name if status < 0 else None,
            )
            await asyncio.sleep(RESTART_PAUSE_S)
            with contextlib.suppress(BusError):  # its end is recorded, and the next try follows
                await self._launch()
