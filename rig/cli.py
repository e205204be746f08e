"""The command line: arguments to exit code.

Exit codes: 0 pass, 1 fail, 2 unknown, 3 usage or config.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from rig.config.pipeline import Duplex, Golden
from rig.errors import RigError, UsageError
from rig.pipeline.golden import flag as golden_flag
from rig.verdict import USAGE_EXIT_CODE

if TYPE_CHECKING:
    from rig.elsewhere import Elsewhere

Settings = TypeVar("Settings", bound=BaseModel)
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
    _add_load_options(run)
    _add_elsewhere_options(run)
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
    serve = commands.add_parser("serve", help="run a server of the rig's own")
    servers = serve.add_subparsers(required=True, metavar="SERVER")
    golden = servers.add_parser(
        "golden",
        help="the golden server: vLLM-Omni's duplex protocol with known audio, a record of the truth, and faults",
        epilog="rig serve golden --port 8099 --seed 7 --record golden.jsonl --fault die:after_sessions=3",
    )
    add_golden_arguments(golden)
    golden.set_defaults(command=_serve_golden)
    _add_host_command(commands)
    _add_engine_commands(commands)
    return parser


def _add_load_options(run: argparse.ArgumentParser) -> None:
    load = run.add_argument_group("load", "instead of what the run file says; spelt as in vllm bench serve")
    load.add_argument("--request-rate", type=_above_zero, metavar="RATE", help="open-loop calls per second")
    load.add_argument("--burstiness", type=_above_zero, help="shape of gamma gaps between calls; 1 is Poisson")
    load.add_argument(
        "--max-concurrency", type=_count, metavar="N", help="caller slots: at most this many calls at once"
    )
    load.add_argument("--seed", type=int, help="seed of the plan")


def _add_elsewhere_options(run: argparse.ArgumentParser) -> None:
    elsewhere = run.add_argument_group("elsewhere", "parts of the run in other containers or on other machines")
    elsewhere.add_argument("--server-host", metavar="NAME:PORT", help="`rig host` that runs the server")
    elsewhere.add_argument("--token-file", type=Path, metavar="FILE", help="secret that the host asks for")
    elsewhere.add_argument("--workers", type=_count, metavar="N", help="Locust workers that connect by themselves")
    elsewhere.add_argument("--bus-url", metavar="URL", help="broker, mqtt(s)://host:port, in place of the run file's")
    elsewhere.add_argument("--bus-user", metavar="USER", help="user name at the broker")
    elsewhere.add_argument("--bus-password-env", metavar="NAME", help="environment variable with the broker's password")


def _add_host_command(commands: "argparse._SubParsersAction[_Parser]") -> None:
    host = commands.add_parser(
        "host",
        help="run and watch a server for a rig elsewhere",
        epilog="rig host --token-file token --listen 127.0.0.1:8098",
    )
    host.add_argument("--listen", default="127.0.0.1:8098", metavar="NAME:PORT", help="where the rig finds this host")
    host.add_argument("--serve-on", default="127.0.0.1", metavar="ADDRESS", help="address that servers listen on")
    host.add_argument(
        "--results", type=Path, default=Path("results"), help="the rig's results folder, or one of its own"
    )
    host.add_argument("--serve-port", type=_count, default=0, metavar="PORT", help="port of servers, else their file's")
    host.add_argument("--token-file", type=Path, required=True, metavar="FILE", help="secret that the rig has to know")
    host.set_defaults(command=_host)


def _above_zero(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no number above 0")
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is below 1")
    return value


def add_golden_arguments(parser: argparse.ArgumentParser) -> None:
    """One argument for each setting of the golden server, with the description that the pipeline file has."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8099, help="port to listen on; 0 takes a free one")
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
        raise UsageError(f"cannot listen on {arguments.host} port {arguments.port}: {error.strerror}") from error
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
    patches = commands.add_parser("patches", help="the fixes that can be put into the engines' processes")
    actions = patches.add_subparsers(required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="explain each patch; needs no engine")
    listing.set_defaults(command=_patches_list)
    checking = actions.add_parser("check", help="say which patches fit the installed engine")
    checking.set_defaults(command=_patches_check)

    repro = commands.add_parser("repro", help="reproduce a fault of the engine without a model", epilog="rig repro all")
    repro.add_argument("name", metavar="NAME", help="a reproduction, `all`, or `list`")
    repro.add_argument("--patch", action="append", default=[], metavar="PATCH", help="apply a patch; may be repeated")
    repro.set_defaults(command=_repro)


def _run(arguments: argparse.Namespace) -> int:
    from rig.config.overrides import Overrides
    from rig.live import view
    from rig.run import run

    given = ("request_rate", "burstiness", "max_concurrency", "seed", "bus_url", "bus_user", "bus_password_env")
    overrides = Overrides(**{name: getattr(arguments, name) for name in given})
    with view() as shown:
        judgement = run(arguments.run_file, arguments.results, shown, overrides, elsewhere=_elsewhere(arguments))
    print(f"report: {judgement.history.folder / 'report.html'}")
    print(judgement.sentence)
    return judgement.verdict.exit_code


def _elsewhere(arguments: argparse.Namespace) -> "Elsewhere":
    from rig.elsewhere import Elsewhere, read_token
    from rig.pipeline.remote import parse_host

    workers = arguments.workers or 0
    if arguments.server_host is None:
        return Elsewhere(workers=workers)
    if arguments.token_file is None:
        raise UsageError("--server-host needs --token-file: the secret that the host asks for")
    return Elsewhere(parse_host(arguments.server_host), read_token(arguments.token_file), workers)


def _host(arguments: argparse.Namespace) -> int:
    import asyncio

    from rig.elsewhere import read_token
    from rig.pipeline.host import Host
    from rig.pipeline.remote import parse_host

    listen, token = parse_host(arguments.listen, listen=True), read_token(arguments.token_file)
    host = Host(arguments.results, token, arguments.serve_on, arguments.serve_port)
    try:
        asyncio.run(host.serve(listen.name, listen.port))
    except OSError as error:
        raise UsageError(f"cannot listen on {listen}: {error.strerror}") from error
    return 0


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
    plan = make_plan(config, arguments.run_file)
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


def _patches_list(_: argparse.Namespace) -> int:
    from rig.engine.patches.report import explain

    print(explain())
    return 0


def _patches_check(_: argparse.Namespace) -> int:
    from rig.engine.patches.report import check_all

    text, all_fit = check_all()
    print(text)
    return 0 if all_fit else 1


def _repro(arguments: argparse.Namespace) -> int:
    from rig.engine.repro.catalogue import reproduce

    return 0 if reproduce(arguments.name, arguments.patch, lambda line: print(line, flush=True)) else 1


if __name__ == "__main__":
    sys.exit(main())
