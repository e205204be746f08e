"""docs/metrics.md is what the catalogue of metrics says."""

from rig.metrics.catalogue import METRICS
from tests.house.tree import ROOT, script


def test_the_page_is_up_to_date() -> None:
    made = script("metrics_page").render()
    assert (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8") == made, "run scripts/metrics_page.py"


def test_every_metric_and_every_label_is_on_the_page() -> None:
    page = script("metrics_page").render()
    assert [metric.shown for metric in METRICS.values() if f"| `{metric.shown}` |" not in page] == []
