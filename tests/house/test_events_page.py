"""docs/events.md is what the event types say."""

import importlib.util
from types import ModuleType
from typing import get_args

from rig.events.types import AnyEvent
from tests.house.tree import ROOT


def generator() -> ModuleType:
    """scripts/events_page.py; scripts are no package."""
    spec = importlib.util.spec_from_file_location("events_page", ROOT / "scripts" / "events_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date() -> None:
    made = generator().render()
    assert (ROOT / "docs" / "events.md").read_text(encoding="utf-8") == made, "run scripts/events_page.py"


def test_every_event_has_a_section_and_units_are_told() -> None:
    page = generator().render()
    tags = [kind.__struct_config__.tag for kind in get_args(AnyEvent)]
    assert sum(line.startswith("## `") for line in page.splitlines()) == len(tags)
    assert all(f"## `{tag}`" in page for tag in tags)
    assert "| `rss_bytes` | integer | bytes |" in page
    assert "| `after_audio_ms` | integer or null | milliseconds |" in page
