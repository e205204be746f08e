"""The command line: arguments to exit code.

Exit codes: 0 pass, 1 fail, 2 unknown, 3 usage or config.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from rig.errors import RigError, UsageError
from rig.verdict import USAGE_EXIT_CODE

Command = Callable[[argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parsed = build_parser().parse_args(arguments)
    command: Command = parsed.command
    try:
        return command(parsed)
    except UsageError as error:
        print(f"rig: {error}", file=sys.stderr)
    except RigError as error:
        print(f"rig: {error}", file=sys.stderr)
    return USAGE_EXIT_CODE


class _Parser(argparse.ArgumentParser):
    """Wrong usage is exit code 3, as a wrong config is; argparse's own 2 would mean an unknown verdict."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE_EXIT_CODE, f"{self.prog}: {message}\n")


def build_parser() -> argparse.ArgumentParser:
    """Every command with its arguments."""
    parser = _Parser(prog="rig", description="Reproduction rig for realtime voice on vLLM-Omni.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="carry out a run and judge it", epilog="rig run configs/runs/smoke.yaml")
    run.add_argument("run_file", type=Path, help="run file (configs/runs/*.yaml)")
    run.add_argument("--results", type=Path, default=Path("results"), help="where the results folder is made")
    run.set_defaults(command=_run)

    judge = commands.add_parser("judge", help="judge a results folder (again)", epilog="rig judge results/RUN_ID")
    judge.add_argument("folder", type=Path, help="results folder of a run")
    judge.set_defaults(command=_judge)

    report = commands.add_parser(
        "report", help="write the reports of a results folder anew", epilog="rig report results/RUN_ID"
    )
    report.add_argument("folder", type=Path, help="results folder of a run")
    report.set_defaults(command=_report)

    check = commands.add_parser("check", help="read a run file and its pipeline file, start nothing")
    check.add_argument("run_file", type=Path, help="run file (configs/runs/*.yaml)")
    check.set_defaults(command=_check)

    doctor = commands.add_parser("doctor", help="say what this machine can run and what is missing")
    doctor.set_defaults(command=_doctor)

    checkpoint = commands.add_parser("checkpoint", help="make a checkpoint")
    kinds = checkpoint.add_subparsers(required=True, metavar="KIND")
    tiny = kinds.add_parser("tiny", help="the tiny MiniCPM-o 4.5", epilog="rig checkpoint tiny DIR --seed 1")
    tiny.add_argument("directory", type=Path, metavar="DIR", help="a new folder")
    tiny.add_argument("--seed", type=int, default=0, help="seed of the weights")
    tiny.add_argument("--reply-s", type=float, default=3.0, help="mean length of a reply in seconds")
    tiny.set_defaults(command=_checkpoint_tiny)
    return parser


def _run(arguments: argparse.Namespace) -> int:
    from rig.live import view
    from rig.run import run

    with view() as shown:
        judgement = run(arguments.run_file, arguments.results, shown)
    print(f"report: {judgement.history.folder / 'report.html'}")
    print(judgement.sentence)
    return judgement.verdict.exit_code


def _judge(arguments: argparse.Namespace) -> int:
    from rig.report import judge_folder, write_all

    judgement = judge_folder(arguments.folder)
    write_all(judgement)
    for check in judgement.checks:
        print(f"{check.verdict:8} {check.check}: {check.summary}")
    print(judgement.sentence)
    return judgement.verdict.exit_code


def _report(arguments: argparse.Namespace) -> int:
    from rig.report import judge_folder, write_all
    from rig.report.write import REPORT_FILES

    judgement = judge_folder(arguments.folder)
    write_all(judgement)
    for name in REPORT_FILES:
        print(arguments.folder / name)
    return judgement.verdict.exit_code


def _check(arguments: argparse.Namespace) -> int:
    from rig.config.load import load_both
    from rig.plan import make_plan

    config, _, pipeline_file = load_both(arguments.run_file)
    plan = make_plan(config)
    print(f"{arguments.run_file} and {pipeline_file} are fine")
    print(f"plan: {len(plan.calls)} calls at most for {plan.callers} callers, sha256 {plan.sha256()}")
    return 0


def _doctor(_: argparse.Namespace) -> int:
    from rig.doctor import diagnose, render

    print(render(diagnose()))
    return 0


def _checkpoint_tiny(arguments: argparse.Namespace) -> int:
    from rig.engine.checkpoint.writer import write_tiny

    write_tiny(arguments.directory, seed=arguments.seed, reply_s=arguments.reply_s)
    print(f"wrote {arguments.directory}")
    return 0
