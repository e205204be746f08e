"""What rig and host say survives the way, and what is none of it is refused."""

import pytest

from rig.errors import PipelineError
from rig.pipeline import orders

ORDER = orders.Order("secret", "run-1", "question: x\n", "spool", 0.5, 2.0, {"RIG_BUS_RUN": "run-1"})


def test_an_order_is_one_line_and_comes_out_as_it_went_in() -> None:
    data = orders.line(ORDER)
    assert data.count(b"\n") == 1
    assert orders.decode_order(data) == ORDER
    assert ORDER.watch().health_interval_s == 0.5
    assert ORDER.watch().memory_interval_s == 2.0


@pytest.mark.parametrize(
    "report", [orders.Ready(8099), orders.Failed("no port"), orders.Lost("a stage"), orders.Stopped(None)]
)
def test_a_report_comes_out_as_it_went_in(report: orders.Report) -> None:
    assert orders.decode_report(orders.line(report)) == report


@pytest.mark.parametrize("data", [b"", b"GET / HTTP/1.1", b"{}", b'{"token":"x"}', b"[1]"])
def test_what_is_no_order_is_refused(data: bytes) -> None:
    with pytest.raises(PipelineError, match="not an order"):
        orders.decode_order(data)


@pytest.mark.parametrize("data", [b"", b"{}", b'{"event":"sold"}', b'{"event":"ready","port":"x"}'])
def test_what_is_no_report_is_refused(data: bytes) -> None:
    with pytest.raises(PipelineError, match="not a report"):
        orders.decode_report(data)
