"""The files of a comparison, in a folder of their own. They are derived: comparing again makes them anew."""

from collections.abc import Callable, Sequence
from pathlib import Path

from rig.files import replace
from rig.report.comparison import markdown, page
from rig.report.comparison.content import Side, compare, judged_digest
from rig.report.digest import Digest

PAGE_FILE = "comparison.html"
TEXT_FILE = "comparison.md"
COMPARISON_FILES = (PAGE_FILE, TEXT_FILE)


def write_comparison(
    out: Path, sides: Sequence[Side], digest: Callable[[Path], Digest] = judged_digest
) -> tuple[Path, ...]:
    """Write comparison.html and comparison.md into `out`, which is made where it is missing, and return their paths.

    The first side is what the others are held against. `digest` gives that of a run's folder; without, every run is
    judged. Raises RigError for a folder that is no run's, UsageError for
    fewer than 2 or more than 4 sides, a side without runs, a run that stands twice on a side, and an `out` that cannot
    be written.
    """
    comparison = compare(sides, digest)
    made = {PAGE_FILE: page.render(comparison), TEXT_FILE: markdown.render(comparison)}
    for name, text in made.items():
        replace(out / name, text.encode(), "name another folder with --out", make_folder=True)
    return tuple(out / name for name in made)
