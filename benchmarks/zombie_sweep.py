"""What the patch `scheduler_zombies` adds to a step: its look through the queues, best of 200, in microseconds."""

import time

from rig.engine.patches.scheduler_zombies import sweep
from rig.engine.repro.bench import Bench, Setup

REPEATS = 200
CASES = ((4, 0), (64, 0), (64, 1000))


def best_us(running: int, waiting: int) -> float:
    """The shortest look at a scheduler with so many requests."""
    bench = Bench(Setup(max_num_seqs=64, blocks=2000, token_budget=4096))
    for number in range(running + waiting):
        bench.add(f"r{number}", max_tokens=50)
    bench.step()
    assert len(bench.books().running) == running
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter_ns()
        sweep(bench.scheduler)
        times.append(time.perf_counter_ns() - began)
    return min(times) / 1e3


if __name__ == "__main__":
    for running, waiting in CASES:
        print(f"{running} running, {waiting} waiting: {best_us(running, waiting):.1f} us")
