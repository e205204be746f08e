"""A comparison: the same calls against two variants of a server, pair by pair, A B, B A, A B, ...

Pair i has the seed S + i on both sides, and so the same plan, byte for byte. Two runs of a side that follow each other
use one booted server, when the first of them leaves it sound. After each run ab.json and report.md are written, so that
a comparison that ends early has lost nothing.
"""

import asyncio
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec
import yaml

from rig import history
from rig.clock import monotonic_ns, to_s
from rig.compare import record as records
from rig.compare.facts import Facts
from rig.compare.record import Made, Planned, Record, SideName
from rig.config.load import load_both
from rig.config.overrides import Overrides, written_with
from rig.config.pipeline import ExternalServer
from rig.config.run import RunConfig
from rig.config.variant import Variant
from rig.config.variant import parse as parse_variant
from rig.drive import Callers
from rig.errors import RigError, UsageError
from rig.events.types import EndReason
from rig.explained import EXPLAINABLE
from rig.folder import new_folder
from rig.golden import faults
from rig.live import View
from rig.pipeline.shared import Series, SharedServer
from rig.prepare import prepare
from rig.report import ab as pages
from rig.report import judge_folder, write_all
from rig.report.comparison import Side, write_comparison
from rig.report.comparison.content import judged_digest
from rig.report.digest import Digest, digest_of
from rig.run import carry_out
from rig.slots import settle_s
from rig.verdict import Verdict
from rig.watch import log_signatures

MUST_PASS = ("liveness", "slots", "shutdown", "progress")
"""Checks that a run must pass so that another one may use its server."""

SERVERS_DIR = "servers"

Digests = dict[Path, Digest]
"""Digests of runs that were judged here, by their whole paths: judging is what costs."""


@dataclass(frozen=True)
class Wanted:
    """A comparison as it is asked for; without a seed that of the run file is the first."""

    run_file: Path
    a: str
    b: str
    bugs: tuple[str, ...]
    pairs: int
    seed: int | None
    results: Path


def start(wanted: Wanted, view: View, callers: type[Callers] = Callers) -> Record:
    """Make a whole comparison. Raises UsageError before anything is started, and never leaves a process."""
    variants = _variants(wanted.a, wanted.b, wanted.bugs)
    config, hardware_label, pipeline_file = _read(wanted.run_file, variants)
    folder = new_folder(wanted.results, wanted.run_file, "ab")
    record = Record(
        id=folder.name,
        question=config.question,
        run_file=str(wanted.run_file),
        pipeline_file=str(pipeline_file),
        hardware_label=hardware_label,
        a=variants["a"].spec,
        b=variants["b"].spec,
        bugs=wanted.bugs,
        pairs=wanted.pairs,
        seed=config.seed if wanted.seed is None else wanted.seed,
    )
    with records.held(folder):
        records.write(folder, record)
        return _Comparison(folder, record, variants, config, view, callers).make()


def resume(folder: Path, view: View, callers: type[Callers] = Callers) -> Record:
    """Go on with a comparison that ended early. Runs that were interrupted are made again. Raises UsageError."""
    with records.held(folder):
        record = records.read(folder)
        variants = _variants(record.a, record.b, record.bugs)
        run_file = Path(record.run_file)
        config, _, pipeline_file = _read(run_file, variants)
        for made in record.runs:
            _refuse_changed(folder / made.folder, run_file, made.seed, variants[made.side], pipeline_file)
        whole = tuple(made for made in record.runs if made.facts.end not in (None, EndReason.INTERRUPTED))
        record = msgspec.structs.replace(record, runs=whole, ended=records.GOING_ON)
        return _Comparison(folder, record, variants, config, view, callers).make()


def judge(folder: Path) -> Record:
    """Judge every run of a comparison again, and the comparison from them. Raises RigError."""
    digests: Digests = {}
    with records.held(folder):
        record = records.read(folder)
        runs = tuple(msgspec.structs.replace(one, facts=_judged(folder / one.folder, digests)) for one in record.runs)
        record = msgspec.structs.replace(record, runs=runs).compared()
        _write(folder, record)
        _write_page(folder, record, digests)
    return record


def _variants(a: str, b: str, bugs: tuple[str, ...]) -> dict[SideName, Variant]:
    return {"a": parse_variant(a, bugs), "b": parse_variant(b, bugs)}


def _read(run_file: Path, variants: dict[SideName, Variant]) -> tuple[RunConfig, str, Path]:
    """The run, its hardware label and its pipeline file, good for both variants."""
    for variant in variants.values():
        config, pipeline, pipeline_file = load_both(run_file, edit_pipeline=variant.apply)
        try:
            faults.parse(variant.faults)
        except UsageError as error:
            raise UsageError(f"{variant.spec!r}: {error}") from error
    assert not isinstance(pipeline, ExternalServer), "a variant refuses a server that somebody else runs"
    if config.metrics.enabled:
        raise UsageError(f"{run_file}: a comparison serves no /metrics; set metrics.enabled to false")
    return config, pipeline.hardware_label, pipeline_file


def _refuse_changed(run: Path, run_file: Path, seed: int, variant: Variant, pipeline_file: Path) -> None:
    now = {
        history.RUN_FILE: written_with(run_file, Overrides(seed=seed)),
        history.PIPELINE_FILE: variant.written(pipeline_file),
    }
    for name, text in now.items():
        if yaml.safe_load((run / name).read_text(encoding="utf-8")) != yaml.safe_load(text):
            raise UsageError(f"{run_file} or {pipeline_file} has changed since {run}: begin a new comparison")


def _judged(run: Path, digests: Digests) -> Facts:
    judgement = judge_folder(run)
    write_all(judgement)
    digests[run.resolve()] = digest_of(judgement)
    return pages.facts_from(judgement)


def _write(folder: Path, record: Record) -> None:
    records.write(folder, record)
    pages.write(folder, record)


def _write_page(folder: Path, record: Record, digests: Digests) -> None:
    """The sides' figures and distributions as a page, once both sides have runs; those without a digest are judged."""
    runs = {side: [folder / made.folder for made in record.runs if made.side == side] for side in records.SIDES}
    if all(runs.values()):
        labels = {"a": f"A: {record.a}", "b": f"B: {record.b}"}
        sides = [Side(labels[side], runs[side]) for side in records.SIDES]
        write_comparison(folder, sides, lambda run: digests.get(run.resolve()) or judged_digest(run))


def _fatal(line: str) -> str | None:
    name = log_signatures.match(line)
    return None if name == EXPLAINABLE else name


class _Comparison:
    """A comparison that goes on."""

    def __init__(
        self,
        folder: Path,
        record: Record,
        variants: dict[SideName, Variant],
        config: RunConfig,
        view: View,
        callers: type[Callers],
    ) -> None:
        self._folder = folder
        self._record = record
        self._variants = variants
        self._config = config
        self._view = view
        self._callers = callers
        done = {(made.pair, made.side) for made in record.runs}
        self._todo = [one for one in records.order(record.pairs, record.seed) if (one.pair, one.side) not in done]
        self._last_folder: Path | None = None
        self._digests: Digests = {}
        # Also those of runs that are made again: a server's folder is never used twice.
        self._servers = len(list((folder / SERVERS_DIR).glob("*")))
        self._server: SharedServer | None = None
        self._fresh_because = ""
        self._interrupted = asyncio.Event()
        self._spent_s: list[float] = []

    def make(self) -> Record:
        """Make every run that is to be made. Whatever happens, what was made is on disk and no server is left."""
        self._view.say(f"comparison in {self._folder}: {len(self._todo)} runs")
        try:
            asyncio.run(self._make())
        except RigError:
            if self._record.runs:
                self._view.say(f"what is there can be judged: rig ab --judge {self._folder}")
            raise
        ended = records.AS_PLANNED
        if self._interrupted.is_set():
            ended = "stopped by the user"
            self._judge_last()
        self._record = msgspec.structs.replace(self._record, ended=ended).compared()
        _write(self._folder, self._record)
        _write_page(self._folder, self._record, self._digests)
        if self._interrupted.is_set():
            for way in ("judge", "resume"):
                self._view.say(f"to {way} what is there: rig ab --{way} {self._folder}")
        return self._record

    def _judge_last(self) -> None:
        """The last run may have been given the stop of its server since it was judged."""
        if self._record.runs:
            *before, last = self._record.runs
            last = msgspec.structs.replace(last, facts=_judged(self._folder / last.folder, self._digests))
            self._record = msgspec.structs.replace(self._record, runs=(*before, last))

    async def _make(self) -> None:
        try:
            for place, planned in enumerate(self._todo):
                self._listen()
                if self._interrupted.is_set():
                    return
                following = self._todo[place + 1] if place + 1 < len(self._todo) else None
                await self._one(planned, keep=following is not None and following.side == planned.side)
        finally:
            await self._stop_server()

    def _listen(self) -> None:
        """A run listens for itself while it goes on; this is for the time between runs."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._interrupted.set)

    async def _one(self, planned: Planned, *, keep: bool) -> None:
        """One run, judged, with its server left to the next one or stopped."""
        begin_s = time.monotonic()
        reused = self._server is not None
        if self._server is None:
            self._servers += 1
            self._server = SharedServer(self._folder / SERVERS_DIR / f"{self._servers:02d}")
        self._announce(planned, reused)
        prepared = prepare(
            self._config_file,
            self._folder.parent,
            Overrides(seed=planned.seed),
            self._variants[planned.side],
            boots=not reused,
            told={"ab": self._record.id, "side": planned.side, "pair": planned.pair, "server_reused": reused},
        )
        self._last_folder = prepared.folder
        series = Series(self._server, self._interrupted, keep)
        await carry_out(prepared, self._view, self._callers, series)
        self._listen()
        ended_ns = monotonic_ns()
        made = Made(
            folder=os.path.relpath(prepared.folder, self._folder),
            pair=planned.pair,
            side=planned.side,
            seed=planned.seed,
            server=self._servers,
            reused=reused,
            wall_s=0.0,
            facts=await asyncio.to_thread(_judged, prepared.folder, self._digests),
            fresh_because="" if reused else self._fresh_because,
        )
        made = await self._let_go(made, prepared.folder, keep=keep, ended_ns=ended_ns)
        self._spent_s.append(time.monotonic() - begin_s)
        made = msgspec.structs.replace(made, wall_s=round(self._spent_s[-1], 1))
        self._record = msgspec.structs.replace(self._record, runs=(*self._record.runs, made)).compared()
        _write(self._folder, self._record)
        self._tell(made)

    @property
    def _config_file(self) -> Path:
        return Path(self._record.run_file)

    async def _let_go(self, made: Made, run: Path, *, keep: bool, ended_ns: int) -> Made:
        """Leave a sound server to the next run, else stop it. What happened to it after the run is told."""
        assert self._server is not None
        self._fresh_because = ""
        if not self._server.kept:
            self._server = None
            self._fresh_because = f"the run before ended: {made.facts.end}" if keep else ""
            return made
        await self._settle(ended_ns)
        after = await asyncio.to_thread(self._server.afterwards, _fatal)
        made = msgspec.structs.replace(made, after=after.what, died_after=after.died)
        why = after.what or _not_sound(made.facts)
        if not why:
            return made
        self._fresh_because = why
        await self._stop_server()
        return msgspec.structs.replace(made, facts=await asyncio.to_thread(_judged, run, self._digests))

    async def _settle(self, ended_ns: int) -> None:
        """Without a probe of the slots, dropped sessions may still hold some: wait for them as a probe would."""
        if self._config.slots.probe:
            return
        _, pipeline, _ = load_both(self._config_file, edit_pipeline=self._variants["a"].apply)
        assert not isinstance(pipeline, ExternalServer)
        left_s = settle_s(self._config, pipeline.duplex_session) - to_s(monotonic_ns() - ended_ns)
        try:
            async with asyncio.timeout(max(0.0, left_s)):
                await self._interrupted.wait()
        except TimeoutError:
            return

    async def _stop_server(self) -> None:
        """Stop a server that waits for another run; the last run on it gets the record of that."""
        server, self._server = self._server, None
        if server is None or self._last_folder is None:
            return
        problem = await server.stop(self._last_folder / history.EVENTS_DIR)
        if problem:
            self._view.say(f"server {self._servers}: {problem}")

    def _announce(self, planned: Planned, reused: bool) -> None:
        number = len(self._record.runs) + 1
        how = "on the booted server" if reused else "on a new server"
        left = "not known yet"
        if self._spent_s:
            remaining = 2 * self._record.pairs - len(self._record.runs)
            left = _told(remaining * sum(self._spent_s) / len(self._spent_s))
        variant = self._variants[planned.side].spec
        self._view.say(
            f"run {number} of {2 * self._record.pairs}: pair {planned.pair + 1} of {self._record.pairs}, "
            f"side {planned.side.upper()} ({variant}), seed {planned.seed}, {how}; left: {left}"
        )

    def _tell(self, made: Made) -> None:
        self._view.say(f"side {made.side.upper()}: {made.facts.sentence}")
        so_far = []
        for side in records.SIDES:
            runs = [run.judged for run in self._record.runs if run.side == side]
            failed = sum(run.verdict is Verdict.FAIL for run in runs)
            so_far.append(
                f"{side.upper()} died in {sum(run.died for run in runs)}, failed {failed} of {len(runs)} runs"
            )
        self._view.say(f"so far: {'; '.join(so_far)}")


def _told(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _not_sound(facts: Facts) -> str:
    """Why another run must not use the server of this one, empty when it may."""
    found = [f"{name} failed" for name in MUST_PASS if name in facts.failed]
    found += [f"{name} is unknown" for name in MUST_PASS if name in facts.unknown]
    return f"the run before: {', '.join(found)}" if found else ""
