"""The decision in words has every limit, and every fact that kept the baseline from counting."""

import json

from rig.config.gate import Gate
from rig.report.gate import as_json, as_markdown, as_text, decide
from tests.report.gate.digests import baseline, digest

GATE = Gate.model_validate(
    {"measures": {"first_audio": {"p50": {"max_ratio": 1.5}}}, "under_test": ["versions.vllm-omni"]}
)
WORSE = decide(digest(*[900] * 10, facts={"versions.vllm-omni": "0.31.0"}), baseline(*[100] * 10), GATE)
ELSEWHERE = decide(digest(*[100] * 10, facts={"hardware.cores": "4"}), baseline(*[100] * 10), GATE)


def test_a_terminal_gets_a_line_a_limit_and_the_answer_last() -> None:
    lines = as_text(WORSE).splitlines()
    assert "held        deaths: 0, at most 0" in lines
    assert any(line.startswith("broken      first_audio p50: 900 ms") for line in lines)
    assert "under test  versions.vllm-omni: baseline 0.30.0, run 0.31.0" in lines
    assert lines[-1] == WORSE.sentence
    assert "differs     hardware.cores: baseline 2, run 4" in as_text(ELSEWHERE).splitlines()


def test_a_step_summary_gets_tables() -> None:
    assert "| first_audio p50 | broken | 900 ms" in as_markdown(WORSE)
    assert "| versions.vllm-omni | 0.30.0 | 0.31.0 |" in as_markdown(WORSE)
    assert as_markdown(ELSEWHERE).startswith("# Gate: UNBASELINED")
    assert "| hardware.cores | 2 | 4 |" in as_markdown(ELSEWHERE)


def test_a_program_gets_the_answer_its_exit_code_and_the_lines() -> None:
    told = json.loads(as_json(WORSE))
    assert (told["answer"], told["exit_code"], told["verdict"]) == ("fail", 1, "pass")
    assert [line["state"] for line in told["lines"]].count("broken") == 1
    assert json.loads(as_json(ELSEWHERE))["differing"] == [{"key": "hardware.cores", "left": "2", "right": "4"}]
