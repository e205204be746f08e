"""How near every figure is to the golden server's own record, at 50 full-rate callers: `make bench`.

    .venv/bin/python benchmarks/accuracy.py --callers 50 --load-s 40

A whole run of the rig on the golden server over loopback: Locust, bus and watchers included, callers who wait, barge
in, hang up and come back. Each event that callers stamped is matched by session, reply and chunk with the line of the
server's record about the same thing, and every figure is computed twice: with the callers' times and with the server's.
Their difference is what the rig itself adds: the way to and from the server, and being late at either end. What the
server cannot see (when a caller meant to connect) is the same in both.
"""

import argparse
import bisect
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import yaml

from rig import history
from rig.clock import NS_PER_S
from rig.events.types import Act, ActTaken, AudioReceived, CallEvent, ServerEvent, SessionReady, UtteranceEnded
from rig.golden import record
from rig.history import Call, History
from rig.measure import FIGURES
from rig.measure.figure import Measure
from rig.measure.load import percentile_ms
from rig.measure.send_slip import SendSlip
from rig.measure.underrun import Stalls
from rig.pipeline.golden import RECORD_FILE

LIMIT_MS = 5.0
FAR_NS = NS_PER_S
"""What came in so long after it was due is another of its kind."""

NO_TIMES: tuple[type[Measure], ...] = (Stalls, SendSlip)
"""A count, and what the server knows nothing of: when a frame was due."""

RUN = """
question: How near are the rig's figures to the golden server's own record?
pipeline: pipeline.yaml
seed: 11
load: {{callers: {callers}, duration_s: {load_s}, pause_s: {{low: 0.1, high: 1}}, think_s: {{low: 0.1, high: 1}}}}
behaviours:
  polite: {{weight: 2, turns: {{low: 1, high: 3}}}}
  barge_in:
    weight: 2
    turns: {{low: 1, high: 3}}
    by: {{speech: 1, cancel: 1}}
    after_audio_s: {{low: 0.3, high: 2}}
  hang_up:
    weight: 2
    how: {{rst: 1, fin: 1, close_frame: 1}}
    when: {{awaiting_reply: 1, during_reply: 2}}
    then: {{new_session: 1, resume: 1}}
    after_s: {{low: 0.1, high: 1}}
deadlines: {{connect_s: 10, first_audio_s: 10, reply_s: 20, return_s: 20}}
watch: {{after_load_s: 0}}
slots: {{probe: false}}
"""


def pipeline(callers: int, port: int) -> str:
    """The server, with a slot less than callers who come back new can fill, so that some are refused and try again."""
    golden = {"seed": 11, "reply_s": 4.0, "first_audio_ms": 300, "chunk_ms": 1_000, "pace_ms": 1_000}
    return yaml.safe_dump(
        {
            "question": "How near are the rig's figures to this server's own record?",
            "hardware_label": "golden",
            "port": port,
            "duplex_session": {"max_sessions": callers + 2, "disconnect_grace_s": 2.0, "reaper_interval_s": 0.2},
            "golden": golden,
        }
    )


@dataclass(frozen=True)
class Compared:
    """One figure: how far each of its values is from the server's, in nanoseconds, and how many had no partner."""

    name: str
    errors_ns: tuple[int, ...]
    unpaired: int

    @property
    def p99_ms(self) -> float | None:
        """99th percentile of the absolute error."""
        return percentile_ms(sorted(map(abs, self.errors_ns)), 99)

    @property
    def is_near(self) -> bool:
        """Whether it keeps the limit, with every value paired."""
        return self.unpaired == 0 and (self.p99_ms is None or self.p99_ms <= LIMIT_MS)

    def told(self) -> str:
        """A line."""
        if not self.errors_ns:
            return f"{self.name:30} no value{f', {self.unpaired} unpaired: FAIL' if self.unpaired else ''}"
        sizes = sorted(map(abs, self.errors_ns))
        found = ", ".join(
            f"{name} {percentile_ms(sizes, at):7.3f}" for name, at in (("p50", 50), ("p99", 99), ("max", 100))
        )
        lost = f", {self.unpaired} unpaired" if self.unpaired else ""
        return (
            f"{self.name:30} n {len(sizes):6}  |rig - golden| ms: {found}{lost}  {'pass' if self.is_near else 'FAIL'}"
        )


class Truth:
    """The server's record, to be asked when something that a caller noted had truly happened."""

    def __init__(self, lines: Iterable[record.AnyLine]) -> None:
        self.unmatched: Counter[str] = Counter()
        self._times: dict[tuple[object, ...], list[int]] = defaultdict(list)
        for line in lines:
            self._take(line)

    def _take(self, line: record.AnyLine) -> None:
        match line:
            case record.SessionOpened() | record.SessionResumed():
                self._times["ready", line.session].append(line.t_ns)
            case record.ReplyCreated() if line.sent:
                self._times["created", line.response].append(line.t_ns)
            case record.ChunkSent() if line.sent:
                self._times["chunk", line.response, line.first_token].append(line.t_ns)
            case record.ReplyEnded() if line.sent:
                self._times["ended", line.response].append(line.t_ns)
            case record.StopSeen(by="cancel"):
                self._times["cancel", line.session].append(line.t_ns)
            case record.SpeechStarted():
                self._times["speech", line.session].append(line.heard_ns)
            case record.SpeechEnded():
                self._times["silence", line.session].append(line.heard_ns)

    def before(self, t_ns: int, *key: object) -> int | None:
        """The latest time of a thing up to `t_ns`: what is sent again after a resume was read after that."""
        times = self._times.get(key, [])
        place = bisect.bisect_right(times, t_ns)
        if place == 0:
            self.unmatched[str(key[0])] += 1
            return None
        return times[place - 1]

    def nearest(self, t_ns: int, *key: object) -> int | None:
        """The time of a thing that is nearest to `t_ns`, when it was due; another of its kind is seconds away."""
        found = min(self._times.get(key, []), key=lambda each: abs(each - t_ns), default=None)
        if found is None or abs(found - t_ns) > FAR_NS:
            self.unmatched[str(key[0])] += 1
            return None
        return found


class Recorded:
    """The calls of a run with the server's times in place of the callers'."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth

    def call(self, call: Call) -> Call:
        """One call; what the server knows nothing of is left out, so that a figure that needs it lacks a value."""
        sessions = {event.connection: event.session_id for event in call.of(SessionReady)}
        changed = (self._event(event, sessions.get(event.connection)) for event in call.events)
        return Call(call.start, [event for event in changed if event is not None])

    def _event(self, event: CallEvent, session: str | None) -> CallEvent | None:
        match event:
            case SessionReady():
                return self._read(event, "ready", event.session_id)
            case AudioReceived() if event.samples > 0:
                return self._read(event, "chunk", event.response_id, event.marks[0].first if event.marks else None)
            case ServerEvent(name="response.created"):
                return self._read(event, "created", event.response_id)
            case ServerEvent(name="response.done"):
                return self._read(event, "ended", event.response_id)
            case UtteranceEnded():
                return self._sent(event, "silence", session)
            case ActTaken(act=Act.BARGE_IN_SPEECH):
                return self._sent(event, "speech", session)
            case ActTaken(act=Act.BARGE_IN_CANCEL):
                return self._sent(event, "cancel", session)
        return event

    def _read(self, event: CallEvent, *key: object) -> CallEvent | None:
        t_ns = self._truth.before(event.t_ns, *key)
        return None if t_ns is None else msgspec.structs.replace(event, t_ns=t_ns)

    def _sent(self, event: UtteranceEnded | ActTaken, *key: object) -> CallEvent | None:
        t_ns = self._truth.nearest(event.planned_ns, *key)
        return None if t_ns is None else msgspec.structs.replace(event, planned_ns=t_ns)


class Values:
    """One measure, asked for the values of one call at a time, in nanoseconds or billionths."""

    def __init__(self, kind: type[Measure], run: History) -> None:
        self._found: list[int] = []
        self._measure = kind(run)
        self._measure.add = self._add  # type: ignore[method-assign]

    def of(self, call: Call) -> list[int]:
        """All values of a call, in the order of the measure."""
        self._found.clear()
        self._measure.see(call)
        return list(self._found)

    def _add(self, call: Call, at_ns: int, value_ns: int, interval_ns: int = 0, *, of: CallEvent) -> None:
        self._found.append(value_ns)


def compare(folder: Path, lines: Iterable[record.AnyLine]) -> tuple[list[Compared], Counter[str]]:
    """Every figure of a run folder against the server's record; and what was read and never sent, by kind."""
    run = history.load(folder)
    truth = Truth(lines)
    recorded = Recorded(truth)
    kinds = [kind for kind in FIGURES if kind not in NO_TIMES]
    asked = [(kind.name, Values(kind, run), Values(kind, run)) for kind in kinds]
    errors: dict[str, list[int]] = {kind.name: [] for kind in kinds}
    unpaired: Counter[str] = Counter()
    for call in (call for calls in run.calls() for call in calls):
        true = recorded.call(call)
        for name, ours, theirs in asked:
            seen, sent = ours.of(call), theirs.of(true)
            if len(seen) == len(sent):
                errors[name] += [mine - golden for mine, golden in zip(seen, sent, strict=True)]
            else:
                unpaired[name] += max(len(seen), len(sent))
    return [Compared(name, tuple(found), unpaired[name]) for name, found in errors.items()], truth.unmatched


def carry_out(work: Path, callers: int, load_s: float, port: int) -> Path:
    """The run; returns its folder. Raises CalledProcessError for one that was not judged."""
    (work / "pipeline.yaml").write_text(pipeline(callers, port), encoding="utf-8")
    (work / "run.yaml").write_text(RUN.format(callers=callers, load_s=load_s), encoding="utf-8")
    command = [sys.executable, "-m", "rig.cli", "run", str(work / "run.yaml"), "--results", str(work / "results")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    found = list((work / "results").glob("*/verdict.json"))
    if not found:
        raise subprocess.CalledProcessError(ended.returncode, command, ended.stdout, ended.stderr)
    print(ended.stdout.strip().splitlines()[-1], flush=True)
    return found[0].parent


def report(compared: Sequence[Compared], unmatched: Counter[str]) -> bool:
    """Print a line a figure; whether all are near."""
    for one in compared:
        print(one.told())
    if unmatched:
        print(f"read or said by callers, and not in the server's record: {dict(unmatched)}")
    near = all(one.is_near for one in compared)
    print(f"every figure within {LIMIT_MS:g} ms p99 of the server's own record: {'pass' if near else 'FAIL'}")
    return near


def main() -> int:
    """Run and compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--callers", type=int, default=50)
    parser.add_argument("--load-s", type=float, default=40)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="compare a run folder that there is")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        folder: Path = given.folder or carry_out(Path(work), given.callers, given.load_s, given.port)
        return 0 if report(*compare(folder, record.read(folder / "server" / RECORD_FILE))) else 1


if __name__ == "__main__":
    sys.exit(main())
