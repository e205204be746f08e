"""Copies a comparison with its runs into results/examples/: `.venv/bin/python scripts/example.py results/AB_ID`.

For people to read, and to judge again: `rig ab --judge results/examples/AB_ID`. Left out is what judging does not need:
the flight recorder's rings, the server's logs, spools, and the pages, which `rig report` makes anew. Paths of the
machine are cut: what lies in the project's folder begins there, what lies in the home folder with `~/`.
"""

import argparse
import shutil
from pathlib import Path

from rig.compare import record

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "results" / "examples"
OF_A_COMPARISON = ("ab.json", "report.md")
OF_A_RUN = (
    "events",
    "run.yaml",
    "pipeline.yaml",
    "plan.jsonl",
    "probe.jsonl",
    "provenance.json",
    "verdict.json",
    "report.md",
)


def main() -> None:
    """Copy one comparison; an example that is there already is replaced."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("comparison", type=Path, help="folder of a comparison, beside those of its runs")
    comparison: Path = parser.parse_args().comparison.resolve()
    _copy(comparison, OF_A_COMPARISON)
    for made in record.read(comparison).runs:
        _copy((comparison / made.folder).resolve(), OF_A_RUN)


def _copy(folder: Path, names: tuple[str, ...]) -> None:
    target = EXAMPLES / folder.name
    shutil.rmtree(target, ignore_errors=True)
    for name in names:
        for source in sorted((folder / name).rglob("*.jsonl")) if (folder / name).is_dir() else [folder / name]:
            copy = target / source.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(cut(source.read_text(encoding="utf-8")), encoding="utf-8")


def cut(text: str) -> str:
    """The text without the paths of this machine."""
    return text.replace(f"{ROOT}/", "").replace(f"{Path.home()}/", "~/")


if __name__ == "__main__":
    main()
