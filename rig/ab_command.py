"""The command line of `rig ab`.

Exit codes: 0 when B is better or the same and shows no fault, 1 when it shows one, 2 when nobody can tell, 3 usage.
"""

import argparse
from pathlib import Path
from typing import Any

from rig.arguments import count
from rig.config.pipeline import whole_bug
from rig.errors import UsageError

DEFAULT_PAIRS = 6


def add_command(commands: "argparse._SubParsersAction[Any]") -> None:
    """`rig ab`."""
    ab = commands.add_parser(
        "ab",
        help="run the same calls against two variants of the server, and say which is better",
        example="rig ab configs/runs/golden.yaml --a fault:die --b none --pairs 4",
    )
    ab.add_argument("run_file", type=Path, nargs="?", help="run file (configs/runs/*.yaml)")
    side = "`none`, engine patches with commas between (rig patches list), bug:NAME, or fault:NAME of the golden server"
    ab.add_argument("--a", metavar="SPEC", help=f"side A: {side}")
    ab.add_argument("--b", metavar="SPEC", help="side B, the same way")
    ab.add_argument("--bug", action="append", dest="bugs", default=[], metavar="NAME", help="a bug put into both sides")
    ab.add_argument("--pairs", type=count, default=DEFAULT_PAIRS, metavar="N", help="runs a side (default %(default)s)")
    ab.add_argument("--seed", type=int, metavar="S", help="pair i has seed S + i; by default the run file's seed")
    ab.add_argument("--results", type=Path, default=Path("results"), help="where the results folders are made")
    ended = ab.add_mutually_exclusive_group()
    ended.add_argument("--judge", type=Path, metavar="DIR", help="judge a comparison (again), start nothing")
    ended.add_argument("--resume", type=Path, metavar="DIR", help="make the runs that a comparison lacks")
    ab.set_defaults(command=command)


def command(arguments: argparse.Namespace) -> int:
    """Make, go on with, or judge a comparison; the exit code of its decision. Raises UsageError."""
    from rig import ab
    from rig.live import view

    given = (arguments.run_file, arguments.a, arguments.b)
    folder: Path | None = arguments.judge or arguments.resume
    if folder is not None and any(given):
        raise UsageError("--judge and --resume take the run file and the sides from the folder")
    if folder is None and not all(given):
        raise UsageError("give a run file with --a and --b, or --judge DIR, or --resume DIR")
    if arguments.judge is not None:
        record = ab.judge(arguments.judge)
    else:
        with view() as shown:
            if arguments.resume is not None:
                record = ab.resume(arguments.resume, shown)
            else:
                sides = (arguments.run_file, arguments.a, arguments.b, tuple(map(whole_bug, arguments.bugs)))
                record = ab.start(ab.Wanted(*sides, arguments.pairs, arguments.seed, arguments.results), shown)
    assert record.comparison is not None
    print(f"report: {(folder or arguments.results / record.id) / 'report.md'}")
    print(record.comparison.decision.sentence)
    return record.comparison.decision.exit_code
