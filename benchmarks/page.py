"""What report.html costs for a run of 24 h: its size, and how long a browser takes to open it.

    .venv/bin/python -m benchmarks.page                 # makes a run of 10 million events first: some minutes
    .venv/bin/python -m benchmarks.page --run FOLDER    # judges a run folder that there is

Prints the size of the page and, where a Chromium is installed, the time from the request of the page until it is loaded
and drawn, several times, with the middle one. Targets: 10 MB and 3 s.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks import judge
from rig.clock import NS_PER_S
from rig.events import types as ev
from rig.history import EVENTS_DIR
from rig.report import judge_folder
from rig.report.html import page
from tests.report.html.chromium import Tab, chromium, is_installed

CALLERS = 22
EVENTS = 10_000_000
SAMPLE_NS = 5_000_000_000
OPENED = 7
TARGET_BYTES = 10_000_000
TARGET_S = 3.0
MIB = 1 << 20


def main() -> None:
    """Measure one run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", type=Path, help="a run folder; without it one of 24 h is made and removed")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        folder: Path = arguments.run or _make(Path(work) / "run")
        began = time.perf_counter()
        judgement = judge_folder(folder)
        judged_s = time.perf_counter() - began
        html = page.of(judgement)
        made_s = time.perf_counter() - began - judged_s
        span_h = (judgement.history.last_ns - judgement.history.origin_ns) / 3.6e12
        path = Path(work) / "report.html"
        path.write_text(html, encoding="utf-8")
        size = path.stat().st_size
        print(f"run of {span_h:.1f} h; judged in {judged_s:.1f} s, page made in {made_s:.2f} s")
        print(f"size of the page: {size:,} bytes (target {TARGET_BYTES:,})")
        if is_installed():
            _open(path)
        else:
            print("no Chromium is installed: opening was not measured")


def _make(folder: Path) -> Path:
    judge.CALLERS = CALLERS
    events = judge.make_folder(folder, EVENTS)
    _add_memory(folder)
    print(f"made a run of {events:,} events and memory every 5 s")
    return folder


def _add_memory(folder: Path) -> None:
    """A watcher's journal: the memory of four processes, as a real run has it."""
    rig = (folder / EVENTS_DIR / "rig.jsonl").read_bytes().splitlines()
    end_ns = judge.ORIGIN_NS + len(rig) * NS_PER_S
    journal = judge.Writer(folder / EVENTS_DIR / "watch.jsonl", "watch")
    for t_ns in range(judge.ORIGIN_NS, end_ns, SAMPLE_NS):
        for pid, stage in enumerate(("api_server", "thinker", "talker", "code2wav")):
            grown = (1_500 + pid * 100) * MIB + (t_ns - judge.ORIGIN_NS) // 1_000_000
            journal.write(ev.MemorySampled, t_ns, pid=pid, stage=stage, rss_bytes=grown)
    journal.close(end_ns)


def _open(path: Path) -> None:
    with chromium() as tab:
        times = [_once(tab, path) for _ in range(OPENED)]
    told = ", ".join(f"{each:.2f}" for each in times)
    print(f"opened in {statistics.median(times):.2f} s, the middle one of {told} (target {TARGET_S:g} s)")


def _once(tab: Tab, path: Path) -> float:
    began = time.perf_counter()
    tab.open(path)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
