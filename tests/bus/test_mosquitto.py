"""A real Mosquitto with password and TLS, where it is installed: callers get in with both, and nobody without."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rig.events.bus import BusChanged, EventsFilled, ProducerState, ProducerStatus
from tests.bus.rigrun import rig_run
from tests.bus.test_service import losses
from tests.ports import free_port

pytestmark = pytest.mark.skipif(
    shutil.which("mosquitto") is None or shutil.which("openssl") is None, reason="mosquitto or openssl not installed"
)

PASSWORD = "not-a-secret"
VARIABLE = "BUS_TEST_PASSWORD"
SHIPPED = Path(__file__).resolve().parents[2] / "configs" / "mosquitto" / "mosquitto.conf"
REQUEST = "req -x509 -newkey rsa:2048 -nodes -days 2 -keyout server.key -out server.pem -subj /CN=rig -addext"


@dataclass(frozen=True)
class Broker:
    """A Mosquitto under test, with the shipped config; the certificate is its own authority."""

    port: int
    ca_file: Path

    def bus(self, **changes: object) -> dict[str, object]:
        """The section of a run file that gets in."""
        url = f"mqtts://127.0.0.1:{self.port}"
        return {"url": url, "user": "rig", "password_env": VARIABLE, "ca_file": str(self.ca_file), **changes}


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@pytest.fixture
def broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    folder = tmp_path / "mosquitto"
    folder.mkdir()
    folder.chmod(0o755)
    command = ["openssl", *REQUEST.split(), "subjectAltName=IP:127.0.0.1"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    subprocess.run(["mosquitto_passwd", "-c", "-b", str(folder / "rig.passwd"), "rig", PASSWORD], check=True)
    tls, plain = free_port(), free_port()
    config = SHIPPED.read_text().replace("/etc/mosquitto/certs", str(folder)).replace("/etc/mosquitto", str(folder))
    config = config.replace("listener 8883", f"listener {tls} 127.0.0.1").replace("listener 1883", f"listener {plain}")
    # Started by root it would give up its rights, and could not read a test's folder.
    (folder / "mosquitto.conf").write_text(config + "\nuser root\n")
    monkeypatch.setenv(VARIABLE, PASSWORD)
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(["mosquitto", "-c", str(folder / "mosquitto.conf")], stdout=log, stderr=log)
    limit = time.monotonic() + 20
    while not answers(tls):
        assert process.poll() is None, (folder / "log").read_text()
        assert time.monotonic() < limit
        time.sleep(0.05)
    yield Broker(tls, folder / "server.pem")
    process.terminate()
    process.wait(20)


def test_a_run_over_tls_with_a_password_is_collected_and_the_password_is_nowhere(
    tmp_path: Path, broker: Broker
) -> None:
    with rig_run(tmp_path, bus=broker.bus()) as run:
        run.when(lambda: run.collected() > 0)
        line = " ".join(run.child("locust").cmdline())
        assert losses(run.finish()) == [], run.output.read_text()
    states = [event.state for event in run.of(ProducerStatus)]
    assert states == [ProducerState.ONLINE, ProducerState.CLOSED]
    assert [event.up for event in run.of(BusChanged)] == [True]
    assert run.of(EventsFilled) == []
    texts = [path.read_text() for path in run.results.rglob("*") if path.is_file()]
    assert [text for text in (line, run.output.read_text(), *texts) if PASSWORD in text] == []


@pytest.mark.parametrize(
    ("changes", "password", "key"),
    [
        ({"password_env": "BUS_TEST_UNSET"}, None, "bus.password_env: the environment variable BUS_TEST_UNSET"),
        ({}, "wrong", "bus.password_env: no way in"),
        ({"ca_file": None}, None, "bus.ca_file: no way in"),
        ({"ca_file": "nowhere.pem"}, None, "bus.ca_file: "),
    ],
)
def test_without_the_right_password_or_authority_nothing_is_started_and_the_setting_is_named(
    tmp_path: Path,
    broker: Broker,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, object],
    password: str | None,
    key: str,
) -> None:
    if password is not None:
        monkeypatch.setenv(VARIABLE, password)
    with rig_run(tmp_path, bus=broker.bus(**changes)) as run:
        assert run.process.wait(50) == 3
    told = run.output.read_text()
    assert key in told
    assert "run.yaml:" in told
    assert len(told.splitlines()) == 1
    assert not run.results.exists()


def test_an_insecure_bus_takes_a_certificate_of_any_authority(tmp_path: Path, broker: Broker) -> None:
    with rig_run(tmp_path, bus=broker.bus(ca_file=None, insecure=True)) as run:
        assert losses(run.finish()) == [], run.output.read_text()
    assert ProducerState.CLOSED in [event.state for event in run.of(ProducerStatus)]
