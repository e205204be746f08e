"""A broker of somebody else is tried before a run; what is wrong with it is told by line and key of the run file."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from clients import bus as callers
from rig.bus import preflight
from rig.bus.address import Address, as_environment, of_environment
from rig.bus.embedded import EmbeddedBroker
from rig.config.bus import Bus
from rig.errors import ConfigError
from rig.events.journal import Journal
from rig.pipeline.listening import reserved

RUN_FILE = """\
question: Is there a way in?
bus:
  url: mqtt://127.0.0.1:1883
  user: rig
  password_env: BUS_TEST_PASSWORD
"""


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    path = tmp_path / "run.yaml"
    path.write_text(RUN_FILE)
    return path


def bus(**settings: Any) -> Bus:
    return Bus.model_validate(settings, strict=False)


def test_a_certificate_file_lies_beside_the_run_file(run_file: Path) -> None:
    pem = run_file.with_name("ca.pem")
    chosen = bus(url="mqtts://broker:8883", ca_file="ca.pem", insecure=True)
    with pytest.raises(ConfigError, match=r"bus\.ca_file"):
        preflight.address_of(chosen, run_file)
    pem.write_text("no certificate")
    with pytest.raises(ConfigError, match=r"ca\.pem holds no certificates"):
        preflight.address_of(chosen, run_file)


def test_a_password_that_is_not_set_is_told_with_line_and_key(run_file: Path) -> None:
    chosen = bus(url="mqtt://127.0.0.1:1883", user="rig", password_env="BUS_TEST_PASSWORD")
    with pytest.raises(ConfigError) as error:
        preflight.address_of(chosen, run_file)
    assert f"{run_file}:5" in str(error.value)
    assert "bus.password_env: the environment variable BUS_TEST_PASSWORD is not set" in str(error.value)


def test_a_broker_that_answers_is_found_and_left_as_it_was(tmp_path: Path, run_file: Path) -> None:
    async def check() -> None:
        broker = EmbeddedBroker(Journal(tmp_path, "rig", "rig"))
        await broker.start()
        try:
            await asyncio.to_thread(preflight.check, broker.address, run_file)
        finally:
            await broker.stop()

    asyncio.run(check())


def test_no_broker_is_told_with_the_line_of_the_url(run_file: Path) -> None:
    with reserved("127.0.0.1") as port, pytest.raises(ConfigError) as error:
        preflight.check(Address("127.0.0.1", port), run_file)
    text = str(error.value)
    assert f"{run_file}:3" in text
    assert f"bus.url: no way in at mqtt://127.0.0.1:{port}" in text
    assert "start the broker" in text


@pytest.mark.parametrize(
    "address",
    [
        Address("127.0.0.1", 1883),
        Address("::1", 1884, user="rig"),
        Address("broker", 8883, tls=True, user="rig", password_env="SECRET", ca_file=Path("/ca.pem")),
        Address("broker", 8883, tls=True, insecure=True),
    ],
)
def test_callers_are_told_the_same_way_in_and_never_the_password(
    address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "hush")
    told = as_environment(address)
    assert "hush" not in told.values()
    options = {name.lower(): value for name, value in told.items()}
    assert of_environment(told) == address
    assert callers.address_of({**options, "rig_bus_run": "run-1"}) == address
