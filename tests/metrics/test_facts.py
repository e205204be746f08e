"""Facts: the run, the server's processes and the bus as metrics."""

from typing import Any

import pytest

from rig.clock import NS_PER_S
from rig.events import bus as eb
from rig.events import types as ev
from rig.metrics.board import families
from rig.metrics.facts import Facts
from tests.metrics.text import Samples, samples_of, series


def at(second: float, kind: type[ev.Event], **fields: Any) -> Any:
    return kind(seq=0, t_ns=int(second * NS_PER_S), **fields)


HEADER = at(1, ev.Header, schema=1, producer="rig", role="rig", host="h", boot_id="b", pid=1, wall_ns=1_000 * NS_PER_S)
STARTED = at(2, ev.RunStarted, run_id="r", seed=1, plan_sha256="0")


def seen(stage: str, pid: int) -> Any:
    return at(3, ev.ProcessSeen, pid=pid, ppid=1, start_ticks=1, stage=stage, title=stage)


def died(stage: str, pid: int, *, expected: bool = False) -> Any:
    how: dict[str, Any] = {"exit_status": 1, "signal": None, "last_lines": []}
    return at(5, ev.ProcessDied, pid=pid, stage=stage, title=stage, expected=expected, **how)


def found(*events: Any, now_s: float = 10) -> Samples:
    facts = Facts()
    facts.take_all(events)
    return samples_of(families([facts.board, facts.gauges(int(now_s * NS_PER_S))]))


def test_times_of_the_run() -> None:
    samples = found(HEADER, STARTED, now_s=12)
    assert samples["rig_run_elapsed_seconds"] == 10
    assert samples["rig_run_start_time_seconds"] == 1_001
    assert "rig_run_ended" not in {name.partition("{")[0] for name in samples}


def test_time_stands_still_when_the_run_is_over() -> None:
    ended = at(7, ev.RunEnded, reason=ev.EndReason.PLANNED, detail="")
    samples = found(HEADER, STARTED, ended, now_s=100)
    assert samples["rig_run_elapsed_seconds"] == 5
    assert samples[series("rig_run_ended", reason="planned")] == 1


def test_one_phase_is_on() -> None:
    samples = found(at(3, ev.PhaseEntered, phase=ev.Phase.LOAD))
    on = [name for name, value in samples.items() if name.startswith("rig_run_phase") and value == 1]
    assert on == [series("rig_run_phase", rig_run_phase="load")]


def test_deaths_count_by_stage_from_zero_and_asked_ends_do_not() -> None:
    samples = found(seen("thinker", 5), seen("talker", 6), died("thinker", 5), died("talker", 6, expected=True))
    assert samples[series("rig_process_deaths_total", stage="thinker")] == 1
    assert samples[series("rig_process_deaths_total", stage="talker")] == 0
    assert samples[series("rig_processes", stage="thinker", state="dead")] == 1
    assert samples[series("rig_processes", stage="talker", state="stopped")] == 1


def test_helpers_are_no_stage() -> None:
    samples = found(seen("helper", 9), seen("starting", 10), died("helper", 9))
    assert not [name for name in samples if name.startswith("rig_process")]


def test_memory_is_that_of_living_processes_until_the_run_is_over() -> None:
    events = [
        seen("thinker", 5),
        seen("talker", 6),
        at(4, ev.MemorySampled, pid=5, stage="thinker", rss_bytes=7),
        at(4, ev.MemorySampled, pid=6, stage="talker", rss_bytes=8),
        at(4, ev.MemorySampled, pid=77, stage="helper", rss_bytes=9),
        died("thinker", 5),
    ]
    name = "rig_process_resident_memory_bytes"
    thinker, talker = series(name, stage="thinker", pid="5"), series(name, stage="talker", pid="6")
    assert {key: value for key, value in found(*events).items() if key.startswith(name)} == {talker: 8}
    ended = at(7, ev.RunEnded, reason=ev.EndReason.ENGINE_LOST, detail="")
    assert {key: value for key, value in found(*events, ended).items() if key.startswith(name)} == {
        thinker: 7,
        talker: 8,
    }


def test_a_paused_process_and_one_that_goes_on() -> None:
    pause = at(4, ev.ProcessPaused, pid=5, stage="thinker", paused=True)
    go_on = at(5, ev.ProcessPaused, pid=5, stage="thinker", paused=False)
    assert found(seen("thinker", 5), pause)[series("rig_processes", stage="thinker", state="paused")] == 1
    assert found(seen("thinker", 5), pause, go_on)[series("rig_processes", stage="thinker", state="alive")] == 1


def test_log_lines_and_health() -> None:
    line = {"signature": "KeyError", "stage": "thinker", "line": "x", "expected": False, "left_out": 4}
    late = line | {"expected": True}
    probes = [
        at(4, ev.HealthProbed, status=200, latency_ns=2_000_000, error=None),
        at(5, ev.HealthProbed, status=None, latency_ns=NS_PER_S, error="timed out"),
    ]
    samples = found(at(4, ev.LogSignature, **line), at(5, ev.LogSignature, **late), *probes)
    assert samples[series("rig_log_signatures_total", stage="thinker", signature="KeyError")] == 5
    assert samples[series("rig_health_probes_total", status="200")] == 1
    assert samples[series("rig_health_probes_total", status="none")] == 1
    assert samples[series("rig_health_probe_seconds_sum", status="none")] == pytest.approx(1)


def test_the_bus() -> None:
    who = {"producer": "caller-0", "role": "caller"}
    online = at(2, eb.ProducerStatus, **who, host="h", pid=3, state=eb.ProducerState.ONLINE)
    lost = at(3, eb.ProducerStatus, **who, host="h", pid=3, state=eb.ProducerState.LOST)
    samples = found(
        at(1, eb.BusChanged, up=True, url="mqtt://h", detail=""),
        online,
        lost,
        at(4, eb.BusChanged, up=False, url="mqtt://h", detail="gone"),
        at(5, eb.EventsFilled, producer="caller-0", events=12, size_bytes=1),
        at(5, eb.ProducerRefused, **who, why="second"),
    )
    assert samples["rig_bus_up"] == 0
    assert samples[series("rig_bus_producers", state="lost")] == 1
    assert samples[series("rig_bus_producers", state="online")] == 0
    assert samples["rig_bus_filled_events_total"] == 12
    assert samples["rig_bus_refused_producers_total"] == 1
    assert samples["rig_bus_incomplete_producers_total"] == 0


def test_a_run_without_a_bus_says_nothing_of_it() -> None:
    assert not [name for name in found(HEADER, STARTED) if name.startswith("rig_bus")]
