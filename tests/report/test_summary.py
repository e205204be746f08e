"""summary.json has upstream's names: all of `vllm bench serve --save-result`, null where nothing was measured."""

from pathlib import Path

import pytest

from rig.report import judge_folder
from rig.report.summary import provenance, summarise
from tests.report.runs import whole

UPSTREAM = [
    "date",
    "backend",
    "endpoint_type",
    "label",
    "model_id",
    "tokenizer_id",
    "num_prompts",
    "request_rate",
    "burstiness",
    "max_concurrency",
    "duration",
    "completed",
    "failed",
    "total_input_tokens",
    "total_output_tokens",
    "request_throughput",
    "request_goodput",
    "output_throughput",
    "total_token_throughput",
    "max_output_tokens_per_s",
    "max_concurrent_requests",
    "rtfx",
    "mean_ttft_ms",
    "median_ttft_ms",
    "std_ttft_ms",
    "p99_ttft_ms",
    "mean_tpot_ms",
    "median_tpot_ms",
    "std_tpot_ms",
    "p99_tpot_ms",
    "mean_itl_ms",
    "median_itl_ms",
    "std_itl_ms",
    "p99_itl_ms",
    "mean_e2el_ms",
    "median_e2el_ms",
    "std_e2el_ms",
    "p99_e2el_ms",
    "mean_audio_ttfp_ms",
    "median_audio_ttfp_ms",
    "std_audio_ttfp_ms",
    "p99_audio_ttfp_ms",
    "mean_audio_rtf",
    "median_audio_rtf",
    "std_audio_rtf",
    "p99_audio_rtf",
    "mean_audio_duration_s",
    "median_audio_duration_s",
    "std_audio_duration_s",
    "p99_audio_duration_s",
    "mean_audio_underrun_s",
    "median_audio_underrun_s",
    "std_audio_underrun_s",
    "p99_audio_underrun_s",
    "audio_continuity_ok_rate",
    "total_audio_duration_s",
    "total_audio_frames",
    "audio_throughput",
]
"""vllm/benchmarks/serve.py and vllm_omni/metrics/definitions.py, both of 0.30.0."""


def test_it_has_every_name_of_upstream(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    run.history()
    summary = summarise(judge_folder(run.folder))
    assert [name for name in UPSTREAM if name not in summary] == []
    assert {summary[name] for name in ("request_rate", "burstiness", "mean_ttft_ms", "p99_e2el_ms")} == {None}


def test_values_are_in_the_unit_of_their_name(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    run.history()
    summary = summarise(judge_folder(run.folder))
    # 1 s from the end of speech to the first and only audio, which is 1 s long.
    assert summary["mean_audio_ttfp_ms"] == summary["mean_first_audio_ms"] == pytest.approx(1_000, rel=1e-3)
    assert summary["median_audio_ttfp_corrected_ms"] == pytest.approx(1_000, rel=1e-3)
    assert summary["mean_audio_rtf"] == pytest.approx(1.0, rel=1e-3)
    assert summary["p99_audio_duration_s"] == pytest.approx(1.0, rel=1e-3)
    assert (summary["mean_audio_underrun_s"], summary["audio_continuity_ok_rate"]) == (0.0, 1.0)
    assert (summary["total_audio_duration_s"], summary["total_audio_frames"]) == (1.0, 24_000)
    assert (summary["completed"], summary["failed"], summary["yield_rate"]) == (1, 0, None)
    assert summary["rtfx"] == pytest.approx(1.0 / summary["duration"])


@pytest.mark.parametrize("content", ["", "null", "[" * 20_000, "{]"], ids=["empty", "null", "deep", "broken"])
def test_a_provenance_that_is_none_is_empty(tmp_path: Path, content: str) -> None:
    run = whole(tmp_path / "run")
    (run.folder / "provenance.json").write_text(content)
    assert provenance(run.history()) == {}
