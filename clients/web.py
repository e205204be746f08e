"""What Locust's web UI shows of the rig's run: a tab beside Locust's own, and a page /rig that needs no script.

Both say the same, from the file that the rig writes (rig/standing.py). Where Locust runs by itself there is no such
file, no pipeline is watched and nothing is judged, and both say that.
"""

import html
import json
from pathlib import Path
from typing import TYPE_CHECKING

from flask import Blueprint, Response, request

from rig import standing
from rig.clock import monotonic_ns, to_s
from rig.standing import Standing

if TYPE_CHECKING:  # whoever imports Locust has its sockets and threads replaced by gevent's
    from locust.web import WebUI

TAB = {"title": "Rig", "key": "rig"}
TABLE = {
    "key": "rig",
    "structure": [{"key": "what", "title": "What"}, {"key": "how", "title": "How it stands"}],
}
STATS_PATH = "/stats/requests"

STEERING = ("/swarm", "/stop")
DRIVEN = "the rig drives this load: it begins and ends by itself, and Ctrl-C at the rig stops it\n"
ALONE = "no pipeline is watched: Locust runs by itself and nothing is judged; `rig run` with --web-port does both"
WAITING = "the rig has not told yet how the run stands"
OLD_S = 15.0
"""The rig tells at least every 5 s; what is older is said to be."""

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="2"><title>Rig</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }}
table {{ border-collapse: collapse; width: 100%; margin-bottom: 1.5rem; }}
th, td {{ text-align: left; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid #8884; vertical-align: top; }}
th {{ font-weight: 600; width: 9rem; }}
.bad {{ color: #c62828; font-weight: 600; }}
@media (prefers-color-scheme: dark) {{ .bad {{ color: #ff8a80; }} }}
</style></head><body>
<h1>Rig</h1>
{body}
<p><a href="{home}">Locust</a></p>
</body></html>
"""


def attach(web_ui: "WebUI", file: str) -> None:
    """Add tab and page to Locust's web UI; `file` is where the rig writes, empty when Locust runs by itself."""
    app = web_ui.app
    assert app is not None
    path = Path(file) if file else None
    options = web_ui.environment.parsed_options
    base = (options.web_base_path if options else None) or ""
    rig = Blueprint("rig", __name__, url_prefix=base or None)
    web_ui.template_args |= {
        "extended_tabs": [*web_ui.template_args.get("extended_tabs", []), TAB],
        "extended_tables": [*web_ui.template_args.get("extended_tables", []), TABLE],
    }

    @rig.route("/rig")
    @web_ui.auth_required_if_enabled
    def page() -> str:
        return render(path, f"{base}/")

    @app.before_request
    def leave_it_to_the_rig() -> tuple[str, int] | None:
        # A load that somebody ends or changes here would be judged as if it were the planned one.
        steering = request.path in (f"{base}{action}" for action in STEERING)
        return (DRIVEN, 403) if steering and path is not None else None

    @app.after_request
    def with_rows(response: Response) -> Response:
        # As Locust's documentation has it: a tab's rows come with the answer that its page asks for anyway.
        if request.path != f"{base}{STATS_PATH}" or not response.is_json:
            return response
        content = json.loads(response.get_data())
        rows = [{"what": what, "how": how} for what, how in rows_of(path)]
        content["extended_stats"] = [*content.get("extended_stats", []), {"key": "rig", "data": rows}]
        response.set_data(json.dumps(content))
        return response

    app.register_blueprint(rig)


def rows_of(path: Path | None) -> list[tuple[str, str]]:
    """Everything as named lines."""
    told = None if path is None else standing.read(path)
    if told is None:
        return [("pipeline", ALONE if path is None else WAITING)]
    processes = [("process", f"{one.state}: {one.stage} (pid {one.pid})") for one in told.processes]
    deaths = [("death", death) for death in told.deaths]
    return [*_age(told), *told.rows, *processes, *deaths]


def render(path: Path | None, home: str) -> str:
    """The page."""
    rows = "\n".join(
        f"<tr><th>{html.escape(what)}</th><td{_look(how)}>{html.escape(how)}</td></tr>" for what, how in rows_of(path)
    )
    return PAGE.format(body=f"<table>{rows}</table>", home=html.escape(home))


def _age(told: Standing) -> list[tuple[str, str]]:
    age_s = to_s(monotonic_ns() - told.t_ns)
    return [("old", f"✘ the rig said this {age_s:.0f} s ago and nothing since")] if age_s > OLD_S else []


def _look(how: str) -> str:
    return ' class="bad"' if how.startswith(("✘", "dead")) else ""
