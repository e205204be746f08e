"""The command line: what it takes and what it refuses."""

from pathlib import Path

import pytest

from rig.cli import build_parser, main
from rig.verdict import USAGE_EXIT_CODE
from tests.recorder.rings import STAYS, HandRing
from tests.recorder.runs import zombie
from tests.report.runs import whole


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


def test_the_recorder_command_prints_the_timeline_of_a_death(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = zombie(tmp_path / "run")
    run.history()
    assert main(["recorder", str(run.folder)]) == 0
    assert "aborted 12.0 ms before while in skipped_waiting, status FINISHED_ABORTED" in capsys.readouterr().out


def test_the_recorder_command_prints_the_last_records_or_why_there_are_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = whole(tmp_path / "run")
    run.history()
    assert main(["recorder", str(run.folder)]) == 0
    assert capsys.readouterr().out == "not recorded: no engine wrote a ring\n"
    HandRing(run.folder).schedule(4.0, 3, STAYS)
    assert main(["recorder", str(run.folder)]) == 0
    assert "schedule step 3: duplex-fedcba98 e0 1" in capsys.readouterr().out
