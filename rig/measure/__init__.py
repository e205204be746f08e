"""What a caller hears, measured from the history: one figure a file, each with its origin.

`FIGURES` is the explicit table; a new figure is a new file and a line here.
"""

from rig.fold import Crash, Guarded, run_folds
from rig.history import History
from rig.measure.barge_in_stop import BargeInStopCancel, BargeInStopSpeech
from rig.measure.chunk_gap import ChunkGap
from rig.measure.connect import Connect
from rig.measure.figure import Figure, Measure, Measured
from rig.measure.first_audio import FirstAudio
from rig.measure.reconnect import ReconnectNew, ReconnectResumed

FIGURES: tuple[type[Measure], ...] = (
    Connect,
    FirstAudio,
    BargeInStopSpeech,
    BargeInStopCancel,
    ReconnectNew,
    ReconnectResumed,
    ChunkGap,
)


def measure_all(history: History) -> tuple[Figure, ...]:
    """Every figure of the run, and nothing else, in the order of the table."""
    folds = [Guarded(measure, history) for measure in FIGURES]
    run_folds(history, folds)
    return figures(folds)


def figures(folds: list[Guarded[Measured]]) -> tuple[Figure, ...]:
    """The figures of measures that have seen all calls; one that crashed has no values and says why."""
    return tuple(_figure(kind, fold) for kind, fold in zip(FIGURES, folds, strict=True))


def _figure(kind: type[Measure], fold: Guarded[Measured]) -> Figure:
    try:
        return Figure.of(fold.result())
    except Crash as crash:
        measured = Measured(kind.name, kind.measurement_origin)
        measured.unavailable[f"the measure itself crashed: {crash}"] += 1
        return Figure.of(measured)


__all__ = ["FIGURES", "Figure", "Measure", "Measured", "figures", "measure_all"]
