"""Connect counts from the planned start of the TCP connect to the session, and says why there was none."""

from pathlib import Path

from rig.events import types as ev
from rig.events.types import ConnectFailed, ConnectStarted, SessionReady
from rig.fold import result_of
from rig.measure.connect import Connect
from tests.builders import Run, ns
from tests.measure.values import about, values


def test_every_connection_with_a_session_has_a_value(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call()
    run.connect(2.0, connection=0, ready_s=2.25)
    run.connect(9.0, connection=1, ready_s=9.1, resumed=True)
    # 2.25 - 2.0 and 9.1 - 9.0 seconds.
    assert values(result_of(Connect, run.history())) == about(100, 250)


def test_it_counts_from_the_planned_start_not_from_a_late_one(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call()
    run.call(2.4, ConnectStarted, why=ev.Connect.FIRST, attempt=1, planned_ns=ns(2.0))
    run.call(2.5, SessionReady, session_id="s", resumed=False, generation=1, voice=1)
    assert values(result_of(Connect, run.history())) == about(500)


def test_connections_without_a_session_are_counted_by_reason(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call()
    for connection in range(4):
        run.connect(2.0 + connection, connection=connection)
    run.refuse(2.1, "c000-0000", connection=0)
    run.close(2.2, connection=0)
    run.call(3.1, ConnectFailed, connection=1, reason="refused")
    run.close(4.1, connection=2)
    measured = result_of(Connect, run.history())
    assert measured.n == 0
    assert measured.unavailable == {
        "refused": 1,
        "no connection": 1,
        "closed before session.created": 1,
        "run ended first": 1,
    }
