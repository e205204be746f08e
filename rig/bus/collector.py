"""The collecting end of the bus: what producers publish becomes results/<run>/events/<producer>.jsonl.

A batch that does not follow on what is there, or could not be written, is left out and asked for again until it comes.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import aiomqtt

from rig.bus import wire
from rig.bus.address import Address
from rig.bus.collected import CollectedFile, Taken
from rig.errors import BusError
from rig.events.bus import BusChanged, ProducerRefused, ProducerState, ProducerStatus
from rig.events.journal import Recorder

RECONNECT_S = 0.5
ASK_AGAIN_S = 1.0
CLIENT_TIMEOUT_S = 5.0

quiet_log = logging.getLogger("rig.bus")
quiet_log.setLevel(logging.CRITICAL)  # what the client says of a broken connection is recorded as an event


@dataclass
class Known:
    """One producer as far as it is known. `size` is the length of its journal, once it said that it is closed."""

    place: wire.Place
    spool: str
    file: CollectedFile
    state: ProducerState | None = None
    size: int | None = None
    behind: bool = False

    @property
    def complete(self) -> bool:
        """Whether its whole journal is here."""
        return self.size is not None and self.file.size == self.size


class Collector:
    """Made and used in one event loop. The rig's own journal is where it belongs already: `own` is left alone."""

    def __init__(self, address: Address, run: str, events: Path, journal: Recorder, own: str) -> None:
        self.known: dict[str, Known] = {}
        self._address = address
        self._run = run
        self._events = events
        self._journal = journal
        self._own = own
        self._client: aiomqtt.Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._up: bool | None = None
        self._refused: set[tuple[str, str]] = set()
        self._moved = asyncio.Condition()

    async def start(self, limit_s: float = CLIENT_TIMEOUT_S) -> None:
        """Begin; return when subscribed, or after `limit_s` without (it goes on trying)."""
        self._task = asyncio.create_task(self._keep_collecting())
        await self.wait_for(lambda: self._up is True, limit_s)

    async def wait_for(self, condition: Callable[[], bool], limit_s: float) -> bool:
        """Wait until a condition on what is known holds; whether it does."""
        try:
            async with asyncio.timeout(limit_s), self._moved:
                await self._moved.wait_for(condition)
        except TimeoutError:
            return condition()
        return True

    @property
    def connected(self) -> bool:
        """Whether the bus is there now."""
        return self._up is True

    async def stop(self) -> None:
        """End collecting and close the files. Harmless twice."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for known in self.known.values():
            known.file.close()

    # ---- the connection

    async def _keep_collecting(self) -> None:
        while True:
            try:
                await self._collect()
            except (aiomqtt.MqttError, OSError) as error:
                await self._set_up(up=False, detail=str(error))
            finally:
                self._client = None
            await asyncio.sleep(RECONNECT_S)

    async def _collect(self) -> None:
        address = self._address
        async with aiomqtt.Client(
            address.host,
            address.port,
            username=address.user,
            password=address.password(),
            identifier=f"{self._run}-collector",
            tls_context=address.tls_context(),
            tls_insecure=address.insecure if address.tls else None,
            timeout=CLIENT_TIMEOUT_S,
            keepalive=10,
            logger=quiet_log,
        ) as client:
            self._client = client
            await client.subscribe([(wire.all_of(self._run, "events"), 1), (wire.all_of(self._run, "status"), 1)])
            await self._set_up(up=True, detail="")
            asking = asyncio.create_task(self._keep_asking())
            try:
                async for message in client.messages:
                    await self._on_message(message)
            finally:
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)

    async def _set_up(self, *, up: bool, detail: str) -> None:
        if up is not self._up:
            self._journal.record(BusChanged, up=up, url=self._address.url, detail=detail)
        async with self._moved:
            self._up = up
            self._moved.notify_all()

    # ---- what producers say

    async def _on_message(self, message: aiomqtt.Message) -> None:
        payload = message.payload
        try:
            place, kind = wire.place_of(str(message.topic))
            if place.producer == self._own:
                return
            if kind == "events":
                await self._on_batch(place, wire.decode_batch(payload))
            else:
                await self._on_status(place, wire.decode_status(payload))
        except BusError as error:
            self._refuse_once(str(message.topic), "", "", str(error))
        async with self._moved:
            self._moved.notify_all()

    async def _on_batch(self, place: wire.Place, batch: wire.Batch) -> None:
        known = await self._claim(place, batch.spool)
        if known is None:
            return
        behind = known.file.take(batch.offset, batch.data) in (Taken.GAP, Taken.NOT_WRITTEN)
        if behind and not known.behind:
            await self._tell(known.place, "resend", known.spool, known.file.size)
        known.behind = behind

    async def _on_status(self, place: wire.Place, status: wire.Status) -> None:
        known = await self._claim(place, status.spool)
        if known is None:
            return
        if known.state is not status.state:
            known.state = status.state
            self._journal.record(
                ProducerStatus,
                producer=place.producer,
                role=place.role,
                host=status.host,
                pid=status.pid,
                state=status.state,
            )
        known.size = status.size
        if known.complete:
            await self._tell(place, "done", known.spool, known.file.size)
        elif status.state is ProducerState.CLOSED:
            known.behind = True
            await self._tell(place, "resend", known.spool, known.file.size)

    async def _claim(self, place: wire.Place, spool: str) -> Known | None:
        """The producer of that name, if this journal is the one that has the name."""
        known = self.known.get(place.producer)
        if known is None:
            try:
                known = Known(place, spool, CollectedFile(self._events / f"{place.producer}.jsonl"))
            except BusError as error:
                await self._refuse(place, spool, str(error))
                return None
            self.known[place.producer] = known
        if (known.spool, known.place) == (spool, place):
            return known
        await self._refuse(place, spool, f"the run has a producer of the name {place.producer} already")
        return None

    async def _refuse(self, place: wire.Place, spool: str, why: str) -> None:
        self._refuse_once(spool, place.producer, place.role, why)
        await self._tell(place, "refuse", spool, why=why)

    def _refuse_once(self, spool: str, producer: str, role: str, why: str) -> None:
        if (producer, spool) not in self._refused:
            self._refused.add((producer, spool))
            self._journal.record(ProducerRefused, producer=producer, role=role, why=why)

    # ---- what the collector says

    async def _tell(
        self, place: wire.Place, do: Literal["resend", "done", "refuse"], spool: str, offset: int = 0, why: str = ""
    ) -> None:
        if self._client is None:
            return
        control = wire.Control(do, spool, offset, why)
        # A message that is lost here is said again: by `_keep_asking`, or at the producer's next word.
        with contextlib.suppress(aiomqtt.MqttError):
            await self._client.publish(place.topic("control"), wire.encode(control), qos=0)

    async def _keep_asking(self) -> None:
        """Ask again for what is missing; after a reconnect also for what a dead broker may have taken along."""
        for known in self.known.values():
            known.behind = not known.complete
        while True:
            for known in list(self.known.values()):
                if known.behind:
                    await self._tell(known.place, "resend", known.spool, known.file.size)
            await asyncio.sleep(ASK_AGAIN_S)
