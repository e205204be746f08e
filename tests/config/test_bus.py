"""The `bus` section: sensible without a word, and one clear line for every contradiction."""

from pathlib import Path

import pytest

from rig.config.bus import BusKind
from rig.config.load import line_of, load_run
from rig.errors import ConfigError
from tests.builders import RUN_YAML, run_config


def test_without_a_section_the_broker_is_embedded(tmp_path: Path) -> None:
    assert run_config(tmp_path).bus.chosen is BusKind.EMBEDDED


def test_a_url_makes_it_external(tmp_path: Path) -> None:
    bus = run_config(tmp_path, RUN_YAML + "bus: {url: 'mqtts://broker.example:8883', user: rig, password_env: P}\n").bus
    assert bus.chosen is BusKind.EXTERNAL


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ("{kind: none, url: 'mqtt://h'}", "kind none takes no `url`"),
        ("{kind: embedded, url: 'mqtt://h'}", "kind embedded takes no `url`"),
        ("{kind: external}", "kind external needs a `url`"),
        ("{user: rig}", "user needs a `url`"),
        ("{insecure: true}", "insecure needs a `url`"),
        ("{url: 'http://h'}", "give mqtt://host:port"),
        ("{url: 'mqtt://rig:secret@h'}", "holds a user or a password"),
        ("{url: 'mqtt://h', ca_file: ca.pem}", "need an mqtts:// url"),
        ("{url: 'mqtt://h', password_env: P}", "password_env needs a `user`"),
        ("{kind: mqtt}", "did you mean"),
        ("{pasword_env: P}", "did you mean `password_env`?"),
    ],
)
def test_a_contradiction_is_one_line(tmp_path: Path, section: str, told: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(RUN_YAML + f"bus: {section}\n")
    with pytest.raises(ConfigError) as raised:
        load_run(path)
    text = str(raised.value)
    assert told in text or (told == "did you mean" and "known here" in text)
    assert f"{path}:{len(RUN_YAML.splitlines()) + 1}" in text
    assert "\n" not in text


def test_a_password_in_a_url_is_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        run_config(tmp_path, RUN_YAML + "bus: {url: 'mqtt://rig:secret@h'}\n")
    assert "secret" not in str(raised.value)


def test_the_line_of_a_setting_is_that_of_its_nearest_section_that_stands_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("a: 1\nbus:\n  url: x\n")
    assert [line_of(path, key) for key in ("bus.url", "bus.user", "watch")] == [3, 2, None]
