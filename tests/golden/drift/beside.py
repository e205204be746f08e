"""The golden server that is held against the real one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rig.config.pipeline import Duplex
from tests.golden.phone import Serving, serving


@contextmanager
def golden_beside(folder: Path, limits: Duplex) -> Iterator[Serving]:
    """A golden server whose replies last long enough to be cut by a caller with a real microphone."""
    with serving(folder, limits=limits, reply_s=3.0, chunk_ms=1000, pace_ms=500, first_audio_ms=300) as server:
        yield server
