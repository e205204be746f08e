"""What the flight recorder adds to a step of the engine's own scheduler, without a model: `make bench`.

    .venv/bin/python -m benchmarks.recorder
    .venv/bin/python -m benchmarks.recorder --run results/RUN_ID    # also as a share of that run's own steps

A step is `schedule` and `update_from_output` of the released scheduler, for requests that decode one token each. Two
schedulers, one of them recorded, take the same steps in turn, in one process: what slows the machine slows both. Prints
the median step without the recorder, the median of what it adds step by step, and the ratio. The share of a whole step,
with the model, stands in docs/recorder.md.
"""

import argparse
import gc
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from rig.engine.recorder.plugin import record
from rig.engine.repro.bench import Bench, Kind, Setup
from rig.events.ring import Kind as Event
from rig.recorder import rings
from rig.recorder.folder import ring_files
from rig.recorder.rings import Step

RUNNING = (1, 4, 16)
KINDS = (Kind.SCHEDULER, Kind.OMNI_AR_ASYNC, Kind.OMNI_GENERATION)
ROUNDS = 7
STEPS = 100
PROMPT = 16
TARGET_US = 20.0

Added = Mapping[Kind, Mapping[int, float]]
"""Microseconds that the recorder adds to a step, by scheduler and number of requests."""


def main() -> None:
    """The benchmark, and its result as a share of the steps of a run where one is given."""
    parser = argparse.ArgumentParser(description="What the flight recorder adds to a step.")
    parser.add_argument("--run", type=Path, help="results folder of a run that was recorded")
    arguments = parser.parse_args()
    added_us = measure()
    worst_us = max(max(by.values()) for kind, by in added_us.items() if kind is not Kind.OMNI_GENERATION)
    print(f"at most {worst_us:.1f} us added to a decoding step, target {TARGET_US:g} us")
    if arguments.run is not None:
        print_shares(arguments.run, added_us)


def print_shares(run: Path, added_us: Added) -> None:
    """For each stage of a run: its steps from schedule to update, and what is added of the median and of p10.

    What is added is that of the stage's own scheduler, by the number of requests in the step.
    """
    for path in ring_files(run):
        found = rings.read(path)
        steps = [one for one in found.records if isinstance(one, Step) and one.kind is Event.UPDATE]
        spent_us = sorted(step.step_us for step in steps if step.step > 0)
        if not spent_us:
            continue
        added = {str(kind): by for kind, by in added_us.items()}.get(found.header.scheduler, {})
        for name, value in (("median", statistics.median(spent_us)), ("p10", spent_us[len(spent_us) // 10])):
            shares = ", ".join(f"{100 * us / value:.2f} % with {running}" for running, us in added.items())
            print(f"{path.name}: {name} step {value / 1000:.1f} ms; {shares or 'its scheduler was not measured'}")


def measure() -> Added:
    """One line for each scheduler and number of requests; what was added to a step.

    A generation stage takes a request whole: its step holds the end of each of its requests, one more record each. It
    is shown, and not held to the target.
    """
    found: dict[Kind, dict[int, float]] = {}
    print(f"{'scheduler':24} {'running':>7} {'without':>10} {'with':>10} {'added':>9} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            for running in RUNNING:
                bare, added = compare(kind, running, Path(folder))
                found.setdefault(kind, {})[running] = added
                line = f"{kind:24} {running:7} {bare:7.1f} us {bare + added:7.1f} us"
                print(f"{line} {added:6.1f} us {(bare + added) / bare:6.2f}", flush=True)
    return found


def compare(kind: Kind, running: int, folder: Path) -> tuple[float, float]:
    """Microseconds of a step without the recorder, and what it adds: the medians of the rounds."""
    rounds = [one_round(kind, running, folder) for _ in range(ROUNDS)]
    return statistics.median(bare for bare, _ in rounds), statistics.median(added for _, added in rounds)


def one_round(kind: Kind, running: int, folder: Path) -> tuple[float, float]:
    """As `compare`, of two new schedulers. What the bench does between the steps is not in them."""
    bare, recorded = (Bench(Setup(kind, blocks=2_000, max_num_seqs=running)) for _ in range(2))
    record(recorded.scheduler, folder)
    pair = [(bench, Clock(bench)) for bench in (bare, recorded)]
    for number in range(STEPS):
        # Who goes first changes from step to step.
        for bench, _ in pair if number % 2 == 0 else reversed(pair):
            # A generation stage takes a request whole and is done with it, so that every step needs new ones.
            if number == 0 or kind is Kind.OMNI_GENERATION:
                for index in range(running):
                    bench.add(_name(index, number), prompt=PROMPT, max_tokens=STEPS + 10)
            bench.step()
    without, with_it = (clock.steps_us[1:] for _, clock in pair)
    for bench, _ in pair:
        bench.close()
    for ring in folder.glob("*.ring"):
        ring.unlink()
    added = [after - before for before, after in zip(without, with_it, strict=True)]
    return statistics.median(without), statistics.median(added)


class Clock:
    """Times the two calls that make a step, in CPU time of this thread: other work on the machine is not in it."""

    def __init__(self, bench: Bench) -> None:
        self.steps_us: list[float] = []
        schedule, update = bench.scheduler.schedule, bench.scheduler.update_from_output

        def timed_schedule() -> object:
            began = time.thread_time()
            output = schedule()
            self.steps_us.append((time.thread_time() - began) * 1e6)
            return output

        def timed_update(output: object, answer: object) -> object:
            began = time.thread_time()
            told = update(output, answer)
            self.steps_us[-1] += (time.thread_time() - began) * 1e6
            return told

        bench.scheduler.schedule, bench.scheduler.update_from_output = timed_schedule, timed_update


def _name(index: int, number: int) -> str:
    """As long as a duplex request's."""
    return f"duplex-s.{'ZHVwbGV4LTAx' * 4}.e.0.r.stage0-{index:04d}{number:04d}"


if __name__ == "__main__":
    gc.disable()
    main()
