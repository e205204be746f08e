"""A traceback is reduced to its exception, whoever writes in between."""

from rig.pipeline.tracebacks import Tracebacks, without_head


def ends(lines: list[tuple[int, str]]) -> list[str]:
    tracebacks = Tracebacks()
    return [found for source, text in lines if (found := tracebacks.feed(source, text)) is not None]


def test_a_logged_traceback_ends_with_its_exception() -> None:
    head = "ERROR 11-30 04:29:43 [core.py:98] "
    lines = [
        "Traceback (most recent call last):",
        '  File "core.py", line 98, in step',
        "    self.requests[req_id]",
        "    ~~~~~~~~~~~~~^^^^^^^^",
        "KeyError: 'req-1'",
    ]
    assert ends([(1, head + line) for line in lines]) == ["KeyError: 'req-1'"]


def test_each_link_of_a_chain_is_an_exception() -> None:
    lines = [
        "Traceback (most recent call last):",
        "KeyError: 1",
        "",
        "The above exception was the direct cause of the following exception:",
        "",
        "Traceback (most recent call last):",
        "vllm.v1.engine.exceptions.EngineDeadError",
    ]
    expected = ["KeyError: 1", "vllm.v1.engine.exceptions.EngineDeadError"]
    assert ends([(1, line) for line in lines]) == expected


def test_other_processes_in_between_do_not_matter() -> None:
    lines = [
        (1, "Traceback (most recent call last):"),
        (2, "INFO 11-30 04:29:43 [stats.py:1] all well"),
        (2, "Word: with a colon"),
        (1, "ValueError: no"),
    ]
    assert ends(lines) == ["ValueError: no"]


def test_a_traceback_that_broke_off_is_forgotten() -> None:
    lines = [
        "Traceback (most recent call last):",
        '  File "x.py"',
        "INFO:     Shutting down",
        "Done: all of it",
    ]
    assert ends([(1, line) for line in lines]) == []


def test_ordinary_lines_are_no_exceptions() -> None:
    assert ends([(1, "ValueError: only mentioned")]) == []


def test_the_head_of_a_line_goes_and_its_indentation_stays() -> None:
    assert without_head("ERROR 11-30 04:29:43 [core.py:98]   File") == "  File"
    assert without_head("INFO:     Shutting down") == "Shutting down"
    assert without_head("INFORMATION") == "INFORMATION"
