"""GET /metrics: two formats, and one line where the port is taken."""

import socket
from urllib.request import Request, urlopen

import pytest
from prometheus_client.metrics_core import Metric as Family

from rig.config.metrics import Metrics
from rig.errors import UsageError
from rig.metrics.board import Board, families
from rig.metrics.endpoint import Endpoint, serving
from tests.metrics.text import openmetrics_samples, prometheus_samples

ANY_PORT = Metrics(enabled=True, port=0)


def get(endpoint: Endpoint, accept: str = "") -> tuple[str, str]:
    """Content type and text."""
    with urlopen(Request(endpoint.url, headers={"Accept": accept}), timeout=10) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def callers(count: int) -> list[Family]:
    board = Board()
    board.set("rig_callers", count)
    return families([board])


def test_it_serves_what_its_source_says_now() -> None:
    counts = iter((1, 2))
    with serving(ANY_PORT) as endpoint:
        assert endpoint is not None
        assert get(endpoint)[1] == ""
        endpoint.show(lambda: callers(next(counts)))
        kind, text = get(endpoint)
        assert kind.startswith("text/plain")
        assert prometheus_samples(text) == {"rig_callers": 1}
        kind, text = get(endpoint, "application/openmetrics-text; version=1.0.0")
        assert kind.startswith("application/openmetrics-text")
        assert openmetrics_samples(text) == {"rig_callers": 2}


def test_it_is_off_unless_asked_for_and_local_unless_told_otherwise() -> None:
    assert not Metrics().enabled
    assert Metrics().host == "127.0.0.1"
    with serving(Metrics()) as endpoint:
        assert endpoint is None


def test_when_it_is_over_nobody_listens() -> None:
    with serving(ANY_PORT) as endpoint:
        assert endpoint is not None
        url = endpoint.url
    port = int(url.rpartition(":")[2].partition("/")[0])
    with socket.socket() as client:
        assert client.connect_ex(("127.0.0.1", port)) != 0


def test_a_taken_port_is_one_line_that_says_what_to_do() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(UsageError) as raised, serving(Metrics(enabled=True, port=port)):
            pass
    text = str(raised.value)
    assert f"127.0.0.1 port {port}: Address already in use" in text
    assert "--metrics-port" in text
    assert "\n" not in text


@pytest.mark.parametrize("host", ["a" * 300, "\u00fc..x"])
def test_what_can_be_no_name_of_a_host_is_one_line(host: str) -> None:
    with pytest.raises(UsageError, match="no name of a host"), serving(Metrics(enabled=True, host=host, port=0)):
        pass
