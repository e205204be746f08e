"""Locust's web UI with the rig's tab and page, in real processes over HTTP."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest

from clients.web import ALONE, WAITING, render, rows_of
from rig.clock import NS_PER_S, monotonic_ns
from rig.standing import STANDING_FILE, Process, Standing, write
from tests.clients.server import serving
from tests.clients.test_users import RUN
from tests.house.tree import ROOT
from tests.metrics.conftest import run_file
from tests.ports import free_port

LIMIT_S = 100


def standing(**fields: object) -> Standing:
    told: dict[str, object] = {
        "t_ns": monotonic_ns(),
        "rows": [("phase", "load")],
        "processes": [Process(7, "thinker", "dead")],
        "deaths": ["thinker (pid 7) died of SIGKILL at 9.2 s; last words: <b>KeyError</b>"],
    }
    return Standing(**(told | fields))  # type: ignore[arg-type]


def get(port: int, path: str) -> str | None:
    """The answer; None while nobody listens."""
    try:
        with urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
            text: str = answer.read().decode()
            return text
    except (URLError, ConnectionError):
        return None


def steer(port: int, action: str) -> int:
    """Status of a press on one of Locust's buttons."""
    command = Request(f"http://127.0.0.1:{port}{action}", data=b"user_count=1&spawn_rate=1", method="POST")
    try:
        with urlopen(command, timeout=20) as answer:
            status: int = answer.status
            return status
    except HTTPError as error:
        return error.code


def until(ask: Callable[[], str | None], good: Callable[[str], bool]) -> str:
    """The first answer that is good."""
    deadline = time.monotonic() + LIMIT_S
    answer = None
    while time.monotonic() < deadline:
        answer = ask()
        if answer is not None and good(answer):
            return answer
        time.sleep(0.1)
    raise AssertionError(f"last answer: {answer}")


@contextmanager
def running(command: list[str], output: Path) -> Iterator["subprocess.Popen[bytes]"]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LOCUST_", "RIG_"))}
    with output.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def locust(folder: Path, *more: str) -> Iterator[int]:
    """Locust alone with its web UI, calling a scripted server; its port."""
    path = folder / "run.yaml"
    path.write_text(RUN)
    port = free_port()
    with serving() as server:
        command = [sys.executable, "-m", "locust", "-f", str(ROOT / "clients" / "locustfile.py"), "--autostart"]
        command += ["--web-host", "127.0.0.1", "--web-port", str(port), "--host", server.url, "--rig-model", "tiny"]
        command += ["--rig-config", str(path), "--rig-journal-dir", str(folder / "events"), *more]
        with running(command, folder / "locust.log"):
            yield port


def test_without_the_rig_tab_and_page_say_that_nothing_is_watched_and_rows_are_the_figures(tmp_path: Path) -> None:
    with locust(tmp_path) as port:
        page = until(lambda: get(port, "/rig"), bool)
        assert "no pipeline is watched" in page
        stats = json.loads(
            until(lambda: get(port, "/stats/requests"), lambda text: "first_audio" in text and "turn" in text)
        )
        assert '"extended_tabs": [{"key": "rig", "title": "Rig"}]' in (get(port, "/") or "")
        assert steer(port, "/stop") == 200
    (rig,) = stats["extended_stats"]
    assert rig == {"key": "rig", "data": [{"what": "pipeline", "how": ALONE}]}
    rows = {row["name"]: row["method"] for row in stats["stats"]}
    assert rows["connect"] == "WS"
    assert rows["first_audio"] == rows["turn"] == "WSR"


def test_what_the_rig_tells_is_on_the_page(tmp_path: Path) -> None:
    file = tmp_path / STANDING_FILE
    with locust(tmp_path, "--rig-standing-file", str(file)) as port:
        assert WAITING in until(lambda: get(port, "/rig"), bool)
        assert [steer(port, action) for action in ("/swarm", "/stop")] == [403, 403]
        write(file, standing())
        page = until(lambda: get(port, "/rig"), lambda text: WAITING not in text)
    assert "<th>phase</th><td>load</td>" in page
    assert '<td class="bad">dead: thinker (pid 7)</td>' in page
    assert "&lt;b&gt;KeyError&lt;/b&gt;" in page


def test_what_the_rig_said_long_ago_is_said_to_be_old(tmp_path: Path) -> None:
    file = tmp_path / STANDING_FILE
    write(file, standing(t_ns=monotonic_ns() - 60 * NS_PER_S))
    assert rows_of(file)[0] == ("old", "✘ the rig said this 60 s ago and nothing since")
    assert '<td class="bad">✘ the rig said this' in render(file, "/")
    write(file, standing())
    assert rows_of(file)[0] == ("phase", "load")


@pytest.mark.timeout(200)
def test_a_run_of_the_rig_with_the_web_ui_ends_by_itself_with_its_verdict(tmp_path: Path) -> None:
    port = free_port()
    output, results = tmp_path / "output", tmp_path / "results"
    command = [sys.executable, "-m", "rig.cli", "run", str(run_file(tmp_path)), "--results", str(results)]
    with running([*command, "--web-port", str(port)], output) as rig:
        page = until(lambda: get(port, "/rig"), lambda text: "load, ends in" in text and "in a call" in text)
        status = rig.wait(LIMIT_S)
    assert "alive: api_server (pid " in page
    (folder,) = results.iterdir()
    checks = {check["check"]: check["verdict"] for check in json.loads((folder / "verdict.json").read_text())["checks"]}
    assert checks["completeness"] == "pass", output.read_text()
    assert status in (0, 2), output.read_text()  # on a crowded machine the rig may find itself too slow to judge
    assert not (folder / STANDING_FILE).exists()


def test_a_taken_port_is_one_line_before_anything_is_started(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        command = [sys.executable, "-m", "rig.cli", "run", str(run_file(tmp_path)), "--results", str(tmp_path / "r")]
        answer = subprocess.run(
            [*command, "--web-port", str(port)], capture_output=True, text=True, timeout=50, check=False
        )
    assert answer.returncode == 3
    assert answer.stderr.startswith(f"rig: cannot serve Locust's web UI on 127.0.0.1 port {port}: Address already in")
    assert not (tmp_path / "r").exists()
