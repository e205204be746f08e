"""How a run stands, between two processes: whole or not at all."""

from pathlib import Path

from rig.standing import Process, Standing, read, write

NOW = Standing(5, [("phase", "load")], [Process(7, "thinker", "alive")], ["talker died"])


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "standing.json"
    write(path, NOW)
    write(path, NOW)
    assert read(path) == NOW
    assert [one.name for one in tmp_path.iterdir()] == ["standing.json"]


def test_what_is_not_there_or_damaged_is_none(tmp_path: Path) -> None:
    path = tmp_path / "standing.json"
    assert read(path) is None
    path.write_text("{")
    assert read(path) is None


def test_a_folder_that_is_gone_stops_nobody(tmp_path: Path) -> None:
    write(tmp_path / "gone" / "standing.json", NOW)
    assert not (tmp_path / "gone").exists()


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "standing.json"
    path.mkdir()
    write(path, NOW)
    assert list(tmp_path.iterdir()) == [path]
