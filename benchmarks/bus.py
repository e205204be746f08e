"""What the bus costs a producer, beside journaling alone, and how many events a second it carries: `make bench`.

The ratio is taken in one run, alternating. The producer's process holds the publisher's thread, as a real one does.
"""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from rig.bus.collector import Collector
from rig.bus.embedded import EmbeddedBroker
from rig.bus.publisher import Publisher
from rig.bus.wire import Place
from rig.events.journal import Journal
from rig.events.types import FramesSent

ROUNDS = 5
EVENTS = 20_000
RUN = "bench"


def record(journal: Journal) -> float:
    """Seconds for EVENTS events."""
    slips = list(range(10))
    began = time.perf_counter()
    for _ in range(EVENTS):
        journal.record(FramesSent, call="c", connection=0, first_planned_ns=0, interval_ns=100_000_000, slips_us=slips)
    return time.perf_counter() - began


def alone(folder: Path, name: str) -> float:
    """Journaling without a bus."""
    journal = Journal(folder, name, "bench")
    took_s = record(journal)
    journal.close()
    return took_s


def with_bus(folder: Path, name: str, broker: EmbeddedBroker) -> tuple[float, float]:
    """Seconds of journaling while it is published, and until the collector has confirmed all of it."""
    began = time.perf_counter()
    journal = Journal(folder, name, "bench")
    publisher = Publisher(journal.path, Place(RUN, "bench", name), broker.address)
    publisher.start()
    took_s = record(journal)
    journal.close()
    assert publisher.close(60.0), "the collector did not confirm"
    return took_s, time.perf_counter() - began


async def main() -> None:
    """All rounds."""
    with tempfile.TemporaryDirectory() as name:
        spools, events = Path(name, "spool"), Path(name, "events")
        spools.mkdir()
        events.mkdir()
        own = Journal(events, "rig", "rig")
        broker = EmbeddedBroker(own)
        await broker.start()
        collector = Collector(broker.address, RUN, events, own, "rig")
        await collector.start()
        ratios, rates = [], []
        for number in range(ROUNDS):
            least_s = await asyncio.to_thread(alone, spools, f"alone-{number}")
            took_s, whole_s = await asyncio.to_thread(with_bus, spools, f"bus-{number}", broker)
            ratios.append(took_s / least_s)
            rates.append(EVENTS / whole_s)
        await collector.stop()
        await broker.stop()
        own.close()
    label = "journal an event with the bus / without"
    print(f"{label:46} {statistics.median(ratios):6.2f} x ({min(ratios):.2f} to {max(ratios):.2f})")
    print(f"{'events through publisher and collector':46} {statistics.median(rates):6.0f} a second")


if __name__ == "__main__":
    asyncio.run(main())
