"""A file is there whole, or it is as it was before."""

from pathlib import Path

import pytest

from rig.errors import RigError, UsageError
from rig.files import replace, whole


def test_the_new_one_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace(path, b"old and longer")
    replace(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_what_ends_in_the_middle_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(TypeError), whole(path) as work, work.open("w") as file:
        file.writelines(("half", 3))  # type: ignore[arg-type]
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_one_line_with_the_remedy_if_there_is_one(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "file"
    with pytest.raises(RigError) as caught:
        replace(path, b"")
    assert str(caught.value) == f"cannot write {path}: No such file or directory"
    with pytest.raises(UsageError, match="directory; name another with --to"):
        replace(path, b"", "name another with --to")


def test_a_folder_is_made_only_where_that_is_wished(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    replace(path, b"here", make_folder=True)
    assert path.read_bytes() == b"here"
