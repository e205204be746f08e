"""A publisher sends a journal while it is written: whole lines, all of them, and no word too much about what it did."""

import asyncio
import os
from pathlib import Path

import pytest

from rig.bus import wire
from rig.bus.address import Address
from rig.bus.publisher import Publisher
from rig.errors import BusError
from rig.events.bus import ProducerState, ProducerStatus
from rig.events.journal import Journal
from rig.events.types import Surprise
from rig.pipeline.listening import reserved
from tests.bus.scene import RUN, Scene, scene, until

ROLE = "caller"


def place(name: str = "caller-0") -> wire.Place:
    return wire.Place(RUN, ROLE, name)


def say(journal: Journal, text: str) -> None:
    journal.record(Surprise, call="c", connection=0, what=text)


def states(made: Scene) -> list[ProducerState]:
    return [event.state for event in made.recorded(ProducerStatus)]


def test_what_is_written_arrives_while_it_is_written_and_the_end_is_confirmed(tmp_path: Path) -> None:
    async def check() -> None:
        async with scene(tmp_path) as made:
            journal = Journal(made.spools, "caller-0", ROLE)
            publisher = Publisher(journal.path, place(), made.broker.address)
            publisher.start()
            for number in range(3):
                say(journal, f"number {number}")
                await until(lambda number=number: f"number {number}".encode() in made.collected("caller-0"))  # type: ignore[misc]
            journal.close()
            assert await asyncio.to_thread(publisher.close, 20)
            assert made.collected("caller-0") == made.spooled("caller-0")
            assert states(made) == [ProducerState.ONLINE, ProducerState.CLOSED]
            assert publisher.close(), "a second close says the same and does nothing"

    asyncio.run(check())


def test_a_line_that_is_still_being_written_waits_until_it_is_whole(tmp_path: Path) -> None:
    async def check() -> None:
        async with scene(tmp_path) as made:
            journal = Journal(made.spools, "caller-0", ROLE)
            say(journal, "before")
            journal.close()
            whole = made.spooled("caller-0")
            cut = whole.rindex(b"\n", 0, -1) + 5
            path = made.spools / "caller-0.jsonl"
            path.write_bytes(whole[:cut])
            publisher = Publisher(path, place(), made.broker.address)
            publisher.start()
            await until(lambda: made.collected("caller-0") == whole[: cut - 4])
            with path.open("ab") as file:
                file.write(whole[cut:])
            assert await asyncio.to_thread(publisher.close, 20)
            assert made.collected("caller-0") == whole

    asyncio.run(check())


def test_a_half_line_that_a_dead_writer_left_is_sent_at_the_end(tmp_path: Path) -> None:
    async def check() -> None:
        async with scene(tmp_path) as made:
            journal = Journal(made.spools, "caller-0", ROLE)
            say(journal, "last words")
            journal.close()
            path = made.spools / "caller-0.jsonl"
            os.truncate(path, path.stat().st_size - 7)
            publisher = Publisher(path, place(), made.broker.address)
            publisher.start()
            assert await asyncio.to_thread(publisher.close, 20)
            assert made.collected("caller-0") == made.spooled("caller-0")

    asyncio.run(check())


def test_a_broker_that_comes_later_gets_all(tmp_path: Path) -> None:
    async def check() -> None:
        async with scene(tmp_path) as made:
            await made.broker.stop()
            journal = Journal(made.spools, "caller-0", ROLE)
            publisher = Publisher(journal.path, place(), made.broker.address)
            publisher.start()
            for number in range(100):
                say(journal, f"number {number}")
            journal.close()
            again = asyncio.create_task(made.broker._launch())
            assert await asyncio.to_thread(publisher.close, 30)
            await again
            assert made.collected("caller-0") == made.spooled("caller-0")

    asyncio.run(check())


def test_without_a_broker_the_end_is_not_confirmed_and_comes_all_the_same(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "caller-0", ROLE)
    with reserved("127.0.0.1") as port:
        publisher = Publisher(journal.path, place(), Address("127.0.0.1", port))
        publisher.start()
        journal.close()
        assert publisher.close(limit_s=0.2) is False


def test_a_second_journal_under_the_same_name_is_refused_with_the_reason(tmp_path: Path) -> None:
    async def check() -> None:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        refusals: list[str] = []
        async with scene(tmp_path) as made:
            publishers = []
            for folder in (made.spools, elsewhere):
                journal = Journal(folder, "caller-0", ROLE)
                publisher = Publisher(journal.path, place(), made.broker.address, refusals.append)
                publisher.start()
                publishers.append(publisher)
                await until(lambda: bool(refusals) or made.collected("caller-0") != b"")
                say(journal, "mine")
                journal.close()
            await until(lambda: bool(refusals))
            first, second = [await asyncio.to_thread(one.close, 20) for one in publishers]
            assert (first, second) == (True, False)
            assert made.collected("caller-0") == made.spooled("caller-0")
        assert "has a producer of the name caller-0 already" in refusals[0]

    asyncio.run(check())


@pytest.mark.parametrize("content", [b"", b'{"half": '])
def test_a_file_that_is_no_journal_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "caller-0.jsonl"
    path.write_bytes(content)
    with pytest.raises(BusError, match="does not begin with a journal header"):
        Publisher(path, place(), Address("127.0.0.1", 1))
