"""docs/events.md is what the event types say."""

from typing import get_args

from rig.events.types import AnyEvent
from tests.house.tree import ROOT, script


def test_the_page_is_up_to_date() -> None:
    made = script("events_page").render()
    assert (ROOT / "docs" / "events.md").read_text(encoding="utf-8") == made, "run scripts/events_page.py"


def test_every_event_has_a_section_and_units_are_told() -> None:
    page = script("events_page").render()
    tags = [kind.__struct_config__.tag for kind in get_args(AnyEvent)]
    assert sum(line.startswith("## `") for line in page.splitlines()) == len(tags)
    assert all(f"## `{tag}`" in page for tag in tags)
    assert "| `rss_bytes` | integer | bytes |" in page
    assert "| `after_audio_ms` | integer or null | milliseconds |" in page
