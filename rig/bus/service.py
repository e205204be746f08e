"""The bus of one run, as the rig's process sees it: broker, collector, and the publisher of the rig's own journal."""

import asyncio
import contextlib
from pathlib import Path

from rig.bus import filling
from rig.bus.address import Address
from rig.bus.collector import Collector, Known
from rig.bus.embedded import EmbeddedBroker
from rig.bus.publisher import Publisher
from rig.bus.wire import Place
from rig.errors import BusError
from rig.events.bus import BusChanged, ProducerState
from rig.events.journal import Journal

OWN = "rig"
END_LIMIT_S = 10.0
OWN_CLOSE_LIMIT_S = 1.0


class RunBus:
    """Made in the event loop. A bus that does not come up never ends a run: the spools hold everything."""

    def __init__(self, address: Address | None, run: str, events: Path, spools: Path, journal: Journal) -> None:
        self._given = address
        self._run = run
        self._events = events
        self._spools = spools
        self._journal = journal
        self._broker: EmbeddedBroker | None = None
        self._collector: Collector | None = None
        self._publisher: Publisher | None = None

    @property
    def address(self) -> Address | None:
        """The broker to publish to; None when there is none."""
        return self._given or (self._broker.address if self._broker is not None else None)

    async def start(self) -> None:
        """Start the broker unless somebody else runs one, then collect and publish."""
        if self._given is None:
            broker = EmbeddedBroker(self._journal)
            try:
                await broker.start()
            except (BusError, OSError) as error:
                await broker.stop()
                self._journal.record(BusChanged, up=False, url="", detail=str(error))
                return
            self._broker = broker
        address = self.address
        assert address is not None
        self._collector = Collector(address, self._run, self._events, self._journal, OWN)
        await self._collector.start()
        place = Place(self._run, OWN, OWN)
        self._publisher = Publisher(self._journal.path, place, address, confirmed=False)
        self._publisher.start()

    async def finish(self) -> None:
        """The producers have ended: collect what still comes, fill the rest from the spools, record what is short."""
        remotes: list[filling.Remote] = []
        collector = self._collector
        if collector is not None:
            here = await asyncio.to_thread(filling.spools_here, self._spools)
            elsewhere = [known for known in collector.known.values() if known.spool not in here]
            if collector.connected:
                await collector.wait_for(lambda: all(_settled(known) for known in elsewhere), END_LIMIT_S)
            await collector.stop()
            remotes = [_remote(known) for known in collector.known.values()]
        await asyncio.to_thread(filling.fill, self._events, self._spools, remotes, self._journal)

    async def stop(self) -> None:
        """The rig's own journal is closed: publish its end for those who look on, and end. Harmless twice."""
        if self._publisher is not None:
            await asyncio.to_thread(self._publisher.close, OWN_CLOSE_LIMIT_S)
        if self._collector is not None:
            await self._collector.stop()
        if self._broker is not None:
            with contextlib.suppress(ProcessLookupError):
                await self._broker.stop()


def _settled(known: Known) -> bool:
    return known.complete or known.state is ProducerState.LOST


def _remote(known: Known) -> filling.Remote:
    return filling.Remote(known.place.producer, known.place.role, known.spool, _short(known))


def _short(known: Known) -> str | None:
    if known.complete:
        return None
    if known.size is not None:
        return f"{known.file.size} of {known.size} bytes came, and its spool is not on this host"
    if known.state is ProducerState.LOST:
        return "it was lost before it had ended, and its spool is not on this host"
    return "it did not end, and its spool is not on this host"
