"""The table of figures: every measure file is in it, and each figure has a name and an origin of its own."""

import pkgutil
from pathlib import Path

import pytest

from rig import measure
from rig.history import Call
from rig.measure import FIGURES, measure_all
from rig.measure.connect import Connect
from tests.builders import Run


def test_every_measure_file_is_in_the_table() -> None:
    files = {module.name for module in pkgutil.iter_modules(measure.__path__)} - {"figure", "histogram", "totals"}
    assert {kind.__module__.rpartition(".")[2] for kind in FIGURES} == files


def test_the_figures_of_an_empty_run_are_all_there_and_empty(tmp_path: Path) -> None:
    figures = measure_all(Run(tmp_path / "run").history())
    assert [figure.name for figure in figures] == [
        "connect",
        "first_audio",
        "response_latency",
        "barge_in_stop_speech",
        "barge_in_stop_cancel",
        "yield_latency",
        "reconnect_first_audio_new",
        "reconnect_first_audio_resumed",
        "slot_freed",
        "chunk_gap",
        "audio_underrun",
        "audio_stalls",
        "audio_rtf",
        "audio_duration",
        "send_slip",
    ]
    assert all((figure.n, figure.uncorrected.p50, figure.unavailable) == (0, None, {}) for figure in figures)
    assert len({figure.measurement_origin for figure in figures}) == len(figures) - 1  # both reconnects have one


def test_a_measure_that_crashes_does_not_hurt_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(self: Connect, call: Call) -> None:
        raise KeyError("req-7")

    monkeypatch.setattr(Connect, "see", crash)
    run = Run(tmp_path / "run")
    run.start_call()
    run.audio(3.0)
    figures = {figure.name: figure for figure in measure_all(run.history())}
    (why,) = figures["connect"].unavailable
    assert why.startswith("the measure itself crashed: KeyError('req-7') in crash, line ")
    assert figures["audio_duration"].n == 1
