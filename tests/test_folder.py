"""A results folder says what its run intends, before anything is started, and is never an old one."""

import json
from pathlib import Path

import pytest

from rig.bus.wire import Place
from rig.errors import UsageError
from rig.folder import BUGS_DIR, PROVENANCE_FILE, keep_bug_files, make_folder, plain_name
from rig.history import EVENTS_DIR, PIPELINE_FILE, RUN_FILE
from rig.plan import PLAN_FILE, Plan, make_plan
from tests.builders import PIPELINE_YAML, RUN_YAML, run_config


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    (tmp_path / PIPELINE_FILE).write_text(PIPELINE_YAML)
    return make_plan(run_config(tmp_path))


def made(folder: Path, plan: Plan) -> Path:
    return make_folder(folder / "results", folder / RUN_FILE, PIPELINE_YAML, plan, RUN_YAML, {"told": 7})


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


def test_a_folder_that_is_there_already_is_not_written_to(
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
    with pytest.raises(UsageError, match="File exists; name another folder with --results"):
        made(tmp_path, plan)
    assert (folder / RUN_FILE).read_text() == "the first run"


def test_a_place_that_cannot_be_written_is_one_line_with_a_remedy(tmp_path: Path, plan: Plan) -> None:
    (tmp_path / "results").write_text("a file, not a folder")
    with pytest.raises(UsageError, match="name another folder with --results"):
        made(tmp_path, plan)


def test_bugs_that_are_files_are_kept_with_the_results(tmp_path: Path, plan: Plan) -> None:
    folder = made(tmp_path, plan)
    bug = tmp_path / "my_bug.py"
    bug.write_text("BUG = None\n")
    keep_bug_files(folder, ["zombie_in_running", str(bug)])
    assert [path.name for path in (folder / BUGS_DIR).iterdir()] == ["my_bug.py"]
    assert (folder / BUGS_DIR / "my_bug.py").read_text() == bug.read_text()


@pytest.mark.parametrize("name", ["my run (2).yaml", "<script>.yaml", "größe.yaml", "x" * 250 + ".yaml"])
def test_a_folder_whatever_its_run_file_is_called_has_a_name_that_the_bus_takes(name: str) -> None:
    assert Place(f"20260101T000000Z-{plain_name(Path(name))}-1", "rig", "rig")
    assert len(plain_name(Path(name))) <= 80
