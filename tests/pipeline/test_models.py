"""What a server is started with, for each kind of model."""

from pathlib import Path

import pytest

from rig.config.pipeline import GoldenPipeline
from rig.pipeline.models import cache_folder, model_of
from tests.pipeline import fake


def test_a_released_model_is_named_as_it_stands_in_the_file() -> None:
    assert model_of(fake.config(model={"kind": "released", "name": "openbmb/MiniCPM-o-4_5"})) == "openbmb/MiniCPM-o-4_5"


def test_the_golden_server_has_no_model_but_a_name() -> None:
    settings = {"question": "Does it answer?", "hardware_label": "golden", "golden": {}, "served_model_name": "g"}
    assert model_of(GoldenPipeline.model_validate(settings)) == "g"


def test_checkpoints_are_kept_in_the_users_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere/cache")
    assert cache_folder() == Path("/somewhere/cache/omni-realtime-rig")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/somewhere/home")
    assert cache_folder() == Path("/somewhere/home/.cache/omni-realtime-rig")
