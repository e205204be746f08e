"""The dashboard and the scrape configs: every metric and label that they name is really served."""

import ast
import importlib.util
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rig.config.metrics import DEFAULT_PORT
from tests.house.tree import ROOT, script
from tests.metrics.conftest import Served
from tests.metrics.promql import labels_and_metrics
from tests.metrics.text import prometheus_samples

CONFIGS = ROOT / "configs"
DASHBOARD = CONFIGS / "grafana/dashboards/rig.json"
OF_PROMETHEUS = {"instance", "job"}
"""Labels that a scrape adds."""


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return [panel for panel in found if panel["type"] != "row"]


def queries() -> Iterator[tuple[str, str, str]]:
    """Panel, expression and legend."""
    for panel in panels():
        for target in panel["targets"]:
            yield panel["title"], target["expr"], target["legendFormat"]


def server_labels() -> dict[str, set[str]]:
    """Labels by sample name, from the committed list; any of it may be a histogram."""
    listed = yaml.safe_load((CONFIGS / "grafana/server-metrics.yaml").read_text(encoding="utf-8"))
    plain = {name: set(labels) for name, labels in listed.items()}
    return plain | {f"{name}_bucket": labels | {"le"} for name, labels in plain.items()}


def served_labels(served: Served) -> dict[str, set[str]]:
    """Labels by sample name, from everything that a real run served."""
    found: dict[str, set[str]] = {}
    for text in (*served.during, served.after):
        for name in prometheus_samples(text):
            found.setdefault(name.partition("{")[0], set()).update(re.findall(r'(\w+)="', name))
    return found


def test_the_dashboard_is_up_to_date() -> None:
    assert DASHBOARD.read_text(encoding="utf-8") == script("dashboard").render(), "run scripts/dashboard.py"


@pytest.mark.timeout(200)
def test_every_metric_and_label_in_the_dashboard_is_served(served: Served) -> None:
    known = served_labels(served) | server_labels()
    wrong = []
    for title, expression, legend in queries():
        grouped, metrics = labels_and_metrics(expression)
        shown = set(re.findall(r"\{\{(\w+)\}\}", legend))
        assert metrics, f"{title}: {expression} names no metric"
        for name, selected in metrics.items():
            if name not in known:
                wrong.append(f"{title}: no {name}")
            elif strange := (selected | grouped | shown) - known[name] - OF_PROMETHEUS:
                wrong.append(f"{title}: {name} has no {sorted(strange)}")
        if grouped and not shown <= grouped:
            wrong.append(f"{title}: the legend shows {sorted(shown - grouped)}, which is summed away")
    assert wrong == []


def test_every_metric_of_the_list_is_shown() -> None:
    shown = {name for _, expression, _ in queries() for name in labels_and_metrics(expression)[1]}
    listed = yaml.safe_load((CONFIGS / "grafana/server-metrics.yaml").read_text(encoding="utf-8"))
    assert [name for name in listed if not {name, f"{name}_bucket"} & shown] == []


def test_every_metric_of_the_list_is_one_of_the_installed_engine() -> None:
    names = engine_names()
    if names is None:
        pytest.skip("no engine is installed")
    listed = yaml.safe_load((CONFIGS / "grafana/server-metrics.yaml").read_text(encoding="utf-8"))
    assert [name for name in listed if name.removesuffix("_total") not in names] == []


def engine_names() -> set[str] | None:
    """Names of metrics in the sources of vLLM and vLLM-Omni, which are not imported: that would take half a minute."""
    folders = [spec.submodule_search_locations for name in ("vllm", "vllm_omni") if (spec := find(name)) is not None]
    if len(folders) < 2 or not folders[0] or not folders[1]:
        return None
    loggers = Path(folders[0][0], "v1/metrics/loggers.py").read_text(encoding="utf-8")
    names = set(re.findall(r'"(vllm:\w+)"', loggers))
    constants: dict[str, object] = {}
    for node in ast.parse(Path(folders[1][0], "metrics/definitions.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = text_of(node.value, constants)
            constants[node.targets[0].id] = value
            if isinstance(value, str):
                names.add(value)
    return names


def find(name: str) -> "importlib.machinery.ModuleSpec | None":
    return importlib.util.find_spec(name)


def text_of(node: ast.expr, constants: dict[str, object]) -> str | None:
    """The value of a text, of a name of one, or of two put together; None for anything else."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Name(id=name):
            value = constants.get(name)
            return value if isinstance(value, str) else None
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            first, second = text_of(left, constants), text_of(right, constants)
            return None if first is None or second is None else first + second
    return None


def test_panels_lie_beside_each_other_and_not_over_each_other() -> None:
    cells: set[tuple[int, int]] = set()
    for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]:
        place = panel["gridPos"]
        own = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & own, panel["title"]
        assert max(x for x, _ in own) < 24, panel["title"]
        cells |= own
    ids = [panel["id"] for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", ["prometheus.yml", "local.yml"])
def test_prometheus_scrapes_the_rig_at_its_default_port_and_the_server(name: str) -> None:
    path = CONFIGS / "prometheus" / name
    jobs = {
        job["job_name"]: job["static_configs"][0]["targets"]
        for job in yaml.safe_load(path.read_text(encoding="utf-8"))["scrape_configs"]
    }
    assert list(jobs) == ["rig", "vllm-omni"]
    assert jobs["rig"][0].endswith(f":{DEFAULT_PORT}")
    if shutil.which("promtool") is not None:
        answer = subprocess.run(["promtool", "check", "config", str(path)], capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stderr


def test_what_is_provisioned_fits_together() -> None:
    folder = CONFIGS / "grafana/provisioning"
    (source,) = yaml.safe_load((folder / "datasources/prometheus.yml").read_text(encoding="utf-8"))["datasources"]
    (provider,) = yaml.safe_load((folder / "dashboards/rig.yml").read_text(encoding="utf-8"))["providers"]
    assert (source["type"], source["isDefault"]) == ("prometheus", True)
    assert provider["options"]["path"] in (folder / "dashboards/rig.yml").read_text(encoding="utf-8").split("\napi")[0]


def test_names_in_an_expression_are_found() -> None:
    text = 'sum by (le, x) (rate(a_bucket{b="c{d}", e!~"f"}[$__range])) / on(g) h:i offset 5m > 0.5 and j'
    grouped, metrics = labels_and_metrics(text)
    assert grouped == {"le", "x", "g"}
    assert metrics == {"a_bucket": {"b", "e"}, "h:i": set(), "j": set()}
