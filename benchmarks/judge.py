"""What judging costs: run folders of a realistic mix of events at several sizes, judged and reported whole.

    make bench                                    # half a million and two million events
    .venv/bin/python benchmarks/judge.py --full   # ten million as well

Prints events per second, seconds of CPU per million, the ratio of the two sizes (1.0: linear) and the peak memory of a
fresh process. The folders are written to a temporary folder and removed.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from rig import ids
from rig.clock import NS_PER_MS, NS_PER_S, from_s
from rig.config.load import load_run
from rig.events import types as ev
from rig.history import EVENTS_DIR, PIPELINE_FILE, RUN_FILE
from rig.plan import PLAN_FILE, make_plan
from rig.report import judge_folder, write_all

ROOT = Path(__file__).resolve().parent.parent
CALLERS = 100
JOURNALS = 4
CALL_S = 52
TURNS = 4
ORIGIN_NS = 10**15
WATCH_NS = 20 * NS_PER_S
STAGES = ("api_server", "thinker", "talker", "code2wav")
TARGET_US = 6.0

SERVER_EVENTS_BEFORE = (
    "input_audio_buffer.speech_started",
    "input_audio_buffer.speech_stopped",
    "input_audio_buffer.committed",
    "conversation.item.created",
    "overlap.decision",
    "response.created",
    "response.output_item.added",
    "response.content_part.added",
)
SERVER_EVENTS_AFTER = (
    "response.output_audio.done",
    "response.output_audio_transcript.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.done",
    "rate_limits.updated",
)
CHUNKS = 6
CHUNK_TOKENS = 28
VOICE = 7
"""Of the first session of a call; the next one has the next."""

Fields = dict[str, Any]
Entry = tuple[type[ev.Event], int, Fields]


class Writer:
    """One journal, written fast."""

    def __init__(self, path: Path, role: str) -> None:
        self.count = 0
        self._encode = msgspec.json.Encoder().encode
        self._file = path.open("wb")
        head = {"schema": ev.SCHEMA_VERSION, "producer": path.stem, "role": role, "host": "bench", "boot_id": "b"}
        self.write(ev.Header, ORIGIN_NS, **head, pid=1, wall_ns=0)

    def write(self, kind: type[ev.Event], t_ns: int, **fields: Any) -> None:
        """Append one event."""
        self._file.write(self._encode(kind(seq=self.count, t_ns=t_ns, **fields)) + b"\n")
        self.count += 1

    def close(self, t_ns: int) -> None:
        """End the journal in order."""
        self.write(ev.JournalClosed, t_ns, dropped=0)
        self._file.close()


def make_folder(folder: Path, events: int) -> int:
    """A run folder of about so many events; returns how many it has."""
    (folder / EVENTS_DIR).mkdir(parents=True)
    call_events = sum(1 for _ in one_call(0, 0))
    rounds = max(1, events // call_events // CALLERS)
    run = (ROOT / "configs/runs/smoke.yaml").read_text(encoding="utf-8")
    run = run.replace("callers: 2", f"callers: {CALLERS}").replace("duration_s: 150", f"duration_s: {rounds * 8}")
    (folder / RUN_FILE).write_text(run.replace("../pipelines/minicpmo45-cpu-tiny.yaml", "pipeline.yaml"))
    pipeline = (ROOT / "configs/pipelines/minicpmo45-cpu-tiny.yaml").read_bytes()
    (folder / PIPELINE_FILE).write_bytes(pipeline)
    plan = make_plan(load_run(folder / RUN_FILE))
    (folder / PLAN_FILE).write_bytes(plan.encode())
    end_ns = ORIGIN_NS + (rounds + 1) * CALL_S * NS_PER_S
    written = _rig_journal(folder, plan.sha256(), end_ns)
    for place in range(JOURNALS):
        journal = Writer(folder / EVENTS_DIR / f"caller-{place}.jsonl", "caller")
        for index in range(rounds):
            _interleave(journal, [numbered(one_call(caller, index)) for caller in range(place, CALLERS, JOURNALS)])
        journal.close(end_ns)
        written += journal.count
    return written


def _interleave(journal: Writer, calls: list[Iterator[Entry]]) -> None:
    """Write the calls of one round as they would come from callers that speak at the same time."""
    while calls:
        calls = [call for call in calls if _write_some(journal, call)]


def _write_some(journal: Writer, call: Iterator[Entry]) -> bool:
    for _ in range(5):
        entry = next(call, None)
        if entry is None:
            return False
        kind, t_ns, fields = entry
        journal.write(kind, t_ns, **fields)
    return True


def _rig_journal(folder: Path, plan_sha256: str, end_ns: int) -> int:
    journal = Writer(folder / EVENTS_DIR / "rig.jsonl", "rig")
    journal.write(ev.RunStarted, ORIGIN_NS, run_id=folder.name, seed=18, plan_sha256=plan_sha256)
    for pid, stage in enumerate(STAGES):
        seen: Fields = {"pid": pid, "ppid": 1, "start_ticks": 1, "stage": stage, "title": stage}
        journal.write(ev.ProcessSeen, ORIGIN_NS, **seen)
    journal.write(ev.PipelineReady, ORIGIN_NS + 1, boot_ns=1)
    journal.write(ev.PhaseEntered, ORIGIN_NS + 2, phase=ev.Phase.LOAD)
    for t_ns in range(ORIGIN_NS, end_ns, NS_PER_S):
        journal.write(ev.HealthProbed, t_ns, status=200, latency_ns=NS_PER_MS, error=None)
        if (t_ns - ORIGIN_NS) % (5 * NS_PER_S) == 0:
            for pid, stage in enumerate(STAGES):
                journal.write(ev.MemorySampled, t_ns, pid=pid, stage=stage, rss_bytes=1_500_000_000)
    journal.write(ev.PhaseEntered, end_ns, phase=ev.Phase.WATCH)
    end_ns += WATCH_NS
    journal.write(ev.PhaseEntered, end_ns, phase=ev.Phase.STOP)
    journal.write(ev.PipelineStopped, end_ns, forced=[])
    journal.write(ev.RunEnded, end_ns, reason=ev.EndReason.PLANNED, detail="")
    journal.close(end_ns)
    return journal.count


def numbered(call: Iterator[Entry]) -> Iterator[Entry]:
    """The call with the server's numbers in its events, which count from 1 in each session."""
    number = 0
    for kind, t_ns, fields in call:
        if kind is ev.SessionReady:
            number = 0
        number += "server_seq" in fields
        yield kind, t_ns, fields | ({"server_seq": number} if "server_seq" in fields else {})


def one_call(caller: int, index: int) -> Iterator[Entry]:
    """One call of four turns; every third interrupts its replies, every fifth hangs up and comes back."""
    draw = ids.rng(1, "bench", caller, index)
    base: Fields = {"call": ids.call_id(caller, index), "connection": 0}
    now = ORIGIN_NS + index * CALL_S * NS_PER_S + caller * 7 * NS_PER_MS
    behaviour = "barge_in" if index % 3 == 0 else "hang_up" if index % 5 == 0 else "polite"
    yield ev.CallStarted, now, {**base, "caller": caller, "behaviour": behaviour, "planned_ns": now}
    yield from _connect(now, base, ev.Connect.FIRST)
    now += NS_PER_S // 2
    for turn in range(TURNS):
        if behaviour == "hang_up" and turn == 2:
            act: Fields = {"turn": turn, "act": ev.Act.HANG_UP_RST, "planned_ns": now, "after_audio_ms": None}
            yield ev.ActTaken, now, base | act
            yield ev.ConnectionClosed, now, {**base, "by": ev.ClosedBy.CALLER, "code": None, "reason": ""}
            base = base | {"connection": 1}
            yield from _connect(now, base, ev.Connect.NEW_SESSION)
            now += NS_PER_S // 2
        yield from _turn(now, base, turn, behaviour == "barge_in", from_s(0.3 + draw.random()))
        now += 12 * NS_PER_S
    yield ev.ConnectionClosed, now, {**base, "by": ev.ClosedBy.CALLER, "code": 1000, "reason": ""}
    yield ev.CallEnded, now, {**base, "outcome": ev.Outcome.DONE, "detail": ""}


def _connect(now: int, base: Fields, why: ev.Connect) -> Iterator[Entry]:
    yield ev.ConnectStarted, now, {**base, "why": why, "attempt": 1, "planned_ns": now}
    yield ev.Connected, now + NS_PER_MS, {**base, "tcp_ns": 100_000, "handshake_ns": 900_000}
    session_id = f"sess_{base['call']}_{base['connection']}"
    ready: Fields = {"session_id": session_id, "resumed": False, "generation": 1, "voice": VOICE + base["connection"]}
    yield ev.SessionReady, now + 13 * NS_PER_MS, base | ready


def _turn(now: int, base: Fields, turn: int, barges_in: bool, wait_ns: int) -> Iterator[Entry]:
    response_id = f"resp_{base['call']}_{turn:04d}"
    yield ev.UtteranceStarted, now, {**base, "turn": turn, "utterance": "weather", "planned_ns": now}
    for second in range(2):
        yield _frames(now + second * NS_PER_S, base)
    now += 2 * NS_PER_S
    yield ev.UtteranceEnded, now, {**base, "turn": turn, "planned_ns": now}
    now += wait_ns
    said: Fields = {"turn": turn, "server_seq": None, "response_id": response_id, "detail": ""}
    for name in SERVER_EVENTS_BEFORE:
        yield ev.ServerEvent, now, base | said | {"name": name}
    for chunk in range(CHUNKS):
        for _ in range(2):
            yield ev.ServerEvent, now, base | said | {"name": "response.output_audio_transcript.delta"}
        marks = [ev.MarkRun(VOICE + base["connection"], turn, chunk * CHUNK_TOKENS, CHUNK_TOKENS)]
        sound: Fields = {"samples": 960 * CHUNK_TOKENS, "marks": marks, "unreadable": 0}
        heard: Fields = {"turn": turn, "response_id": response_id, "server_seq": None}
        yield ev.AudioReceived, now, base | sound | heard
        yield ev.ServerEvent, now, base | said | {"name": "playback.acknowledged"}
        yield _frames(now, base)
        now += from_s(1.1)
    if barges_in:
        act: Fields = {"turn": turn, "act": ev.Act.BARGE_IN_CANCEL, "planned_ns": now, "after_audio_ms": 1_120}
        yield ev.ActTaken, now, base | act
        now += 9 * NS_PER_MS
    for name in SERVER_EVENTS_AFTER:
        status = "" if name != "response.done" else "cancelled" if barges_in else "completed"
        yield ev.ServerEvent, now, base | said | {"name": name, "detail": status}
    outcome = ev.Outcome.CUT if barges_in else ev.Outcome.DONE
    yield ev.TurnEnded, now, {**base, "turn": turn, "outcome": outcome, "response_id": response_id, "audio_ms": 6_720}


def _frames(now: int, base: Fields) -> Entry:
    slips = [800 + (now // 1000 + 37 * frame) % 300 for frame in range(10)]
    return ev.FramesSent, now, base | {"first_planned_ns": now, "interval_ns": 100 * NS_PER_MS, "slips_us": slips}


def judge_once(folder: Path) -> None:
    """In a process of its own: judge, write the reports, print seconds, CPU seconds and peak memory in MiB."""
    began, began_cpu = time.perf_counter(), time.process_time()
    judgement = judge_folder(folder)
    write_all(judgement)
    seconds, cpu_s = time.perf_counter() - began, time.process_time() - began_cpu
    print(seconds, cpu_s, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, judgement.sentence, sep="\t")


def measure(events: int) -> float:
    """Print one line; returns seconds of CPU per million events: what else the machine does counts less there."""
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / "run"
        written = make_folder(folder, events)
        answer = subprocess.run(
            [sys.executable, __file__, "--judge", str(folder)], capture_output=True, text=True, check=True
        )
    seconds_text, cpu_text, mib, sentence = answer.stdout.strip().split("\t")
    seconds, per_million = float(seconds_text), float(cpu_text) / written * 1e6
    print(
        f"judge {written:>10,} events: {seconds:6.2f} s, {written / seconds:>9,.0f} events/s, "
        f"{per_million:.2f} s of CPU a million (target {TARGET_US:g}), peak {float(mib):.0f} MiB; {sentence}"
    )
    return per_million


def main() -> None:
    """All sizes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="ten million events as well")
    parser.add_argument("--judge", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.judge is not None:
        judge_once(arguments.judge)
        return
    sizes = [500_000, 2_000_000, *([10_000_000] if arguments.full else [])]
    costs = [measure(size) for size in sizes]
    print(f"cost of an event at {sizes[-1]:,} over {sizes[0]:,}: {costs[-1] / costs[0]:.2f} (1: linear)")


if __name__ == "__main__":
    main()
