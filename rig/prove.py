"""The proof of the checks: the golden server with one fault at a time must fail the check that is meant for the fault.

Each trial is a whole run as `rig run` makes it: the server as a child of the warden, watched by pidfd, called by real
callers, judged from its journals. Only Locust is left out, because it costs more than all the rest: the callers are
threads of the run's own process. Most faults fire once in a run, at a moment that differs from seed to seed. A trial in
which the fault did not fire proves nothing and counts as short. Healthy servers must pass every check; such a run in
which the callers themselves were too slow (`rig_validity`) proves nothing either and is made again, alone.

    python -m rig.prove --seeds 20 --healthy 50
"""

import argparse
import asyncio
import os
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from clients import microphone
from clients.caller import Call, Target
from clients.dispatch import SlotCalls
from rig.clock import from_s, monotonic_ns, to_s
from rig.drive import Callers
from rig.events.journal import Journal
from rig.golden import record
from rig.history import CALLER_ROLE
from rig.pipeline.golden import RECORD_FILE
from rig.progress import Snapshot
from rig.run import run
from rig.verdict import Verdict

Settings = Mapping[str, Any]

SEEDS = 20
HEALTHY_SEEDS = 50
SHARE = 0.95
"""A fault must be caught in 19 of 20 seeds."""
TRIES = 3
"""How often a healthy run whose callers were too slow is made again."""

POLITE: Settings = {"polite": {"weight": 1, "turns": {"low": 1, "high": 1}}}
BARGE_IN: Settings = {"weight": 2, "turns": {"low": 1, "high": 1}, "after_audio_s": {"low": 0.2, "high": 0.5}}
CANCEL: Settings = {"barge_in": {**BARGE_IN, "by": {"cancel": 1}}}
HANG_UP: Settings = {
    "weight": 2,
    "how": {"rst": 1, "fin": 1, "close_frame": 1},
    "when": {"before_created": 1, "while_speaking": 1, "awaiting_reply": 1, "during_reply": 2},
    "then": {"new_session": 1, "resume": 1},
    "after_s": {"low": 0.1, "high": 0.4},
}
RESUME: Settings = {"hang_up": {**HANG_UP, "when": {"awaiting_reply": 1, "during_reply": 1}, "then": {"resume": 1}}}
OFTEN: Settings = {"hang_up": {**HANG_UP, "when": {"while_speaking": 1}, "then": {"new_session": 1}}}
MIXED: Settings = {**POLITE, "barge_in": {**BARGE_IN, "by": {"cancel": 1, "speech": 1}}, "hang_up": HANG_UP}


@dataclass(frozen=True)
class Case:
    """One fault (its name in the golden server's table and its settings) and the run in which it must be caught."""

    fault: str
    check: str | None
    behaviours: Settings = field(default_factory=lambda: POLITE)
    settings: str = "times=1"
    load_s: float = 1.0
    probe: bool = False
    memory: bool = False
    ramp_s: float = 0.0
    """Seconds over which the callers begin: those who begin together hang up together, and memory grows in one step."""

    def spec(self, seed: int) -> str:
        """The fault as the golden server reads it; it is armed after another number of sessions for each seed."""
        return f"{self.fault}:{self.settings}".format(some=seed % 3, one=1 + seed % 3, p=(0.3, 0.6, 1.0)[seed % 3])


CASES: tuple[Case, ...] = (
    Case("none", None, MIXED, "p=1", load_s=5.0, probe=True, memory=True),
    Case("die", "liveness", MIXED, "after_sessions={one},p={p}"),
    Case("exit", "liveness", MIXED, "after_sessions={one},p={p}"),
    Case("late_death", "liveness", settings="delay_s=0.5"),
    Case("hang", "progress", settings="after_sessions={one}"),
    Case("freeze", "progress", settings="after_sessions={one},for_s=60"),
    Case("no_end", "progress", settings="times=1,after_sessions={some}"),
    Case("two_ends", "progress", settings="times=1,after_sessions={some}"),
    Case("close_1011", "connections", settings="times=1,after_sessions={some},p={p}"),
    Case("drop", "connections", settings="times=1,after_sessions={some},p={p}"),
    Case("refuse", "refusals", settings="times=1,after_sessions={some}"),
    Case("repeat_seq", "resume", RESUME),
    Case("skip_seq", "resume", RESUME),
    Case("wrong_generation", "resume", RESUME),
    Case("forget", "resume", RESUME),
    Case("lose_slot", "slots", {"hang_up": HANG_UP}, probe=True),
    Case("resurrect", "slots", probe=True),
    Case("cross_audio", "audio", settings="times=1,after_sessions=2,p={p}"),
    Case("missing_start", "audio", settings="times=1,after_sessions={some},p={p}"),
    Case("missing_chunk", "audio", settings="times=1,after_sessions={some},p={p}"),
    Case("doubled_chunk", "audio", settings="times=1,after_sessions={some},p={p}"),
    Case("reordered_chunk", "audio", settings="times=1,after_sessions={some},p={p}"),
    Case("stale_audio", "stale_audio", CANCEL),
    Case("wrong_turn", "turn_identity", RESUME),
    Case("shared_id", "turn_identity", settings="times=1,after_sessions=2"),
    Case("stay", "shutdown", load_s=0.1),
    Case("leak", "memory", OFTEN, "mib=4", load_s=14.0, memory=True, ramp_s=5.0),
)


@dataclass(frozen=True)
class Trial:
    """What became of one run."""

    fault: str
    seed: int
    fired: int
    verdicts: Mapping[str, Verdict]
    summaries: Mapping[str, str]
    error: str = ""

    def failed(self, check: str | None) -> bool:
        """Whether a check failed the run."""
        return check is not None and self.verdicts.get(check) is Verdict.FAIL

    @property
    def too_slow(self) -> bool:
        """Whether all that is wrong is that the callers did not keep time."""
        return {name for name, verdict in self.verdicts.items() if verdict is not Verdict.PASS} == {"rig_validity"}

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return bool(self.verdicts) and set(self.verdicts.values()) == {Verdict.PASS}


class ThreadCallers(Callers):
    """Callers as threads of this process, for runs of seconds: the same calls and the same journal as under Locust."""

    async def start(self) -> None:
        """Start calling."""
        microphone.prepare()
        self._stopping = threading.Event()
        self._journal = Journal(self.journals, f"{CALLER_ROLE}-{self.plan_file.stem}-{os.getpid()}", CALLER_ROLE)
        self._target = Target(self.url, self.model, self.plan.seed, self.config.deadlines)
        self._threads = [threading.Thread(target=self._play, args=(slot,)) for slot in range(self.plan.callers)]
        for thread in self._threads:
            thread.start()

    async def begun(self) -> None:
        """At once: threads wait for nobody."""

    async def wait(self) -> int:
        """0 when the last call is over."""
        while any(thread.is_alive() for thread in self._threads):
            await asyncio.sleep(0.05)
        self._journal.close()
        return 0

    async def stop(self) -> None:
        """No call begins any more; those that run end with their deadlines."""
        self._stopping.set()
        await self.wait()

    def _play(self, slot: int) -> None:
        begin_ns = monotonic_ns()
        end_ns = begin_ns + from_s(self.length_s)
        calls = SlotCalls(self.plan.calls_of(slot), begin_ns)
        while (due := calls.next(monotonic_ns())) is not None:
            if not self.is_probe and due.planned_ns > end_ns:
                return
            if self._stopping.wait(max(0.0, to_s(due.planned_ns - monotonic_ns()))):
                return
            Call(due.script, self._target, self._journal).play(due.planned_ns, due.free_ns)


class _Quiet:
    """A view of a run among hundreds, which nobody looks at."""

    every_s = 60.0

    def say(self, line: str) -> None:
        """See View."""

    def show(self, now: Snapshot) -> None:
        """See View."""


def try_once(case: Case, seed: int, folder: Path) -> Trial:
    """One run of the rig with the fault of a case."""
    folder.mkdir(parents=True)
    (folder / "pipeline.yaml").write_text(yaml.safe_dump(_pipeline(case, seed)), encoding="utf-8")
    (folder / "run.yaml").write_text(yaml.safe_dump(_run(case, seed)), encoding="utf-8")
    judgement = run(folder / "run.yaml", folder / "results", _Quiet(), callers=ThreadCallers)
    lines = record.read(judgement.history.folder / "server" / RECORD_FILE)
    fired = sum(isinstance(line, record.FaultFired) for line in lines)
    verdicts = {check.check: check.verdict for check in judgement.checks}
    return Trial(case.fault, seed, fired, verdicts, {check.check: check.summary for check in judgement.checks})


def _pipeline(case: Case, seed: int) -> Settings:
    golden = {"seed": seed, "reply_s": 1.2, "first_audio_ms": 150, "chunk_ms": 200, "pace_ms": 200}
    return {
        "question": "Does the rig see the fault that this server has?",
        "hardware_label": "golden",
        "stop_grace_s": 10,
        "duplex_session": {"max_sessions": 8, "disconnect_grace_s": 1.0, "reaper_interval_s": 0.1},
        "golden": {**golden, "faults": [case.spec(seed)]},
    }


def _run(case: Case, seed: int) -> Settings:
    return {
        "question": "Does the rig see the fault that the golden server has?",
        "pipeline": "pipeline.yaml",
        "seed": seed,
        "load": {
            "callers": 6,
            "duration_s": case.load_s,
            "ramp": {"up_s": case.ramp_s},
            "pause_s": _span(0.1),
            "think_s": _span(0.1),
        },
        "behaviours": dict(case.behaviours),
        # A healthy reply begins after 0.7 s and lasts 1.6 s; the rest is for crowded machines.
        "deadlines": {"connect_s": 4, "first_audio_s": 4, "reply_s": 5, "return_s": 4},
        "watch": {"health_interval_s": 0.5, "memory_interval_s": 0.1, "after_load_s": 1.5},
        "slots": {"probe": case.probe, "margin_s": 1},
        "bus": {"kind": "none"},
        # In seconds instead of hours: the golden server leaks as much as it weighs within one run.
        "memory": {"warm_up_s": 2 + case.ramp_s / 2, "least_s": 2 if case.memory else 1_000, "growth_per_hour": 8},
    }


def _span(high: float) -> Settings:
    return {"low": 0.0, "high": high}


def _guarded(case: Case, seed: int, folder: Path) -> Trial:
    try:
        return try_once(case, seed, folder)
    except Exception:  # noqa: BLE001 - one broken trial must not hide the others
        return Trial(case.fault, seed, 0, {}, {}, traceback.format_exc())


def _pool(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, mp_context=get_context("forkserver"), initializer=_end_with_the_proof)


def _end_with_the_proof() -> None:
    """Make this worker end when the proof is killed; the wardens then stop its servers."""
    proof = parent_process()
    assert proof is not None

    def wait() -> None:
        proof.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def prove(cases: Sequence[Case], seeds: Mapping[str, int], jobs: int, folder: Path) -> list[Trial]:
    """All trials, `jobs` at a time, with a line on stderr for each that is short.

    Healthy runs whose callers the crowd made too slow are made again at the end, one at a time.
    """
    trials: list[Trial] = []
    begin_s = time.monotonic()
    # Seed by seed, so that what is slow or broken shows early.
    wanted = [(case, seed) for seed in range(max(seeds.values())) for case in cases if seed < seeds[case.fault]]
    again: list[tuple[Case, int]] = []
    with _pool(jobs) as pool:
        futures = {
            pool.submit(_guarded, case, seed, folder / f"{case.fault}-{seed}"): (case, seed) for case, seed in wanted
        }
        for done, future in enumerate(as_completed(futures), start=1):
            case, seed = futures[future]
            trial = future.result()
            if case.check is None and trial.too_slow:
                again.append((case, seed))
            else:
                trials.append(_noted(case, trial))
            if done % 20 == 0:
                spent_s = time.monotonic() - begin_s
                print(f"{done} of {len(wanted)} runs, {spent_s:.0f} s", file=sys.stderr)
    if again:
        print(f"{len(again)} healthy runs had slow callers and are made again", file=sys.stderr)
    with _pool(1) as pool:
        trials += [_noted(case, _alone(pool, case, seed, folder)) for case, seed in again]
    print(f"{len(wanted)} runs, {jobs} side by side: {time.monotonic() - begin_s:.0f} s", file=sys.stderr)
    return trials


def _alone(pool: ProcessPoolExecutor, case: Case, seed: int, folder: Path) -> Trial:
    """A run with nothing beside it, until its callers kept time, TRIES times at most."""
    for number in range(1, TRIES + 1):
        trial = pool.submit(_guarded, case, seed, folder / f"{case.fault}-{seed}-again-{number}").result()
        if not trial.too_slow:
            break
    return trial


def _noted(case: Case, trial: Trial) -> Trial:
    if not is_good(case, trial):
        print(f"short: {_told(case, trial)}", file=sys.stderr)
    return trial


def is_good(case: Case, trial: Trial) -> bool:
    """Whether a trial came out as it must."""
    return trial.passed if case.check is None else trial.fired > 0 and trial.failed(case.check)


def _told(case: Case, trial: Trial) -> str:
    where = f"{case.spec(trial.seed)} seed {trial.seed}"
    if trial.error:
        return f"{where}: the run itself broke\n{trial.error}"
    if case.check is None:
        bad = [f"{name}: {trial.summaries[name]}" for name, one in trial.verdicts.items() if one is not Verdict.PASS]
        return f"{where}: {'; '.join(bad)}"
    if trial.fired == 0:
        return f"{where}: the fault did not fire; completeness: {trial.summaries['completeness']}"
    return f"{where}: {case.check} says {trial.verdicts[case.check]}: {trial.summaries[case.check]}"


def table(cases: Sequence[Case], trials: Iterable[Trial]) -> tuple[str, bool]:
    """A line a case as Markdown, and whether every case came out as it must."""
    lines = ["| fault | meant check | caught | also raised by |", "| --- | --- | --- | --- |"]
    enough = True
    by_fault: dict[str, list[Trial]] = {}
    for trial in trials:
        by_fault.setdefault(trial.fault, []).append(trial)
    for case in cases:
        found = by_fault.get(case.fault, [])
        good = sum(is_good(case, trial) for trial in found)
        least = len(found) if case.check is None else SHARE * len(found)
        enough = enough and bool(found) and good >= least
        others: Counter[str] = Counter()
        for trial in found:
            others.update(name for name in trial.verdicts if trial.failed(name) and name != case.check)
        also = ", ".join(f"{name} {count}" for name, count in others.most_common()) or "-"
        what = "none: a pass" if case.check is None else case.check
        lines.append(f"| `{case.fault}` | {what} | {good} of {len(found)} | {also} |")
    return "\n".join(lines), enough


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the proof and print its table; 0 when every fault was caught often enough and every healthy run passed."""
    parser = argparse.ArgumentParser(prog="python -m rig.prove", description="Prove the checks on the golden server.")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="runs for each fault")
    parser.add_argument("--healthy", type=int, default=HEALTHY_SEEDS, help="runs without a fault")
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1), help="runs side by side")
    parser.add_argument("--fault", action="append", choices=[case.fault for case in CASES], help="only these")
    parser.add_argument("--keep", type=Path, help="a new folder in which the runs are kept")
    parsed = parser.parse_args(arguments)
    cases = [case for case in CASES if parsed.fault is None or case.fault in parsed.fault]
    seeds = {case.fault: parsed.healthy if case.check is None else parsed.seeds for case in cases}
    with TemporaryDirectory(prefix="rig-prove-") as made:
        folder = Path(made) if parsed.keep is None else parsed.keep
        shown, enough = table(cases, prove(cases, seeds, parsed.jobs, folder))
    print(shown)
    print("proven" if enough else "NOT proven: see the lines that begin with short")
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
