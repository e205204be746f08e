"""What a caller's hot path costs beside the least that the same work can cost. Prints ratios: `make bench`.

Absolute times depend on the machine and on what else it does; the ratios are taken in one run, alternating.
"""

import base64
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np

from rig.events.journal import Journal
from rig.events.types import FramesSent
from rig.marks import OUTPUT_RATE_HZ, MarkReader, encode_frames

ROUNDS = 9


def seconds(work: Callable[[], object], repeat: int) -> float:
    """Seconds per call of `work`."""
    began = time.perf_counter()
    for _ in range(repeat):
        work()
    return (time.perf_counter() - began) / repeat


def compare(name: str, work: Callable[[], object], least: Callable[[], object], repeat: int) -> None:
    """Print how often `least` fits into `work`: median, lowest and highest of alternating rounds."""
    pairs = [(seconds(work, repeat), seconds(least, repeat)) for _ in range(ROUNDS)]
    ratios = sorted(ours / theirs for ours, theirs in pairs)
    ours_us = statistics.median(ours for ours, _ in pairs) * 1e6
    print(f"{name:46} {statistics.median(ratios):6.2f} x ({ratios[0]:.2f} to {ratios[-1]:.2f}), {ours_us:.1f} us")


def main() -> None:
    """All comparisons."""
    sound = encode_frames(7, 0, 0, np.arange(25))
    pcm = (sound * 32_767).astype("<i2")
    assert len(pcm) == OUTPUT_RATE_HZ
    text = base64.b64encode(pcm.tobytes())

    def hear() -> None:
        MarkReader().feed(np.frombuffer(base64.b64decode(text), dtype="<i2"))

    def decode() -> None:
        base64.b64decode(text)

    compare("read the marks of 1 s of audio / decode base64", hear, decode, 200)

    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder), "bench", "bench")
        bare = os.open(Path(folder) / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        slips = list(range(10))
        line = msgspec.json.encode({"slips": slips}) * 8

        def record() -> None:
            journal.record(
                FramesSent, call="c", connection=0, first_planned_ns=0, interval_ns=100_000_000, slips_us=slips
            )

        def write() -> None:
            os.write(bare, line)

        compare("journal an event / write the same bytes", record, write, 5_000)
        os.close(bare)
        journal.close()


if __name__ == "__main__":
    main()
