"""The pages name only what exists: files, make targets and rig's subcommands."""

import io
import re
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from rig.cli import main
from tests.house.tree import ROOT

FENCE = re.compile(r"^ *(```+|~~~+)")
INLINE_CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^()\s]+)\)")
PATH = re.compile(r"[\w.*-]+(?:/[\w.*-]*)+")
MAKE = re.compile(r"(?:\$ )?make ((?:[a-z][\w-]*|[A-Z]+=\S+)(?: [\w=-]+)*)")
RIG = re.compile(r"(?:\$ )?(?:\.venv/bin/)?rig ([a-z][a-z-]*(?: [a-z][a-z-]*\b(?![/.]))*)")

# Made by a run or by the set-up, so a fresh clone has none of it.
GENERATED = re.compile(r"^(?:results/(?!README\.md|examples)|\.venv/|\.cache/|build/)")


@dataclass(frozen=True)
class Code:
    """A piece of code on a page: an inline span, or one line of a fenced block."""

    line: int
    text: str
    fenced: bool


def pages(root: Path) -> list[Path]:
    """README, changelog, contributing and everything below docs/, where they exist."""
    top = [root / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    return [path for path in [*top, *sorted((root / "docs").rglob("*.md"))] if path.is_file()]


def code_of(page: Path) -> Iterator[Code]:
    """Every piece of code on a page, in order."""
    fenced = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if FENCE.match(line):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            yield Code(number, line.strip(), fenced=True)
        else:
            yield from (Code(number, text, fenced=False) for text in INLINE_CODE.findall(line))


def paths_in(root: Path, code: Code) -> Iterator[str]:
    """What looks like a path of this project: its first part is one of the project's folders."""
    folders = {path.name for path in root.iterdir() if path.is_dir()}
    for word in re.split(r"[\s'\"(),;=]+", code.text):
        candidate = word.removeprefix("./").rstrip(":.")
        if "<" in candidate or not PATH.fullmatch(candidate) or GENERATED.match(candidate):
            continue
        if candidate.split("/")[0] in folders:
            yield candidate


def missing_paths(root: Path, page: Path) -> list[str]:
    """Paths and relative links on a page that lead nowhere."""
    name = page.relative_to(root)
    found = [
        f"{name}:{code.line}: {path}"
        for code in code_of(page)
        for path in paths_in(root, code)
        if not any(root.glob(path.rstrip("/")))
    ]
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        for target in LINK.findall(line):
            file = target.partition("#")[0]
            if "://" not in target and file and not (page.parent / file).exists():
                found.append(f"{name}:{number}: {target}")
    return found


def make_targets(root: Path) -> set[str]:
    """Targets of the Makefile."""
    return set(re.findall(r"^([a-z][\w-]*):", (root / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def missing_targets(root: Path, page: Path) -> list[str]:
    """`make x` on a page where the Makefile has no x."""
    known = make_targets(root)
    return [
        f"{page.relative_to(root)}:{code.line}: make {target}"
        for code in code_of(page)
        if (match := MAKE.match(code.text)) is not None
        for target in match[1].split()
        if "=" not in target and target not in known
    ]


def rig_commands(page: Path) -> set[tuple[str, ...]]:
    """The subcommands named on a page, with the lower-case words that follow, as ("checkpoint", "tiny")."""
    matches = (RIG.match(code.text) for code in code_of(page))
    return {tuple(match[1].split()) for match in matches if match is not None}


def refused(command: tuple[str, ...]) -> str | None:
    """What rig says of `rig COMMAND --help`; None where it knows the command."""
    told = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(told), pytest.raises(SystemExit) as ended:
        main([*command, "--help"])
    return None if ended.value.code == 0 else told.getvalue().strip()


PAGES = pages(ROOT)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_on_a_page_exists(page: Path) -> None:
    assert missing_paths(ROOT, page) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_make_command_on_a_page_is_a_target(page: Path) -> None:
    assert missing_targets(ROOT, page) == []


def test_every_rig_command_on_the_pages_is_known() -> None:
    commands = sorted({command for page in PAGES for command in rig_commands(page)})
    assert {command: problem for command in commands if (problem := refused(command)) is not None} == {}


def test_an_unknown_rig_command_is_refused() -> None:
    assert "no-such-command" in (refused(("no-such-command",)) or "")


def test_missing_files_and_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "rig").mkdir()
    (tmp_path / "rig/plan.py").touch()
    page = tmp_path / "README.md"
    page.write_text(
        "`rig/plan.py`, `rig/*.py`, `audio/pcm16` and rig/prose.py are fine, `rig/gone.py` is not.\n"
        "[good](rig/plan.py) [site](https://example.org/x) [bad](rig/away.py#part)\n"
        "```\ncat rig/lost.py results/some-run/report.md results/<run-id>/events\n```\n"
    )
    assert missing_paths(tmp_path, page) == [
        "README.md:1: rig/gone.py",
        "README.md:4: rig/lost.py",
        "README.md:2: rig/away.py#part",
    ]


def test_unknown_make_targets_are_found_in_code_and_not_in_prose(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("smoke: setup ## run\nsetup:\n\ttrue\n")
    page = tmp_path / "README.md"
    page.write_text("We make sure that `make smoke` and `make PROFILE=core setup` work.\n\n    make sure\n")
    assert missing_targets(tmp_path, page) == ["README.md:3: make sure"]


def test_rig_commands_are_read_with_their_subcommand(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "The rig judges. `rig run configs/runs/smoke.yaml`, `rig checkpoint tiny DIR`, `rig/plan.py`\n"
        "```\n.venv/bin/rig judge results/x\n$ rig doctor\nthe rig plans\n```\n"
    )
    assert rig_commands(page) == {("run",), ("checkpoint", "tiny"), ("judge",), ("doctor",)}
