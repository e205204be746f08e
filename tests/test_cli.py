"""The command line: what it takes and what it refuses."""

from pathlib import Path

import pytest

from rig.cli import build_parser, main
from rig.verdict import USAGE_EXIT_CODE


def test_load_flags_are_spelt_as_in_vllm_bench_serve() -> None:
    flags = ["--request-rate", "0.5", "--burstiness", "2", "--max-concurrency", "3", "--seed", "4"]
    parsed = build_parser().parse_args(["run", "x.yaml", *flags])
    assert (parsed.request_rate, parsed.burstiness, parsed.max_concurrency, parsed.seed) == (0.5, 2.0, 3, 4)
    assert parsed.run_file == Path("x.yaml")


@pytest.mark.parametrize(
    "flags", [["--request-rate", "0"], ["--request-rate", "inf"], ["--burstiness", "nan"], ["--max-concurrency", "0"]]
)
def test_a_load_that_cannot_be_is_a_usage_error(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["run", "x.yaml", *flags])
    assert caught.value.code == USAGE_EXIT_CODE
    assert flags[0] in capsys.readouterr().err


def test_a_flag_that_does_not_fit_the_run_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    smoke = Path(__file__).resolve().parents[1] / "configs/runs/smoke.yaml"
    assert main(["run", str(smoke), "--results", str(tmp_path), "--burstiness", "2"]) == USAGE_EXIT_CODE
    assert capsys.readouterr().err.startswith("rig: --burstiness needs a rate")
    assert list(tmp_path.iterdir()) == []
