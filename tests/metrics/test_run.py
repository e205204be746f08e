"""A whole run whose metrics are served: over HTTP while it goes on, in its folder at the end."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from rig.report.write import PROMETHEUS_FILE
from tests.metrics.conftest import Served, run_file
from tests.metrics.text import prometheus_samples, series

pytestmark = pytest.mark.timeout(200)


def test_the_run_goes_through_its_phases_and_counters_never_fall(served: Served) -> None:
    scrapes = [prometheus_samples(text) for text in served.during]
    phases = {name for scrape in scrapes for name, value in scrape.items() if "rig_run_phase" in name and value == 1}
    assert phases >= {series("rig_run_phase", rig_run_phase=name) for name in ("load", "drain", "probe")}
    assert max(scrape.get("rig_callers", 0) for scrape in scrapes) >= 2
    last: dict[str, float] = {}
    for scrape in scrapes:
        for name, value in scrape.items():
            if name.partition("{")[0].endswith(("_total", "_bucket", "_count")):
                assert value >= last.get(name, 0), name
                last[name] = value


def test_after_the_verdict_it_serves_what_is_written_in_the_folder(served: Served) -> None:
    written = (served.folder / PROMETHEUS_FILE).read_text()
    assert served.after == written
    assert prometheus_samples(written)["rig_verdict"] == served.status, served.output
    assert served.status in (0, 2), served.output  # on a crowded machine the rig may find itself too slow to judge


def test_what_was_counted_while_it_went_on_is_what_was_judged(served: Served) -> None:
    last, final = prometheus_samples(served.during[-1]), prometheus_samples(served.after)
    assert last[series("rig_turns_total", scenario="polite", outcome="done")] > 0
    for name, value in last.items():
        if name.startswith("rig_turns_total"):
            assert value == final[name], name


def test_a_taken_port_is_one_line_before_anything_is_started(tmp_path: Path) -> None:
    results = tmp_path / "results"
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        command = [sys.executable, "-m", "rig.cli", "run", str(run_file(tmp_path)), "--results", str(results)]
        answer = subprocess.run(
            [*command, "--metrics-port", port], capture_output=True, text=True, timeout=100, check=False
        )
    assert answer.returncode == 3
    (line,) = answer.stderr.splitlines()
    assert line.startswith(f"rig: cannot serve /metrics on 127.0.0.1 port {port}: Address already in use")
    assert not results.exists()
