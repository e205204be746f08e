"""Every mistake in a config file is one line: file, line, key, what is wrong and what to write instead."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from rig.config.load import load_both, load_pipeline, load_run
from rig.config.pipeline import ExternalServer, GoldenPipeline, PipelineConfig
from rig.errors import ConfigError
from rig.scripts import HangUpHow
from tests.builders import EXTERNAL_YAML, GOLDEN_YAML, PIPELINE_YAML, RUN_YAML, edited


def write(folder: Path, text: str, name: str = "run.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def line_of(text: str, fragment: str) -> int:
    """The line, from 1, of the only place where `fragment` stands."""
    (number,) = [number for number, line in enumerate(text.splitlines(), start=1) if fragment in line]
    return number


def run_error(folder: Path, text: str) -> str:
    path = write(folder, text)
    with pytest.raises(ConfigError) as caught:
        load_run(path)
    return str(caught.value).replace(str(path), "run.yaml")


def pipeline_error(folder: Path, text: str) -> str:
    path = write(folder, text, "pipeline.yaml")
    with pytest.raises(ConfigError) as caught:
        load_pipeline(path)
    return str(caught.value).replace(str(path), "pipeline.yaml")


def test_a_run_file_is_read_with_enums_numbers_and_defaults(tmp_path: Path) -> None:
    config = load_run(write(tmp_path, RUN_YAML))
    assert config.seed == 7
    assert config.load.duration_s == 10.0
    assert config.behaviours.hang_up is not None
    assert list(config.behaviours.hang_up.how) == [HangUpHow.RST, HangUpHow.FIN, HangUpHow.CLOSE_FRAME]
    assert config.watch.health_interval_s == 1.0
    assert config.pipeline == Path("pipeline.yaml")


@pytest.mark.parametrize(
    ("old", "new", "key", "message"),
    [
        pytest.param(
            "  callers: 1", "  caller: 1", "load.caller", "unknown key; did you mean `callers`?", id="misspelled key"
        ),
        pytest.param("seed: 7", "sede: 7", "sede", "unknown key; did you mean `seed`?", id="misspelled key at the top"),
        pytest.param(
            "{rst: 1, fin: 1, close_frame: 1}",
            "{rst: 1, fim: 1}",
            "behaviours.hang_up.how.fim",
            "'fim': Input should be 'rst', 'fin' or 'close_frame'; did you mean `fin`?",
            id="misspelled option",
        ),
        pytest.param(
            "  hang_up:\n",
            "  hangup:\n",
            "behaviours.hangup",
            "unknown key; did you mean `hang_up`?",
            id="unknown behaviour",
        ),
        pytest.param(
            "  callers: 1",
            '  callers: "3"',
            "load.callers",
            "'3': Input should be a valid integer; correct the value",
            id="text for a number",
        ),
        pytest.param(
            "  callers: 1",
            "  callers: true",
            "load.callers",
            "True: Input should be a valid integer; correct the value",
            id="truth for a number",
        ),
        pytest.param(
            "  callers: 1",
            "  callers: 0",
            "load.callers",
            "0: Input should be greater than or equal to 1; correct the value",
            id="number out of range",
        ),
        pytest.param(
            "  think_s: {low: 0.1, high: 0.2}",
            "  think_s: {low: 2, high: 1}",
            "load.think_s",
            "high (1.0) is below low (2.0); correct the value",
            id="low above high",
        ),
        pytest.param(
            "{speech: 1, cancel: 1}",
            "{}",
            "behaviours.barge_in.by",
            "no option has a weight above 0; correct the value",
            id="no options",
        ),
        pytest.param(
            "{speech: 1, cancel: 1}",
            "{speech: 0, cancel: 0}",
            "behaviours.barge_in.by",
            "no option has a weight above 0; correct the value",
            id="weights that sum to 0",
        ),
        pytest.param(
            "{speech: 1, cancel: 1}",
            "{speech: -1, cancel: 1}",
            "behaviours.barge_in.by.speech",
            "-1: Input should be greater than or equal to 0; correct the value",
            id="negative weight",
        ),
        pytest.param(
            "  reply_s: 30",
            "  reply_s: .inf",
            "deadlines.reply_s",
            "inf: Input should be a finite number; correct the value",
            id="infinite number",
        ),
        pytest.param(
            "  callers: 1",
            "  callers: 1\n  arrivals: {kind: posson, rate: 1}",
            "load.arrivals",
            "Input tag 'posson' found using 'kind' does not match any of the expected tags: 'closed', 'constant', "
            "'poisson', 'gamma', 'replay'; did you mean `poisson`?",
            id="misspelled arrivals",
        ),
        pytest.param(
            "  callers: 1",
            "  callers: 1\n  arrivals: {kind: gamma, rate: 1, burstines: 2}",
            "load.arrivals.burstines",
            "unknown key; did you mean `burstiness`?",
            id="misspelled key of arrivals",
        ),
        pytest.param(
            "  callers: 1",
            "  callers: 1\n  ramp: {up: 3}",
            "load.ramp.up",
            "unknown key; did you mean `up_s`?",
            id="misspelled key of a ramp",
        ),
        pytest.param(
            "  pause_s: {low: 0.1, high: 0.2}",
            "  arrivals: {kind: poisson, rate: 0}",
            "load.arrivals.rate",
            "0: Input should be greater than 0; correct the value",
            id="no calls a second",
        ),
        pytest.param(
            "  callers: 1", "  callers: 1\n  on: 2", "load.on", "this key is no text to YAML; put it in quotes", id="on"
        ),
    ],
)
def test_a_wrong_setting_is_named_with_its_line_and_the_remedy(
    tmp_path: Path, old: str, new: str, key: str, message: str
) -> None:
    assert RUN_YAML.count(old) == 1
    text = RUN_YAML.replace(old, new)
    line = line_of(text, new.strip().splitlines()[-1])
    assert run_error(tmp_path, text) == f"run.yaml:{line}: {key}: {message}"


def test_a_missing_setting_is_named_with_the_line_of_its_group(tmp_path: Path) -> None:
    text = RUN_YAML.replace("  callers: 1\n", "")
    line = line_of(text, "load:")
    assert run_error(tmp_path, text) == f"run.yaml:{line}: load.callers: missing; add `callers:`"


def test_a_missing_setting_of_the_top_is_named_without_a_line(tmp_path: Path) -> None:
    assert run_error(tmp_path, RUN_YAML.replace("seed: 7\n", "")) == "run.yaml: seed: missing; add `seed:`"


def test_a_setting_that_stands_twice_is_named_with_its_second_line(tmp_path: Path) -> None:
    text = RUN_YAML.replace("  callers: 1\n", "  callers: 1\n  callers: 2\n")
    line = line_of(text, "callers: 2")
    assert run_error(tmp_path, text) == f"run.yaml:{line}: load.callers: stands twice; keep one of them"


def test_behaviours_of_which_none_can_occur_are_a_mistake(tmp_path: Path) -> None:
    text = RUN_YAML.replace("weight: 1\n", "weight: 0\n")
    line = line_of(text, "behaviours:")
    message = "no behaviour has a weight above 0; correct the value"
    assert run_error(tmp_path, text) == f"run.yaml:{line}: behaviours: {message}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param(
            "  pause_s: {low: 0.1, high: 0.2}\n", "", "`pause_s` is missing: closed arrivals need it", id="none"
        ),
        pytest.param(
            "  callers: 1\n",
            "  callers: 1\n  arrivals: {kind: poisson, rate: 1}\n",
            "`pause_s` has no meaning with poisson arrivals: leave it out",
            id="pause in an open loop",
        ),
        pytest.param(
            "  callers: 1\n",
            "  callers: 1\n  ramp: {up_s: 6, down_s: 5}\n",
            "the ramp of 11 s is longer than `duration_s`",
            id="long ramp",
        ),
        pytest.param(
            "  pause_s: {low: 0.1, high: 0.2}\n",
            "  arrivals: {kind: replay, plan: x.jsonl}\n  ramp: {up_s: 1}\n",
            "a replay has no ramp: its plan says when calls begin",
            id="ramp of a replay",
        ),
        pytest.param(
            "  duration_s: 10\n  pause_s: {low: 0.1, high: 0.2}\n",
            "  duration_s: 86400\n  arrivals: {kind: constant, rate: 100}\n",
            "more than 1000000 calls: lower `rate` or `duration_s`",
            id="endless plan",
        ),
    ],
)
def test_settings_of_a_load_that_do_not_go_together_are_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert RUN_YAML.count(old) == 1
    told = run_error(tmp_path, RUN_YAML.replace(old, new))
    assert told == f"run.yaml:{line_of(RUN_YAML, 'load:')}: load: {message}; correct the value"


def test_lengths_and_behaviours_without_turns_go_together(tmp_path: Path) -> None:
    without = RUN_YAML.replace("    turns: {low: 1, high: 1}\n", "")
    told = run_error(tmp_path, without)
    assert "behaviours: polite has no `turns`, and no entry of `lengths` has a weight above 0" in told
    unused = "behaviours:\n  lengths: {short: {weight: 1, turns: {low: 1, high: 1}}}\n"
    told = run_error(tmp_path, RUN_YAML.replace("behaviours:\n", unused))
    assert "behaviours: `lengths` is for behaviours without `turns`, and there is none" in told


def test_of_several_mistakes_the_first_in_the_file_is_named(tmp_path: Path) -> None:
    text = edited(RUN_YAML, callers="many", reply_s="never")
    assert run_error(tmp_path, text).startswith(f"run.yaml:{line_of(text, 'callers:')}: load.callers:")


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        pytest.param("load:\n  callers: [1\nseed: 7\n", 3, "expected ',' or ']', but got ':'", id="open bracket"),
        pytest.param("load:\n\tcallers: 1\n", 2, "found character '\\t' that cannot start any token", id="tab"),
        pytest.param("seed: 7\n---\nseed: 8\n", 2, "but found another document", id="two documents"),
        pytest.param("seed: !!python/none x\n", 1, "could not determine a constructor for the tag", id="foreign tag"),
    ],
)
def test_what_is_not_yaml_is_named_with_its_line(tmp_path: Path, text: str, line: int, problem: str) -> None:
    message = run_error(tmp_path, text)
    assert message.startswith(f"run.yaml:{line}: not YAML: {problem}")
    assert message.endswith("; correct the syntax")
    assert "\n" not in message


@pytest.mark.parametrize("text", ["", "# only a comment\n", "just a sentence\n", "- a\n- list\n"])
def test_a_file_without_settings_says_so(tmp_path: Path, text: str) -> None:
    assert run_error(tmp_path, text) == "run.yaml:1: the file holds no settings; write `key: value` lines"


def test_a_character_that_yaml_forbids_is_one_line_too(tmp_path: Path) -> None:
    message = run_error(tmp_path, "seed: \x07\n")
    assert message.startswith("run.yaml: not YAML:")
    assert "\n" not in message


def test_bytes_that_are_no_text_are_one_line_too(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_bytes(b"seed: \xff\n")
    with pytest.raises(ConfigError, match=r"run\.yaml: cannot be read \(.*\); give a readable YAML file"):
        load_run(path)


def test_a_folder_is_no_config_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_run(tmp_path)


def test_a_run_file_that_is_not_there_is_named_with_its_nearest_neighbour(tmp_path: Path) -> None:
    write(tmp_path, RUN_YAML, "smoke.yaml")
    path = tmp_path / "smok.yaml"
    with pytest.raises(ConfigError) as caught:
        load_run(path)
    assert str(caught.value) == f"{path}: no such file; did you mean `smoke.yaml`?"


def test_a_pipeline_file_that_is_not_there_is_named_with_the_line_that_asks_for_it(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "pipelines").mkdir()
    write(tmp_path / "pipelines", PIPELINE_YAML, "tiny.yaml")
    path = write(tmp_path / "runs", edited(RUN_YAML, pipeline="../pipelines/tinny.yaml"))
    with pytest.raises(ConfigError) as caught:
        load_both(path)
    assert str(caught.value) == (
        f"{path}:2: pipeline: there is no file ../pipelines/tinny.yaml beside this one; "
        "did you mean `../pipelines/tiny.yaml`?"
    )


def test_a_run_and_its_pipeline_are_read_together(tmp_path: Path) -> None:
    run_file = write(tmp_path, RUN_YAML)
    pipeline_file = write(tmp_path, PIPELINE_YAML, "pipeline.yaml")
    run, pipeline, path = load_both(run_file)
    assert run.seed == 7
    assert isinstance(pipeline, PipelineConfig)
    assert path == pipeline_file.resolve()


@pytest.mark.parametrize(
    ("old", "new", "key", "message"),
    [
        pytest.param(
            "  talker:", "  talkr:", "stages.talkr", "unknown key; did you mean `talker`?", id="unknown stage"
        ),
        pytest.param(
            "    max_num_seqs: 4",
            "    max_num_seq: 4",
            "stages.thinker.max_num_seq",
            "unknown key; did you mean `max_num_seqs`?",
            id="unknown engine setting",
        ),
        pytest.param(
            "platform: cpu",
            "platform: cuda12",
            "platform",
            "'cuda12': Input should be 'cpu' or 'cuda'; did you mean `cuda`?",
            id="unknown platform",
        ),
        pytest.param(
            "{kind: tiny}",
            "{kind: tinny}",
            "model",
            "Input tag 'tinny' found using 'kind' does not match any of the expected tags: 'tiny', 'released'; "
            "did you mean `tiny`?",
            id="unknown kind of model",
        ),
        pytest.param(
            "{kind: tiny}",
            "{kind: tiny, sede: 1}",
            "model.sede",
            "unknown key; did you mean `seed`?",
            id="misspelled key of a model",
        ),
    ],
)
def test_a_wrong_setting_of_a_pipeline_is_named(tmp_path: Path, old: str, new: str, key: str, message: str) -> None:
    assert PIPELINE_YAML.count(old) == 1
    text = PIPELINE_YAML.replace(old, new)
    assert pipeline_error(tmp_path, text) == f"pipeline.yaml:{line_of(text, new)}: {key}: {message}"


def test_an_option_of_the_wrong_type_is_named_as_it_stands_in_the_file(tmp_path: Path) -> None:
    text = edited(PIPELINE_YAML, connector="{codec_chunk_frames: [25]}")
    message = pipeline_error(tmp_path, text)
    assert message.startswith(f"pipeline.yaml:{line_of(text, 'connector:')}: connector.codec_chunk_frames: ")


def test_a_pipeline_with_a_url_is_a_server_of_somebody_else(tmp_path: Path) -> None:
    assert isinstance(load_pipeline(write(tmp_path, EXTERNAL_YAML)), ExternalServer)


def test_a_url_that_is_no_websocket_is_a_mistake(tmp_path: Path) -> None:
    message = pipeline_error(tmp_path, edited(EXTERNAL_YAML, url="http://127.0.0.1:8099"))
    assert message.startswith("pipeline.yaml:3: url: 'http://127.0.0.1:8099':")


def test_a_pipeline_with_golden_is_the_golden_server(tmp_path: Path) -> None:
    pipeline = load_pipeline(write(tmp_path, GOLDEN_YAML))
    assert isinstance(pipeline, GoldenPipeline)
    assert (pipeline.golden.seed, pipeline.duplex_session.max_sessions) == (7, 2)


def test_a_golden_chunk_is_made_of_whole_tokens(tmp_path: Path) -> None:
    text = edited(GOLDEN_YAML, golden="{chunk_ms: 1010}")
    message = pipeline_error(tmp_path, text)
    assert message.startswith(f"pipeline.yaml:{line_of(text, 'golden: ')}: golden.chunk_ms: 1010: a token lasts 40 ms")


def test_an_anchor_with_an_override_is_no_key_that_stands_twice(tmp_path: Path) -> None:
    text = PIPELINE_YAML.replace("  talker: *stage\n", "  talker:\n    <<: *stage\n    max_num_seqs: 8\n")
    pipeline = load_pipeline(write(tmp_path, text))
    assert isinstance(pipeline, PipelineConfig)
    assert (pipeline.stages.thinker.max_num_seqs, pipeline.stages.talker.max_num_seqs) == (4, 8)


def test_a_config_cannot_be_edited_later(tmp_path: Path) -> None:
    config = load_run(write(tmp_path, RUN_YAML))
    with pytest.raises(ValidationError, match="frozen"):
        config.seed = 8
    with pytest.raises(ValidationError, match="frozen"):
        config.load.callers = 8
