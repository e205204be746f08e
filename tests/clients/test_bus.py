"""Which broker a Locust process publishes to, and that it does."""

import asyncio
from argparse import Namespace
from pathlib import Path

import pytest

from clients import bus
from rig.bus.address import Address
from rig.errors import UsageError
from rig.events.journal import Journal
from rig.events.types import Surprise
from tests.bus.scene import RUN, scene

MASTERS = Namespace(
    rig_bus_url="mqtts://one:8883", rig_bus_run="run-1", rig_bus_user="rig", rig_bus_password_env="SECRET",
    rig_bus_ca_file="/ca.pem", rig_bus_insecure="", rig_journal_dir="/spool", headless=True,
)  # fmt: skip


def refuse(why: str) -> None:
    raise AssertionError(why)


def test_only_options_of_the_bus_that_are_given_are_kept() -> None:
    assert bus.own_options(None) == {}
    assert bus.own_options(Namespace(rig_bus_url="", headless=True)) == {}
    assert bus.own_options(MASTERS) == {
        "rig_bus_url": "mqtts://one:8883",
        "rig_bus_run": "run-1",
        "rig_bus_user": "rig",
        "rig_bus_password_env": "SECRET",
        "rig_bus_ca_file": "/ca.pem",
        "rig_journal_dir": "/spool",
    }


def test_a_worker_without_options_of_its_own_uses_its_masters() -> None:
    assert bus.settings(MASTERS, {}) == bus.own_options(MASTERS)


def test_a_worker_with_a_url_of_its_own_uses_nothing_of_its_masters_way_in() -> None:
    own = {"rig_bus_url": "mqtt://two:1883"}
    assert bus.settings(MASTERS, own) == {**own, "rig_bus_run": "run-1", "rig_journal_dir": "/spool"}


def test_the_chosen_options_name_a_broker() -> None:
    expected = Address("one", 8883, tls=True, user="rig", password_env="SECRET", ca_file=Path("/ca.pem"))
    assert bus.address_of(bus.own_options(MASTERS)) == expected
    assert bus.address_of({}) is None


def test_a_broker_without_the_name_of_a_run_is_refused() -> None:
    with pytest.raises(UsageError, match="--rig-bus-url needs --rig-bus-run"):
        bus.address_of({"rig_bus_url": "mqtt://one:1883"})


def test_without_a_broker_nothing_is_published(tmp_path: Path) -> None:
    assert bus.publish(Journal(tmp_path, "caller-0", "caller"), "caller-0", "caller", {}, refuse) is None


def test_a_journal_is_published_under_its_producers_name(tmp_path: Path) -> None:
    async def check() -> None:
        async with scene(tmp_path) as made:
            journal = Journal(made.spools, "caller-7", "caller")
            chosen = {"rig_bus_url": made.broker.address.url, "rig_bus_run": RUN}
            publisher = bus.publish(journal, "caller-7", "caller", chosen, refuse)
            assert publisher is not None
            journal.record(Surprise, call="c", connection=0, what="heard")
            journal.close()
            assert await asyncio.to_thread(publisher.close, 20)
            assert made.collected("caller-7") == made.spooled("caller-7")
            assert b"heard" in made.collected("caller-7")

    asyncio.run(check())
