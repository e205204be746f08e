"""What a caller hears, measured from the history: one figure a file, each with its origin.

`FIGURES` is the explicit table; a new figure is a new file and a line here.
"""

from rig.history import History
from rig.measure import barge_in_stop, chunk_gap, connect, first_audio, reconnect
from rig.measure.figure import Figure, Measured

FIGURES = (
    connect.measure,
    first_audio.measure,
    barge_in_stop.measure_speech,
    barge_in_stop.measure_cancel,
    reconnect.measure_new_session,
    reconnect.measure_resumed,
    chunk_gap.measure,
)


def measure_all(history: History) -> tuple[Figure, ...]:
    """Every figure of the run, in the order of the table."""
    return tuple(Figure.of(measure(history)) for measure in FIGURES)


__all__ = ["FIGURES", "Figure", "Measured", "measure_all"]
