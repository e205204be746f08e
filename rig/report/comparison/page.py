"""comparison.html: one file with everything drawn in it, in the style of a run's page."""

from string import Template

from rig.report.comparison import curves, limits, markdown, words
from rig.report.comparison.content import STATISTICS, Comparison
from rig.report.html.markup import Markup, el, joined, script_json, table
from rig.report.html.page import file_of, framed
from rig.report.html.sections import sign
from rig.verdict import Verdict

HERE = "rig.report.comparison"


def render(comparison: Comparison) -> str:
    """The whole page, without anything outside of it."""
    shown = [(figure, curves.curves_of(figure)) for figure in comparison.figures if any(figure.seen)]
    letters = [side.letter for side in comparison.sides]
    plots = [curves.render(place, figure, drawn, letters) for place, (figure, drawn) in enumerate(shown)]
    parts = {
        "head": _head(comparison),
        "verdicts": _verdicts(comparison),
        "counts": _counts(comparison),
        "figures": _figures(comparison),
        "key": _key(comparison),
        "plots": joined([el("div", *plots, class_="curves")] if plots else [el("p", "No side has a value.")]),
        "different": _different(comparison),
        "limits": el("ul", *(el("li", line) for line in limits.limits(comparison))),
    }
    return framed(
        f"comparison · {markdown.title(comparison)}",
        Template(file_of("page.html", HERE)).substitute(parts),
        style=file_of("page.css") + file_of("page.css", HERE),
        script=file_of("page.js", HERE),
        data=script_json(curves.readout(shown, letters)),
    )


def _head(comparison: Comparison) -> Markup:
    sides = [
        el(
            "li",
            el("b", _swatch(side.letter), f" {side.name}"),
            el("span", *_signs([run.verdict for run in side.digests])),
            class_="tile",
        )
        for side in comparison.sides
    ]
    warned = limits.warnings(comparison)
    box = None
    if warned:
        lines = [el("li", line) for line in warned]
        box = el("div", el("strong", "Before you read the figures, this comparison cannot tell:"), el("ul", *lines))
        box = el("div", box, class_="label")
    return joined([el("h1", markdown.title(comparison)), el("ul", *sides, class_="tiles sides"), box])


def _signs(verdicts: list[Verdict]) -> list[Markup]:
    if len(verdicts) == 1:
        return [sign(verdicts[0])]
    return [
        joined([f"{verdicts.count(verdict)} {words.TIMES} ", sign(verdict), " "])
        for verdict in (Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN)
        if verdict in verdicts
    ]


def _swatch(letter: str) -> Markup:
    line = el("path", d="M0 6H32", class_=f"stroke side-{letter}")
    return el("svg", line, class_="swatch", viewBox="0 0 32 12", aria_hidden="true")


def _verdicts(comparison: Comparison) -> Markup:
    runs = [(letter, name, sign(verdict), said) for letter, verdict, (name, said) in words.run_rows(comparison)]
    checks = [(name, *(_check(text, worst) for text, worst in cells)) for name, cells in words.check_rows(comparison)]
    parts = [
        table(("side", "run", "verdict", "what it came to"), runs, caption="Runs and their verdicts", numbers=_NONE),
        table(words.heads(comparison, "check"), checks, caption="Checks side by side", numbers=_NONE),
    ]
    failed = [
        (side, run, check, sign(worst), said) for side, run, check, worst, said in words.failed_checks(comparison)
    ]
    if failed:
        head = ("side", "run", "check", "verdict", "what it found")
        parts.append(table(head, failed, caption="Checks that did not pass", numbers=_NONE))
    return joined(parts)


_NONE: frozenset[int] = frozenset()


def _check(text: str, worst: Verdict | None) -> Markup:
    return el("span", text, class_="none") if worst is None else joined([sign(worst), _more(text, worst)])


def _more(text: str, worst: Verdict) -> str:
    """How many runs, where a side has several."""
    return "" if text == str(worst) else f" ({text})"


def _counts(comparison: Comparison) -> Markup:
    head = words.heads(comparison, "what")
    return table(head, words.count_rows(comparison), caption="Counts, summed over the runs of a side", numbers=_NONE)


def _figures(comparison: Comparison) -> Markup:
    rows = [
        tuple(
            joined([_swatch(row.side), f" {cell}"]) if place == 1 and row.side is not None else cell
            for place, cell in enumerate(row.cells)
        )
        for row in words.figure_rows(comparison)
    ]
    numbers = frozenset(range(2, 3 + len(STATISTICS)))
    caption = f"Each figure on every side; {words.TIMES} is the ratio to the first side, below it the difference"
    origins = {figure.name: figure.measurement_origin for figure in comparison.figures if any(figure.seen)}
    terms = [joined([el("dt", name), el("dd", origin)]) for name, origin in origins.items()]
    rates = words.rate_rows(comparison)
    return joined(
        [
            table(words.FIGURE_HEAD, rows, caption=caption, numbers=numbers),
            el("p", markdown.FEW, class_="note"),
            table(words.heads(comparison, "rate"), rates, caption="Rates", numbers=_NONE) if rates else None,
            el("h3", "Measured from … to"),
            el("dl", *terms, class_="origins"),
        ]
    )


def _key(comparison: Comparison) -> Markup:
    return el("ul", *(el("li", _swatch(side.letter), f" {side.name}") for side in comparison.sides), class_="key")


def _different(comparison: Comparison) -> Markup:
    rows = words.different_rows(comparison)
    if not rows:
        return el("p", "Nothing that the runs recorded: config, plan, versions, patches and machine are the same.")
    return table(
        words.heads(comparison, "what"), rows, caption="Facts that are not the same in all runs", numbers=_NONE
    )
