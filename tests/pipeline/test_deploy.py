"""The deploy file and the command line say what the pipeline file says, and nothing else."""

from pathlib import Path
from typing import Any

import yaml

from rig.config.pipeline import PipelineConfig
from rig.pipeline import deploy
from tests.pipeline.fake import STAGE, config


def written(settings: PipelineConfig, folder: Path) -> dict[str, Any]:
    path = folder / "deploy.yaml"
    deploy.write_deploy(settings, path)
    content: dict[str, Any] = yaml.safe_load(path.read_text())
    return content


def test_stages_come_in_the_order_of_their_ids(tmp_path: Path) -> None:
    talker = STAGE | {"max_model_len": 4096, "default_sampling_params": {"top_k": 25, "detokenize": False}}
    content = written(config(stages={"code2wav": STAGE, "thinker": STAGE, "talker": talker}), tmp_path)
    assert [stage["stage_id"] for stage in content["stages"]] == [0, 1, 2]
    assert content["stages"][1]["max_model_len"] == 4096
    assert content["stages"][1]["default_sampling_params"] == {"top_k": 25, "detokenize": False}


def test_settings_that_are_absent_are_left_out(tmp_path: Path) -> None:
    stage = written(config(), tmp_path)["stages"][0]
    assert None not in stage.values()
    assert "async_scheduling" not in stage
    assert "extra" not in stage


def test_async_scheduling_off_is_not_the_same_as_absent(tmp_path: Path) -> None:
    stages = {"thinker": STAGE | {"async_scheduling": False}, "talker": STAGE, "code2wav": STAGE}
    assert written(config(stages=stages), tmp_path)["stages"][0]["async_scheduling"] is False


def test_extra_engine_arguments_are_merged(tmp_path: Path) -> None:
    stages = {"thinker": STAGE | {"extra": {"block_size": 32}}, "talker": STAGE, "code2wav": STAGE}
    assert written(config(stages=stages), tmp_path)["stages"][0]["block_size"] == 32


def test_talker_and_code2wav_share_the_connector(tmp_path: Path) -> None:
    content = written(config(connector={"codec_chunk_frames": 25}), tmp_path)
    (name,) = content["connectors"]
    assert content["connectors"][name]["extra"] == {"codec_chunk_frames": 25}
    assert content["stages"][1]["output_connectors"] == {"to_stage_2": name}
    assert content["stages"][2]["input_connectors"] == {"from_stage_1": name}
    assert "output_connectors" not in content["stages"][0]


def test_the_server_is_in_duplex_mode_with_the_limits_given(tmp_path: Path) -> None:
    content = written(config(duplex_session={"max_sessions": 2, "disconnect_grace_s": 1.0}), tmp_path)
    assert content["session_mode"] == "duplex"
    assert content["duplex_session"] == {
        "max_sessions": 2,
        "disconnect_grace_s": 1.0,
        "reaper_interval_s": 5.0,
    }


def test_the_pipeline_has_the_last_word_on_the_environment(tmp_path: Path) -> None:
    settings = config(env={"NO_COLOR": "0", "OMP_NUM_THREADS": "1"})
    launch = deploy.launch(settings, "/model", tmp_path / "d.yaml", 8099, {"PATH": "/bin", "PYTHONUNBUFFERED": "1"})
    assert launch.env["PATH"] == "/bin"
    assert launch.env["NO_COLOR"] == "0"
    assert launch.env["OMP_NUM_THREADS"] == "1"
    assert launch.env["HF_HUB_OFFLINE"] == "1"
    assert "PYTHONUNBUFFERED" not in launch.env


def test_a_released_model_may_be_looked_up(tmp_path: Path) -> None:
    settings = config(model={"kind": "released", "name": "openbmb/MiniCPM-o-4_5"})
    launch = deploy.launch(settings, "openbmb/MiniCPM-o-4_5", tmp_path / "d.yaml", 8099, {})
    assert "HF_HUB_OFFLINE" not in launch.env
    assert launch.url == "ws://127.0.0.1:8099"
    assert launch.argv[launch.argv.index("serve") + 1] == "openbmb/MiniCPM-o-4_5"


def test_patches_are_passed_to_every_process_of_the_server(tmp_path: Path) -> None:
    settings = config(patches=["scheduler_zombies", "moriio_async_read"])
    launch = deploy.launch(settings, "/model", tmp_path / "d.yaml", 8099, {})
    assert launch.env["RIG_ENGINE_PATCHES"] == "scheduler_zombies,moriio_async_read"


def test_patches_of_the_rigs_own_environment_do_not_reach_the_server(tmp_path: Path) -> None:
    launch = deploy.launch(config(), "/model", tmp_path / "d.yaml", 8099, {"RIG_ENGINE_PATCHES": "scheduler_zombies"})
    assert "RIG_ENGINE_PATCHES" not in launch.env


def test_bugs_are_passed_to_every_process_of_the_server(tmp_path: Path) -> None:
    settings = config(bugs=["zombie_in_running", "/bugs/mine.py"])
    launch = deploy.launch(settings, "/model", tmp_path / "d.yaml", 8099, {"RIG_ENGINE_BUGS": "slot_lost"})
    assert launch.env["RIG_ENGINE_BUGS"] == "zombie_in_running,/bugs/mine.py"
    assert "RIG_ENGINE_PATCHES" not in launch.env
    plain = deploy.launch(config(), "/model", tmp_path / "d.yaml", 8099, {"RIG_ENGINE_BUGS": "zombie_in_running"})
    assert "RIG_ENGINE_BUGS" not in plain.env


def test_the_engines_are_told_where_to_record_unless_the_pipeline_does_not_want_it(tmp_path: Path) -> None:
    folder, other = tmp_path / "recorder", {"RIG_RECORDER": "/elsewhere"}
    launch = deploy.launch(config(), "/model", tmp_path / "d.yaml", 8099, other, folder)
    assert launch.env["RIG_RECORDER"] == str(folder)
    launch = deploy.launch(config(recorder=False), "/model", tmp_path / "d.yaml", 8099, other, folder)
    assert "RIG_RECORDER" not in launch.env
