"""The page: template, style and script are files beside this one, put together with what was found in the run."""

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from string import Template

from rig.report.banner import banner
from rig.report.html import distributions, recorded, sections, svg, timeline
from rig.report.html.gather import Gathered
from rig.report.html.incidents import incidents_of
from rig.report.html.markup import Markup, el, escaped, joined, script_json
from rig.report.judgement import Judgement

KEYS = (
    ("barge_in_speech", "barges in by speaking"),
    ("barge_in_cancel", "barges in by response.cancel"),
    ("hang_up", "hangs up"),
    ("late_sound", "sends sound after the goodbye"),
    ("new_session", "comes back, new session"),
    ("resume", "comes back, resumes"),
    ("refused", "is refused"),
    ("death", "process died"),
    ("pause", "process paused"),
    ("log", "fault in a log"),
    ("stuck", "turn stuck"),
    ("lost", "connection lost"),
    ("known", "known and without harm"),
)


def of(judgement: Judgement) -> str:
    """The page of a run. When it cannot be made, a page that says so: telling must not change a verdict."""
    try:
        return render(judgement, judgement.gathered.result())
    except Exception as error:  # noqa: BLE001 - see above
        return failed(judgement, error)


def failed(judgement: Judgement, error: Exception) -> str:
    """The verdict, why there is no more, and where the rest is."""
    broken = banner(judgement.history)
    body = [
        None if broken is None else el("p", el("strong", broken)),
        el("h1", judgement.sentence),
        el(
            "p",
            f"This page could not be made: {error!r}. The verdict stands; report.md and verdict.json have the rest.",
        ),
    ]
    head = [el("meta", charset="utf-8"), el("title", judgement.verdict.upper())]
    return "<!doctype html>\n" + el("html", el("head", *head), el("body", *body), lang="en") + "\n"


def render(judgement: Judgement, gathered: Gathered) -> str:
    """The whole page, without anything outside of it."""
    history = judgement.history
    found = incidents_of(history, gathered)
    rows = timeline.rows_of(history, gathered, found)
    scale = timeline.scale_of(history, gathered)
    parts = {
        "symbols": svg.symbols(),
        "verdict": sections.verdict(judgement),
        "incidents": sections.incidents(history, found, gathered),
        "recorded": recorded.render(history, judgement.timelines),
        "rows": timeline.render(rows, scale),
        "key": _key(),
        "bin": escaped(f"{scale.width_s:g} s"),
        "distributions": distributions.render(judgement.figures),
        "behaviours": sections.behaviours(gathered),
        "stages": sections.stages(history),
        "checks": sections.checks(judgement),
        "provenance": sections.origin(judgement),
        "limits": sections.limits(judgement),
    }
    return framed(
        f"{judgement.verdict.upper()} · {history.folder.name}",
        Template(file_of("page.html")).substitute(parts),
        style=file_of("page.css"),
        script=file_of("page.js"),
        data=script_json(timeline.readout(rows, scale)),
    )


def framed(title: str, body: str, *, style: str, script: str, data: Markup) -> str:
    """A whole page around what is shown, which runs this script and no other and asks for nothing from anywhere."""
    parts = {
        "policy": escaped(_policy(script)),
        "title": escaped(title),
        "style": style,
        "body": body,
        "data": data,
        "script": script,
    }
    return Template(file_of("frame.html")).substitute(parts)


def file_of(name: str, package: str = "rig.report.html") -> str:
    """A part of a page that is a file beside the code that fills it."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    """A policy for the browser: this script and no other, nothing from anywhere."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    rules: Sequence[str] = (
        "default-src 'none'",
        f"script-src 'sha256-{digest}'",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(rules)


def _key() -> Markup:
    return el("ul", joined(el("li", svg.glyph(kind), f" {text}") for kind, text in KEYS), class_="key")
