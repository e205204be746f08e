"""How many full-rate callers one core carries, and what a caller costs beside other clients: `make bench-callers`.

Every caller sends a frame each 100 ms and is spoken to all the time: 24 kHz audio in chunks of one second, decoded,
marks read, journaled. Callers are one process on one core; the server is another process on another core: the golden
server, or for the comparison one that encoded its audio beforehand (`benchmarks/audio_server.py`). Prints send slip and
CPU seconds per caller-second, and the latter as ratios of one run.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rig.events import journal
from rig.events.types import AudioReceived, FramesSent
from rig.measure.load import percentile_ms

HERE = Path(__file__).resolve().parent
TICKS = os.sysconf("SC_CLK_TCK")
SETTLE_S = 3.0
PER_S = 30
"""So many callers begin a second: what opening a session costs is another question."""

Server = subprocess.Popen[bytes]
RUN = """
question: What does a caller cost when it is spoken to all the time?
pipeline: nowhere.yaml
seed: 5
load:
  callers: {callers}
  duration_s: 600
  ramp: {{up_s: {ramp_s}}}
  pause_s: {{low: 0, high: 1}}
  think_s: {{low: 0.5, high: 1}}
behaviours: {{polite: {{weight: 1, turns: {{low: 1, high: 1}}}}}}
deadlines: {{connect_s: 20, first_audio_s: 20, reply_s: 600, return_s: 20}}
"""


def pin(process: Server, core: int) -> None:
    """Keep a process on one core, so that callers and server do not take turns on one."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(process.pid, {cores[core % len(cores)]})


def cpu_s(pid: int) -> float:
    """CPU seconds of a process so far, from /proc."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@dataclass(frozen=True)
class Serving:
    """A server that runs: where, and how to wait until so many callers are spoken to."""

    process: Server
    url: str
    speaks_to: Callable[[int], None]


@contextmanager
def light(port: int) -> Iterator[Serving]:
    """The server that encodes nothing; it tells every reply with a line."""
    command = [sys.executable, str(HERE / "audio_server.py"), "--port", str(port)]
    with _started(command, stdout=subprocess.PIPE) as process:
        lines = process.stdout
        assert lines is not None
        lines.readline()

        def speaks_to(count: int) -> None:
            for _ in range(count):
                lines.readline()

        yield Serving(process, f"ws://127.0.0.1:{port}", speaks_to)


@contextmanager
def golden(port: int) -> Iterator[Serving]:
    """The golden server; its record tells every reply."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "golden.jsonl"
        command = [sys.executable, "-m", "rig.cli", "serve", "golden", "--port", str(port), "--record", str(path)]
        command += ["--reply-s", "600", "--reply-spread", "0", "--first-audio-ms", "0", "--max-sessions", "1000"]
        with _started(command, stderr=subprocess.DEVNULL) as process:

            def speaks_to(count: int) -> None:
                while not path.is_file() or path.read_bytes().count(b'"reply_created"') < count:
                    time.sleep(0.1)

            while not path.is_file() or b'"started"' not in path.read_bytes():
                time.sleep(0.1)
            yield Serving(process, f"ws://127.0.0.1:{port}", speaks_to)


@contextmanager
def _started(command: list[str], **pipes: int) -> Iterator[Server]:
    process = subprocess.Popen(command, **pipes)  # type: ignore[call-overload]
    pin(process, 1)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def measured(command: list[str], count: int, server: Serving, window_s: float) -> tuple[float, float, int, int]:
    """CPU seconds of the callers and of the server in a window, and its bounds; the callers are stopped after it.

    The window begins when all of them are spoken to.
    """
    callers = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pin(callers, 0)
    try:
        server.speaks_to(count)
        time.sleep(SETTLE_S)
        began_ns, ours, theirs = time.monotonic_ns(), cpu_s(callers.pid), cpu_s(server.process.pid)
        time.sleep(window_s)
        return cpu_s(callers.pid) - ours, cpu_s(server.process.pid) - theirs, began_ns, time.monotonic_ns()
    finally:
        callers.send_signal(signal.SIGKILL)
        callers.wait()


def rig_callers(callers: int, name: str, server: Serving, window_s: float) -> float:
    """Measure the rig's callers; prints a line and returns CPU seconds per caller-second."""
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        (folder / "run.yaml").write_text(RUN.format(callers=callers, ramp_s=callers / PER_S), encoding="utf-8")
        locustfile = str(HERE.parent / "clients" / "locustfile.py")
        command = [sys.executable, "-m", "locust", "-f", locustfile, "--headless", "--only-summary"]
        command += ["--host", server.url, "--rig-model", "golden"]
        command += ["--rig-config", str(folder / "run.yaml"), "--rig-journal-dir", str(folder / "events")]
        ours, theirs, began_ns, ended_ns = measured(command, callers, server, window_s)
        (path,) = (folder / "events").glob("*.jsonl")
        events = [event for event in journal.read(path)[0] if began_ns <= event.t_ns <= ended_ns]
    slips = sorted(slip * 1_000 for event in events if isinstance(event, FramesSent) for slip in event.slips_us)
    chunks = [event for event in events if isinstance(event, AudioReceived)]
    heard = sum(event.samples for event in chunks) / 24_000 / callers / window_s
    unreadable = sum(event.unreadable for event in chunks)
    cost = ours / callers / window_s
    print(
        f"rig {callers:4} callers: {ours / window_s:5.2f} core, {name} server {theirs / window_s:4.2f} core, slip of "
        f"{len(slips)} frames p50 {percentile_ms(slips, 50):.1f} ms p99 {percentile_ms(slips, 99):.1f} ms, "
        f"{cost * 1e3:.2f} ms CPU per caller-second, audio {heard:.2f} of real time, {unreadable} samples unreadable",
        flush=True,
    )
    return cost


def other_callers(kind: str, callers: int, server: Serving, window_s: float) -> float:
    """Measure other clients; prints a line and returns CPU seconds per caller-second."""
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "lines"
        command = [sys.executable, str(HERE / "other_callers.py"), kind, server.url, str(callers), str(lines)]
        ours, _, _, _ = measured(command, callers, server, window_s)
        chunks = len(lines.read_text(encoding="utf-8").splitlines())
    cost = ours / callers / window_s
    print(f"{kind:5} {callers:4} callers: {ours / window_s:5.2f} core, {cost * 1e3:.2f} ms CPU per caller-second, "
          f"{chunks} chunks heard", flush=True)  # fmt: skip
    return cost


def main() -> None:
    """Every size, then the comparison."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=18_390)
    parser.add_argument("--callers", type=int, nargs="*", default=[100, 300], help="on the golden server")
    parser.add_argument("--compare", type=int, default=200, help="callers in the comparison; 0 leaves it out")
    parser.add_argument("--window-s", type=float, default=10)
    given = parser.parse_args()
    for callers in given.callers:
        with golden(given.port) as server:
            rig_callers(callers, "golden", server, given.window_s)
    if given.compare:
        with light(given.port) as server:
            ours = rig_callers(given.compare, "light", server, given.window_s)
            for kind in ("plain", "stock"):
                theirs = other_callers(kind, given.compare, server, given.window_s)
                print(f"CPU per caller-second, {kind} / rig: {theirs / ours:.2f} x", flush=True)


if __name__ == "__main__":
    main()
