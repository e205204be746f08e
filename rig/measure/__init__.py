"""What a caller hears, measured from the history: one subject a file, each figure with its origin.

`FIGURES` is the explicit table; a new figure is a new file and a line here.
"""

from rig.fold import Crash, Guarded, run_folds
from rig.history import History
from rig.measure.barge_in_stop import BargeInStopCancel, BargeInStopSpeech
from rig.measure.chunk_gap import ChunkGap
from rig.measure.connect import Connect
from rig.measure.figure import Figure, Measure
from rig.measure.first_audio import FirstAudio
from rig.measure.reconnect import ReconnectNew, ReconnectResumed
from rig.measure.response_latency import ResponseLatency
from rig.measure.rtf import AudioDuration, AudioRtf
from rig.measure.send_slip import SendSlip
from rig.measure.slot_freed import SlotFreed
from rig.measure.underrun import Stalls, Underrun
from rig.measure.yields import YieldLatency

FIGURES: tuple[type[Measure], ...] = (
    Connect,
    FirstAudio,
    ResponseLatency,
    BargeInStopSpeech,
    BargeInStopCancel,
    YieldLatency,
    ReconnectNew,
    ReconnectResumed,
    SlotFreed,
    ChunkGap,
    Underrun,
    Stalls,
    AudioRtf,
    AudioDuration,
    SendSlip,
)


def measure_all(history: History) -> tuple[Figure, ...]:
    """Every figure of the run, and nothing else, in the order of the table."""
    folds = [Guarded(measure, history) for measure in FIGURES]
    run_folds(history, folds)
    return figures(history, folds)


def figures(history: History, folds: list[Guarded[Figure]]) -> tuple[Figure, ...]:
    """The figures of measures that have seen all calls; one that crashed has no values and says why."""
    return tuple(_figure(kind, fold, history) for kind, fold in zip(FIGURES, folds, strict=True))


def _figure(kind: type[Measure], fold: Guarded[Figure], history: History) -> Figure:
    try:
        return fold.result()
    except Crash as crash:
        return Figure.crashed(kind, history, str(crash))


__all__ = ["FIGURES", "Figure", "Measure", "figures", "measure_all"]
