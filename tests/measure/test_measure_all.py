"""The table of figures: every measure file is in it, and each figure has a name and an origin of its own."""

import pkgutil
from pathlib import Path

from rig import measure
from rig.measure import FIGURES, measure_all
from tests.builders import Run


def test_every_measure_file_is_in_the_table() -> None:
    files = {module.name for module in pkgutil.iter_modules(measure.__path__)} - {"figure", "load", "totals"}
    assert {kind.__module__.rpartition(".")[2] for kind in FIGURES} == files


def test_the_figures_of_an_empty_run_are_all_there_and_empty(tmp_path: Path) -> None:
    figures = measure_all(Run(tmp_path / "run").history())
    assert [figure.name for figure in figures] == [
        "connect",
        "first_audio",
        "barge_in_stop_speech",
        "barge_in_stop_cancel",
        "reconnect_first_audio_new",
        "reconnect_first_audio_resumed",
        "chunk_gap",
    ]
    assert all((figure.n, figure.p50_ms, figure.unavailable) == (0, None, {}) for figure in figures)
    assert len({figure.measurement_origin for figure in figures}) >= 6
