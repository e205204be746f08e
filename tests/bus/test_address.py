"""Where the broker is: read strictly, shown without secrets."""

import pytest

from rig.bus.address import parse
from rig.errors import UsageError


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("mqtt://host", ("host", 1883, False)),
        ("mqtts://host", ("host", 8883, True)),
        ("mqtt://127.0.0.1:18200/", ("127.0.0.1", 18200, False)),
        ("mqtts://[::1]:9", ("::1", 9, True)),
    ],
)
def test_a_url_names_host_port_and_tls(url: str, told: tuple[str, int, bool]) -> None:
    address = parse(url)
    assert (address.host, address.port, address.tls) == told
    assert parse(address.url) == address


@pytest.mark.parametrize("url", ["", "host:1883", "http://host", "mqtt://", "mqtt://host:99999", "mqtt://h/path"])
def test_anything_else_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="is not a broker"):
        parse(url)


def test_a_password_in_the_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError) as raised:
        parse("mqtt://rig:secret@host")
    assert "secret" not in str(raised.value)


def test_the_password_is_read_from_its_variable_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    address = parse("mqtt://host", user="rig", password_env="BUS_TEST_PASSWORD")
    with pytest.raises(UsageError, match="BUS_TEST_PASSWORD is not set"):
        address.password()
    monkeypatch.setenv("BUS_TEST_PASSWORD", "hidden")
    assert address.password() == "hidden"
    assert "hidden" not in repr(address)
