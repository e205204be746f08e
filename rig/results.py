"""The commands that read run folders and start nothing: arguments to exit code, as in `rig.cli`."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rig.errors import UsageError


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Every command of this module with its arguments."""
    _add_judge(commands)
    _add_compare(commands)
    _add_gate(commands)
    _add_export(commands)


def _add_judge(commands: "argparse._SubParsersAction[Any]") -> None:
    judge = commands.add_parser("judge", help="judge a results folder (again)", example="rig judge results/RUN_ID")
    judge.add_argument("folder", type=Path, help="results folder of a run")
    judge.set_defaults(command=_judge)

    report = commands.add_parser(
        "report", help="write the reports of a results folder anew", example="rig report results/RUN_ID"
    )
    report.add_argument("folder", type=Path, help="results folder of a run")
    report.add_argument("--github", action="store_true", help="print a text for a step summary instead of the files")
    report.set_defaults(command=_report)

    recorder = commands.add_parser(
        "recorder",
        help="print what the engines recorded last, and what the callers did",
        example="rig recorder results/RUN_ID",
    )
    recorder.add_argument("folder", type=Path, help="results folder of a run")
    recorder.set_defaults(command=_recorder)


def _judge(arguments: argparse.Namespace) -> int:
    from rig.report import github, judge_folder, write_all

    judgement = judge_folder(arguments.folder)
    write_all(judgement)
    github.append(github.of_judgement(judgement))
    for check in judgement.checks:
        print(f"{check.verdict:8} {check.check}: {check.summary}")
    print(judgement.sentence)
    return judgement.verdict.exit_code


def _report(arguments: argparse.Namespace) -> int:
    from rig.report import github, judge_folder, write_all
    from rig.report.write import REPORT_FILES

    judgement = judge_folder(arguments.folder)
    write_all(judgement)
    told = github.of_judgement(judgement)
    if not github.append(told) and arguments.github:
        print(told, end="")
    if arguments.github:
        return judgement.verdict.exit_code
    for name in REPORT_FILES:
        print(arguments.folder / name)
    return judgement.verdict.exit_code


def _recorder(arguments: argparse.Namespace) -> int:
    from rig.recorder.folder import not_recorded
    from rig.recorder.timeline import last_timeline
    from rig.report import judge_folder
    from rig.report.recorder import render

    judgement = judge_folder(arguments.folder)
    history = judgement.history
    found = judgement.timelines
    if not found.timelines:
        found = last_timeline(history, judgement.callers.result())
    print(render(history, found) or f"not recorded: {not_recorded(history) or 'the rings hold no record'}")
    return 0


def _add_compare(commands: "argparse._SubParsersAction[Any]") -> None:
    compare = commands.add_parser(
        "compare",
        help="put runs side by side: comparison.html and comparison.md",
        description="Put two runs, or several runs a side (--a, --b), side by side as a page and a text.",
        example="rig compare results/RUN_A results/RUN_B",
    )
    compare.add_argument("runs", type=Path, nargs="*", metavar="RUN", help="two run folders, A and B")
    compare.add_argument("--a", type=Path, nargs="+", default=[], metavar="RUN", help="run folders of side A")
    compare.add_argument("--b", type=Path, nargs="+", default=[], metavar="RUN", help="run folders of side B")
    compare.add_argument("--label-a", help="what side A is called; the name of its run, or A")
    compare.add_argument("--label-b", help="what side B is called; the name of its run, or B")
    compare.add_argument("--out", type=Path, metavar="DIR", help="folder for the files; a new one beside A's first run")
    compare.set_defaults(command=_compare)


def _add_gate(commands: "argparse._SubParsersAction[Any]") -> None:
    gate = commands.add_parser(
        "gate",
        help="say whether a run is no worse than its baseline: 0 pass, 1 fail, 2 unknown or unbaselined",
        description="Hold a run against a baseline. `rig gate --save RUN --to FILE` makes a baseline.",
        example="rig gate results/RUN_ID baselines/smoke.json",
    )
    gate.add_argument(
        "paths", type=Path, nargs="+", metavar="RUN BASELINE", help="a run folder, left out the newest in --results; "
        "then a baseline: a run folder, or a file that --save made"
    )  # fmt: skip
    gate.add_argument("--config", type=Path, default=Path("configs/gate.yaml"), help="gate file with the limits")
    gate.add_argument("--results", type=Path, default=Path("results"), help="where the newest run is looked for")
    gate.add_argument("--save", action="store_true", help="make a baseline file of the given runs, and gate nothing")
    gate.add_argument("--to", type=Path, metavar="FILE", help="where --save writes; baselines/RUN_ID.json")
    gate.set_defaults(command=_gate)


def _gate(arguments: argparse.Namespace) -> int:
    from rig.config.gate import GateConfig
    from rig.config.load import load_model
    from rig.files import replace
    from rig.report import gate as gating
    from rig.report import github
    from rig.report.digest import digest_of
    from rig.report.judgement import judge_folder

    if arguments.save:
        return _save(arguments)
    if len(arguments.paths) > 2 or arguments.to is not None:
        raise UsageError("gate takes a run and a baseline, or a baseline alone; --to and several runs belong to --save")
    limits = load_model(arguments.config, GateConfig).gate
    *given, baseline_path = arguments.paths
    folder = given[0] if given else gating.newest_run(arguments.results)
    baseline = gating.read_baseline(baseline_path)
    decision = gating.decide(digest_of(judge_folder(folder)), baseline, limits)
    replace(folder / gating.GATE_FILE, gating.as_json(decision))
    github.append(gating.as_markdown(decision))
    print(gating.as_text(decision))
    return decision.answer.exit_code


def _save(arguments: argparse.Namespace) -> int:
    from rig.report.gate import save_baseline

    path = arguments.to or Path("baselines", f"{arguments.paths[0].resolve().name}.json")
    baseline = save_baseline(path, arguments.paths)
    print(f"{path}: baseline of {baseline.name}")
    return 0


def _add_export(commands: "argparse._SubParsersAction[Any]") -> None:
    export = commands.add_parser(
        "export", help="every value behind the figures, one row each", example="rig export results/RUN_ID --csv"
    )
    export.add_argument("folder", type=Path, help="results folder of a run")
    export.add_argument("--csv", action="store_true", help="write samples.csv")
    export.add_argument("--parquet", action="store_true", help="write samples.parquet; needs the extra `parquet`")
    export.add_argument("--out", type=Path, metavar="DIR", help="an existing folder for the files; the run's own")
    export.set_defaults(command=_export)


def _export(arguments: argparse.Namespace) -> int:
    from rig.history import load
    from rig.report import export

    if not arguments.csv and not arguments.parquet:
        raise UsageError("nothing to export: give --csv, --parquet or both")
    history = load(arguments.folder)
    out = arguments.out or arguments.folder
    kinds = (
        (arguments.csv, export.CSV_FILE, export.write_csv),
        (arguments.parquet, export.PARQUET_FILE, export.write_parquet),
    )
    for wanted, name, write in kinds:
        if wanted:
            print(f"{out / name}: {write(history, out / name):,} rows")
    return 0


def _compare(arguments: argparse.Namespace) -> int:
    from rig.report import github
    from rig.report.comparison import TEXT_FILE, Side, write_comparison

    left, right = _sides(arguments)
    first, other = left[0].resolve(), right[0].resolve()
    out = arguments.out or first.parent / f"compare-{first.name}-{other.name}"
    sides = (
        Side(arguments.label_a or _label("A", left), left),
        Side(arguments.label_b or _label("B", right), right),
    )
    for path in write_comparison(out, sides):
        print(path)
    github.append((out / TEXT_FILE).read_text(encoding="utf-8"))
    return 0


def _sides(arguments: argparse.Namespace) -> tuple[Sequence[Path], Sequence[Path]]:
    if arguments.runs and (arguments.a or arguments.b):
        raise UsageError("give two run folders, or --a and --b, not both")
    if arguments.runs:
        if len(arguments.runs) != 2:
            raise UsageError(f"compare takes two run folders, not {len(arguments.runs)}; several a side: --a and --b")
        return arguments.runs[:1], arguments.runs[1:]
    if not arguments.a or not arguments.b:
        raise UsageError("compare needs two run folders, or --a and --b")
    return arguments.a, arguments.b


def _label(letter: str, runs: Sequence[Path]) -> str:
    return runs[0].resolve().name if len(runs) == 1 else letter
