"""A results folder says what its run intends, before anything is started, and is never an old one."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from rig.bus.wire import Place
from rig.errors import UsageError
from rig.folder import BUGS_DIR, PROVENANCE_FILE, make_folder, new_folder, plain_name
from rig.history import EVENTS_DIR, PIPELINE_FILE, RUN_FILE
from rig.plan import PLAN_FILE, Plan, make_plan
from tests.builders import PIPELINE_YAML, RUN_YAML, run_config


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    (tmp_path / PIPELINE_FILE).write_text(PIPELINE_YAML)
    return make_plan(run_config(tmp_path))


def made(folder: Path, plan: Plan, bugs: Sequence[str] = ()) -> Path:
    return make_folder(folder / "results", folder / RUN_FILE, PIPELINE_YAML, plan, RUN_YAML, {"told": 7}, bugs)


def test_it_holds_run_pipeline_plan_and_provenance(tmp_path: Path, plan: Plan) -> None:
    folder = made(tmp_path, plan)
    assert (folder / RUN_FILE).read_text() == RUN_YAML
    assert (folder / PIPELINE_FILE).read_text() == PIPELINE_YAML
    assert (folder / PLAN_FILE).read_bytes() == plan.encode()
    assert (folder / EVENTS_DIR).is_dir()
    provenance = json.loads((folder / PROVENANCE_FILE).read_text())
    assert (provenance["plan_sha256"], provenance["told"]) == (plan.sha256(), 7)
    assert provenance["versions"]["omni-realtime-rig"]
    assert provenance["hardware"]["cores"] > 0


def test_a_run_in_the_same_second_gets_a_folder_of_its_own(
    tmp_path: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(tmp_path, plan)
    (folder / RUN_FILE).write_text("the first run")

    class Stopped:
        """The same second again."""

        @staticmethod
        def now(tz: object) -> "Stopped":
            return Stopped()

        @staticmethod
        def strftime(_: str) -> str:
            return folder.name.split("-", 1)[0]

    monkeypatch.setattr("rig.folder.datetime", Stopped)
    assert [made(tmp_path, plan).name for _ in "23"] == [f"{folder.name}-2", f"{folder.name}-3"]
    assert (folder / RUN_FILE).read_text() == "the first run"
    assert "-ab-run-" in new_folder(tmp_path / "results", tmp_path / RUN_FILE, "ab").name


def test_a_place_that_cannot_be_written_is_one_line_with_a_remedy(tmp_path: Path, plan: Plan) -> None:
    (tmp_path / "results").write_text("a file, not a folder")
    with pytest.raises(UsageError, match="name another folder with --results"):
        made(tmp_path, plan)


def test_bugs_that_are_files_are_kept_with_the_results_also_two_of_one_name(tmp_path: Path, plan: Plan) -> None:
    bugs = [tmp_path / name / "my_bug.py" for name in "ab"]
    for bug in bugs:
        bug.parent.mkdir()
        bug.write_text(f"BUG = {bug.parent.name!r}\n")
    folder = made(tmp_path, plan, ["zombie_in_running", *map(str, bugs)])
    kept = {path.name: path.read_text() for path in (folder / BUGS_DIR).iterdir()}
    assert kept == {"my_bug.py": "BUG = 'a'\n", "my_bug-2.py": "BUG = 'b'\n"}


def test_a_bug_file_that_is_gone_is_one_line(tmp_path: Path, plan: Plan) -> None:
    with pytest.raises(UsageError, match="No such file or directory; name another"):
        made(tmp_path, plan, [str(tmp_path / "gone.py")])


@pytest.mark.parametrize("name", ["my run (2).yaml", "<script>.yaml", "größe.yaml", "x" * 250 + ".yaml"])
def test_a_folder_whatever_its_run_file_is_called_has_a_name_that_the_bus_takes(name: str) -> None:
    assert Place(f"20260101T000000Z-{plain_name(Path(name))}-1", "rig", "rig")
    assert len(plain_name(Path(name))) <= 80
