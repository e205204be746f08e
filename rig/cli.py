"""The command line: arguments to exit code.

Exit codes: 0 pass, 1 fail, 2 unknown, 3 usage or config.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import shtab
from pydantic import BaseModel, ValidationError

from rig.ab_command import add_command as add_ab_command
from rig.arguments import above_zero, count, port, port_or_free
from rig.config.pipeline import Duplex, Golden, whole_bug
from rig.errors import RigError, UsageError, reason
from rig.host_command import add_elsewhere_options, add_host_command, elsewhere_of
from rig.pipeline.golden import flag as golden_flag
from rig.results import add_commands as add_result_commands
from rig.verdict import USAGE_EXIT_CODE

Settings = TypeVar("Settings", bound=BaseModel)
Command = Callable[[argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parsed = build_parser().parse_args(arguments)
    command: Command = parsed.command
    try:
        return command(parsed)
    except (RigError, OSError) as error:
        print(f"rig: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("rig: stopped by the user", file=sys.stderr)
    return USAGE_EXIT_CODE


class _Parser(argparse.ArgumentParser):
    """Wrong usage is exit code 3, as a wrong config is; argparse's own 2 would mean an unknown verdict.

    `example` is a command line that works, shown below the help.
    """

    def __init__(self, *, example: str | None = None, **settings: Any) -> None:
        self.example = example
        shown = None if example is None else f"example:\n  {example}"
        # Raw: an example is one line, however long.
        super().__init__(epilog=shown, formatter_class=argparse.RawDescriptionHelpFormatter, **settings)

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE_EXIT_CODE, f"{self.prog}: {message}\n")


def build_parser() -> argparse.ArgumentParser:
    """Every command with its arguments."""
    parser = _Parser(prog="rig", description="Reproduction rig for realtime voice on vLLM-Omni.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="carry out a run and judge it", example="rig run configs/runs/smoke.yaml")
    run.add_argument("run_file", type=Path, help="run file (configs/runs/*.yaml)")
    run.add_argument("--results", type=Path, default=Path("results"), help="where the results folder is made")
    _add_load_options(run)
    _add_engine_options(run)
    add_elsewhere_options(run)
    run.add_argument("--web-port", type=port, metavar="PORT", help="Locust's web UI there while the load goes on")
    run.add_argument(
        "--metrics-port", type=port_or_free, metavar="PORT", help="serve /metrics there while the run goes on"
    )
    run.add_argument("--metrics-host", metavar="HOST", help="address of /metrics (default 127.0.0.1)")
    run.set_defaults(command=_run)

    add_ab_command(commands)

    check = commands.add_parser(
        "check",
        help="read a run file and its pipeline file, start nothing",
        example="rig check configs/runs/smoke.yaml",
    )
    check.add_argument("run_file", type=Path, help="run file (configs/runs/*.yaml)")
    check.set_defaults(command=_check)

    add_result_commands(commands)
    _add_tools(commands)
    _add_engine_commands(commands)
    return parser


def _add_tools(commands: "argparse._SubParsersAction[_Parser]") -> None:
    doctor = commands.add_parser(
        "doctor", help="say what this machine can run and what is missing", example="rig doctor"
    )
    doctor.set_defaults(command=_doctor)

    completion = commands.add_parser(
        "completion", help="print a shell's completion script", example="source <(rig completion bash)"
    )
    completion.add_argument("shell", choices=shtab.SUPPORTED_SHELLS, help="the shell")
    completion.set_defaults(command=_completion)

    checkpoint = commands.add_parser("checkpoint", help="make a checkpoint", example="rig checkpoint tiny DIR")
    kinds = checkpoint.add_subparsers(required=True, metavar="KIND")
    tiny = kinds.add_parser("tiny", help="the tiny MiniCPM-o 4.5", example="rig checkpoint tiny DIR --seed 1")
    tiny.add_argument("directory", type=Path, metavar="DIR", help="a new folder")
    tiny.add_argument("--seed", type=int, default=0, help="seed of the weights")
    tiny.add_argument("--reply-s", type=float, default=3.0, help="mean length of a reply in seconds")
    tiny.set_defaults(command=_checkpoint_tiny)
    serve = commands.add_parser("serve", help="run a server of the rig's own", example="rig serve golden")
    servers = serve.add_subparsers(required=True, metavar="SERVER")
    golden = servers.add_parser(
        "golden",
        help="the golden server: vLLM-Omni's duplex protocol with known audio, a record of the truth, and faults",
        example="rig serve golden --port 8099 --seed 7 --record golden.jsonl --fault die:after_sessions=3",
    )
    add_golden_arguments(golden)
    golden.set_defaults(command=_serve_golden)
    add_host_command(commands)


def _add_load_options(run: argparse.ArgumentParser) -> None:
    load = run.add_argument_group("load", "instead of what the run file says; spelt as in vllm bench serve")
    load.add_argument("--request-rate", type=above_zero, metavar="RATE", help="open-loop calls per second")
    load.add_argument("--burstiness", type=above_zero, help="shape of gamma gaps between calls; 1 is Poisson")
    load.add_argument(
        "--max-concurrency", type=count, metavar="N", help="caller slots: at most this many calls at once"
    )
    load.add_argument("--seed", type=int, help="seed of the plan")


def _add_engine_options(run: argparse.ArgumentParser) -> None:
    engine = run.add_argument_group("engine", "besides what the pipeline file says; the server's processes are changed")
    engine.add_argument(
        "--bug",
        action="append",
        dest="bugs",
        default=[],
        metavar="NAME|FILE.py",
        help="put a published fault back (rig bugs list), or the BUG of a file; may be repeated",
    )
    engine.add_argument(
        "--patch",
        action="append",
        dest="patches",
        default=[],
        metavar="NAME",
        help="put a fix on (rig patches list); may be repeated",
    )


def add_golden_arguments(parser: argparse.ArgumentParser) -> None:
    """One argument for each setting of the golden server, with the description that the pipeline file has."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=port_or_free, default=8099, help="port to listen on; 0 takes a free one")
    parser.add_argument("--served-model-name", default="golden", help="name in /v1/models")
    parser.add_argument("--record", type=Path, help="a new file for the server's own record, JSON lines")
    parser.add_argument("--list-faults", action="store_true", help="list the faults and their settings, start nothing")
    for model in (Golden, Duplex):
        for name, field in model.model_fields.items():
            if name == "faults":
                text = "NAME[:key=value,...], may be given several times; see --list-faults"
                parser.add_argument("--fault", action="append", dest="faults", default=[], metavar="FAULT", help=text)
            else:
                kind = type(field.default)
                text = f"{field.description} (default {field.default})"
                parser.add_argument(golden_flag(name), type=kind, default=field.default, help=text)


def _serve_golden(arguments: argparse.Namespace) -> int:
    import asyncio

    from rig.golden import faults, server
    from rig.golden.record import Record

    if arguments.list_faults:
        print(faults.listing())
        return 0
    golden, limits = _from_arguments(Golden, arguments), _from_arguments(Duplex, arguments)
    log = Record(arguments.record)
    serving = server.run(golden, limits, log, arguments.host, arguments.port, arguments.served_model_name)
    try:
        asyncio.run(serving)
    except OSError as error:
        raise UsageError(f"cannot listen on {arguments.host} port {arguments.port}: {reason(error)}") from error
    return 0


def _from_arguments(model: type[Settings], arguments: argparse.Namespace) -> Settings:
    values = {name: getattr(arguments, name) for name in model.model_fields}
    if "faults" in values:
        values["faults"] = tuple(values["faults"])
    try:
        return model(**values)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{golden_flag(str(first['loc'][0]))}: {first['msg']}") from error


def _add_engine_commands(commands: "argparse._SubParsersAction[_Parser]") -> None:
    groups = (("patches", "patch", "the fixes"), ("bugs", "bug", "the published faults"))
    for name, kind, what in groups:
        group = commands.add_parser(
            name, help=f"{what} that can be put into the engines' processes", example=f"rig {name} list"
        )
        actions = group.add_subparsers(required=True, metavar="ACTION")
        listing = actions.add_parser("list", help=f"explain each {kind}; needs no engine", example=f"rig {name} list")
        listing.set_defaults(command=_changes_list, kind=kind)
        checking = actions.add_parser(
            "check", help=f"say which {name} fit the installed engine", example=f"rig {name} check"
        )
        checking.set_defaults(command=_changes_check, kind=kind)

    repro = commands.add_parser(
        "repro", help="reproduce a fault of the engine without a model", example="rig repro all"
    )
    repro.add_argument("name", metavar="NAME", help="a reproduction, `all`, or `list`")
    repro.add_argument("--patch", action="append", default=[], metavar="PATCH", help="apply a patch; may be repeated")
    repro.set_defaults(command=_repro)


def _run(arguments: argparse.Namespace) -> int:
    from rig.config.overrides import OF_RUN, Overrides
    from rig.live import view
    from rig.report import github
    from rig.run import run

    settings = {name: getattr(arguments, name) for name in OF_RUN}
    overrides = Overrides(**settings, bugs=tuple(map(whole_bug, arguments.bugs)), patches=tuple(arguments.patches))
    with view() as shown:
        judgement = run(arguments.run_file, arguments.results, shown, overrides, elsewhere=elsewhere_of(arguments))
    github.append(github.of_judgement(judgement))
    print(f"report: {judgement.history.folder / 'report.html'}")
    print(judgement.sentence)
    return judgement.verdict.exit_code


def _check(arguments: argparse.Namespace) -> int:
    from rig.config.load import load_both
    from rig.plan import make_plan

    config, _, pipeline_file = load_both(arguments.run_file)
    plan = make_plan(config, arguments.run_file)
    print(f"{arguments.run_file} and {pipeline_file} are fine")
    print(f"plan: {len(plan.calls)} calls at most for {plan.callers} callers, sha256 {plan.sha256()}")
    return 0


def _doctor(_: argparse.Namespace) -> int:
    from rig.doctor import diagnose, render

    print(render(diagnose()))
    return 0


def _complete_paths(parser: argparse.ArgumentParser) -> None:
    """Whatever is a path is completed with the names of files."""
    for action in parser._actions:
        if action.type is Path:
            vars(action)["complete"] = shtab.FILE
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                _complete_paths(each)


def _completion(arguments: argparse.Namespace) -> int:
    parser = build_parser()
    _complete_paths(parser)
    print(shtab.complete(parser, arguments.shell))
    return 0


def _checkpoint_tiny(arguments: argparse.Namespace) -> int:
    from rig.engine.checkpoint.writer import write_tiny

    write_tiny(arguments.directory, seed=arguments.seed, reply_s=arguments.reply_s)
    print(f"wrote {arguments.directory}")
    return 0


def _changes_list(arguments: argparse.Namespace) -> int:
    from rig.engine.patches.patch import Kind
    from rig.engine.patches.report import explain

    print(explain(Kind(arguments.kind)))
    return 0


def _changes_check(arguments: argparse.Namespace) -> int:
    from rig.engine.patches.patch import Kind
    from rig.engine.patches.report import check_all

    # What vLLM says while it is imported is not what was asked.
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "CRITICAL")
    text, all_fit = check_all(Kind(arguments.kind))
    print(text)
    return 0 if all_fit else 1


def _repro(arguments: argparse.Namespace) -> int:
    from rig.engine.repro.catalogue import reproduce

    return 0 if reproduce(arguments.name, arguments.patch, lambda line: print(line, flush=True)) else 1


if __name__ == "__main__":
    sys.exit(main())
