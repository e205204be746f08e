"""The command line: what it takes and what it refuses."""

import argparse
import shlex
import subprocess
import sys
from collections.abc import Iterator
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


def commands(parser: argparse.ArgumentParser, name: str = "rig") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command with its parser, groups of commands included."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, each in action.choices.items():
                yield f"{name} {word}", each
                yield from commands(each, f"{name} {word}")


@pytest.mark.parametrize(
    ("name", "parser"), [*commands(build_parser())], ids=lambda part: part if isinstance(part, str) else ""
)
def test_the_help_of_every_command_has_an_example_that_is_understood(
    name: str, parser: argparse.ArgumentParser
) -> None:
    heading, _, example = parser.format_help().rstrip("\n").rpartition("\n  ")
    assert heading.endswith("\nexample:")
    assert example.startswith(name) or f"({name}" in example
    words = shlex.split(example)
    if words[0] == "rig":
        build_parser().parse_args(words[1:])


def test_the_shell_completes_commands_flags_and_files() -> None:
    script = """
        source <(python -m rig.cli completion bash)
        try() {
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
            "$(complete -p rig | sed 's/.*-F \\([^ ]*\\) .*/\\1/')"
            echo "${COMPREPLY[*]}"
        }
        try rig jud
        try rig patches ""
        try rig run configs/runs/smo
    """
    done = subprocess.run(
        ["bash", "-c", script.replace("python -m", f"{sys.executable} -m")],
        cwd=Path(__file__).resolve().parents[1],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines() == ["judge", "list check", "configs/runs/smoke.yaml"]


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
