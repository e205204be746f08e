"""The bus as a whole, with a real broker and real processes: all is collected exactly, or known to be short."""

import asyncio
import os
import signal
from pathlib import Path

from rig.bus.filling import Remote, fill
from rig.events import journal
from rig.events.bus import (
    BrokerExited,
    EventsFilled,
    ProducerIncomplete,
    ProducerRefused,
    ProducerState,
    ProducerStatus,
)
from tests.bus.scene import Scene, scene, until


def states(made: Scene, name: str) -> list[ProducerState]:
    """The states that were recorded of a producer."""
    return [event.state for event in made.recorded(ProducerStatus) if event.producer == name]


def test_two_producers_are_collected_exactly_and_end_in_order(tmp_path: Path) -> None:
    async def check() -> None:
        async with scene(tmp_path) as made:
            producers = {name: made.produce(name, count=3_000) for name in ("caller-0", "caller-1")}
            for name, process in producers.items():
                assert await made.end(process) == "delivered"
                assert made.collected(name) == made.spooled(name)
                assert made.collected(name).count(b"\n") == 3_002
                assert states(made, name) == [ProducerState.ONLINE, ProducerState.CLOSED]
            await made.collector.stop()
            fill(made.events, made.spools, [], made.journal)
            assert made.recorded(EventsFilled) == []
            assert not made.spools.exists()

    asyncio.run(check())


def test_a_broker_killed_twice_under_a_steady_producer_loses_repeats_and_reorders_nothing(tmp_path: Path) -> None:
    async def check() -> None:
        async with scene(tmp_path) as made:
            process = made.produce("caller-0")
            for _ in range(2):
                size = len(made.collected("caller-0"))
                await until(lambda size=size: len(made.collected("caller-0")) > size + 20_000)  # type: ignore[misc]
                killed = made.broker.pid
                os.kill(killed, signal.SIGKILL)
                await until(lambda killed=killed: made.broker.pid != killed)  # type: ignore[misc]
            size = len(made.collected("caller-0"))
            await until(lambda: len(made.collected("caller-0")) > size + 20_000)
            assert await made.end(process) == "delivered"
            assert made.collected("caller-0") == made.spooled("caller-0")
            events, damage = journal.read(made.events / "caller-0.jsonl")
            assert [event.seq for event in events] == list(range(len(events)))
            assert (damage.missing, damage.bad_lines, damage.closed) == (0, (), True)
            assert [event.signal for event in made.recorded(BrokerExited)] == ["SIGKILL", "SIGKILL"]

    asyncio.run(check())


def test_with_the_broker_gone_at_the_end_the_rest_is_filled_from_the_spool_and_said(tmp_path: Path) -> None:
    async def check() -> None:
        async with scene(tmp_path) as made:
            process = made.produce("caller-0")
            await until(lambda: len(made.collected("caller-0")) > 20_000)
            await made.broker.stop()
            size = len(made.spooled("caller-0"))
            await until(lambda: len(made.spooled("caller-0")) > size + 1_000)
            assert await made.end(process) == "not delivered"
            await made.collector.stop()
            whole, had = made.spooled("caller-0"), made.collected("caller-0")
            assert len(had) < len(whole)
            fill(made.events, made.spools, [], made.journal)
            assert made.collected("caller-0") == whole
            (filled,) = made.recorded(EventsFilled)
            assert (filled.producer, filled.size_bytes) == ("caller-0", len(whole) - len(had))
            assert filled.events == whole.count(b"\n") - had.count(b"\n")
            assert not made.spools.exists()

    asyncio.run(check())


def test_the_last_will_of_a_killed_producer_is_recorded_and_its_events_up_to_then_are_kept(tmp_path: Path) -> None:
    async def check() -> None:
        async with scene(tmp_path) as made:
            process = made.produce("caller-0")
            await until(lambda: len(made.collected("caller-0")) > 20_000)
            process.kill()
            await until(lambda: ProducerState.LOST in states(made, "caller-0"))
            await made.collector.stop()
            fill(made.events, made.spools, [], made.journal)
            assert made.collected("caller-0") == made.spooled("caller-0")
            assert (made.spools / "caller-0.jsonl").exists(), "the spool of a writer that did not close it is evidence"
            assert not journal.read(made.events / "caller-0.jsonl")[1].closed

    asyncio.run(check())


def test_a_killed_producer_whose_spool_is_elsewhere_is_incomplete(tmp_path: Path) -> None:
    async def check() -> None:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        async with scene(tmp_path) as made:
            process = made.produce("caller-far", spools=elsewhere)
            await until(lambda: len(made.collected("caller-far")) > 20_000)
            process.kill()
            await until(lambda: ProducerState.LOST in states(made, "caller-far"))
            known = made.collector.known["caller-far"]
            fill(made.events, made.spools, [Remote("caller-far", "caller", known.spool, "lost")], made.journal)
            (incomplete,) = made.recorded(ProducerIncomplete)
            assert (incomplete.producer, incomplete.why) == ("caller-far", "lost")

    asyncio.run(check())


def test_a_second_producer_of_the_same_name_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    async def check() -> None:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        async with scene(tmp_path) as made:
            first = made.produce("caller-0")
            await until(lambda: len(made.collected("caller-0")) > 1_000)
            second = made.produce("caller-0", spools=elsewhere)
            assert second.stdout is not None
            output = await asyncio.to_thread(second.stdout.readline)
            assert "has a producer of the name caller-0 already" in output
            assert await made.end(first) == "delivered"
            assert made.collected("caller-0") == made.spooled("caller-0")
            (refused,) = made.recorded(ProducerRefused)
            assert refused.producer == "caller-0"

    asyncio.run(check())
