"""The server's log: every line reaches its process, however the writes were torn or mixed."""

import threading
from pathlib import Path

from rig.pipeline.logs import LINE_LIMIT, RING_LINES, LogLine, ServerLog, Source, Splitter

API, WORKER = Source("APIServer", 1), Source("Worker", 2)


def lines_of(data: bytes) -> list[tuple[Source | None, str]]:
    splitter = Splitter()
    found = [*splitter.feed(data, 0), *splitter.finish(0)]
    return [(line.source, line.text) for line in found]


def test_a_line_belongs_to_the_process_in_its_prefix() -> None:
    data = b"(APIServer pid=1) one\n\x1b[0;36m(Worker pid=2)\x1b[0;0m two (x pid=3)\nthree\n"
    assert lines_of(data) == [(API, "one"), (WORKER, "two (x pid=3)"), (None, "three")]


def test_lines_arrive_whole_whatever_the_size_of_the_pieces() -> None:
    data = "(APIServer pid=1) gr\u00fc\u00dfe\n(Worker pid=2) zwei\n".encode()
    splitter = Splitter()
    found = [line for byte in data for line in splitter.feed(bytes([byte]), 0)]
    assert [(line.source, line.text) for line in found] == [(API, "gr\u00fc\u00dfe"), (WORKER, "zwei")]


def test_a_text_that_lost_its_prefix_to_another_line_goes_back_to_its_process() -> None:
    data = b"(Worker pid=2) (APIServer pid=1) from the server\nfrom the worker\nfrom nobody\n"
    assert lines_of(data) == [(API, "from the server"), (WORKER, "from the worker"), (None, "from nobody")]


def test_a_last_line_without_an_end_is_kept() -> None:
    assert lines_of(b"(Worker pid=2) last wor") == [(WORKER, "last wor")]


def test_a_line_without_end_does_not_grow_without_end() -> None:
    splitter = Splitter()
    (line,) = splitter.feed(b"x" * (LINE_LIMIT + 1), 0)
    assert len(line.text) == LINE_LIMIT
    assert splitter.finish(0) == []


def test_a_storm_of_lines_is_all_on_disk_and_only_its_end_in_memory(tmp_path: Path) -> None:
    count = 20_000
    heard: list[LogLine] = []
    log = ServerLog(tmp_path, heard.append)
    with log.path.open("ab") as file:
        for number in range(count):
            file.write(f"(Worker pid=2) line {number}\n".encode())
    log.close()
    assert len(heard) == count
    assert len((tmp_path / "Worker-2.log").read_text().splitlines()) == count
    assert log.last_lines(2, count) == [f"line {number}" for number in range(count - RING_LINES, count)]


def test_a_line_is_handed_on_and_on_disk_as_it_happens(tmp_path: Path) -> None:
    heard = threading.Event()
    log = ServerLog(tmp_path, lambda line: heard.set())
    with log.path.open("ab", buffering=0) as file:
        file.write(b"(Worker pid=2) hello\n")
        assert heard.wait(30)
        assert (tmp_path / "Worker-2.log").read_text() == "hello\n"
    log.close()


def test_the_cause_is_the_exception_that_came_first(tmp_path: Path) -> None:
    log = ServerLog(tmp_path, lambda line: None)
    with log.path.open("ab") as file:
        for error in ("KeyError: 'req-1'", "RuntimeError: see above"):
            file.write(
                b"(Worker pid=2) ERROR 01-31 12:00:00 [core.py:9] Traceback (most recent call last):\n"
                b'(Worker pid=2) ERROR 01-31 12:00:00 [core.py:9]   File "core.py", line 9, in step\n'
                + f"(Worker pid=2) ERROR 01-31 12:00:00 [core.py:9] {error}\n".encode()
            )
    log.close()
    assert log.cause() == "KeyError: 'req-1'"


def test_without_an_exception_the_cause_is_the_last_line(tmp_path: Path) -> None:
    log = ServerLog(tmp_path, lambda line: None)
    with log.path.open("ab") as file:
        file.write(b"starting\nvllm serve: error: unrecognized arguments: --omni\n\n")
    log.close()
    assert log.cause() == "vllm serve: error: unrecognized arguments: --omni"


def test_a_server_that_serves_several_runs_gives_each_its_own_part_of_the_log(tmp_path: Path) -> None:
    whole, first, second = tmp_path / "whole.log", tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    heard: list[LogLine] = []
    log = ServerLog(first, lambda line: None, whole)
    with whole.open("ab") as file:
        file.write(b"(Worker pid=2) of the first run\n")
    log.close()
    with whole.open("ab") as file:
        file.write(b"(Worker pid=2) of the second run\n")
    log = ServerLog(second, heard.append, whole, log.end)
    log.catch_up()
    log.close()
    assert (first / "server.log").read_text() == "(Worker pid=2) of the first run\n"
    assert (second / "server.log").read_text() == "(Worker pid=2) of the second run\n"
    assert (second / "Worker-2.log").read_text() == "of the second run\n"
    assert [line.text for line in heard] == ["of the second run"]
    assert log.end == whole.stat().st_size


def test_an_empty_log_tells_no_cause(tmp_path: Path) -> None:
    log = ServerLog(tmp_path, lambda line: None)
    log.close()
    log.close()
    assert log.cause() is None


def test_lines_are_heard_also_when_the_disk_has_no_room_for_their_copies(tmp_path: Path) -> None:
    heard: list[str] = []
    (tmp_path / "Worker-2.log").symlink_to("/dev/full")
    log = ServerLog(tmp_path, lambda line: heard.append(line.text))
    with log.path.open("ab") as file:
        for number in range(3):
            file.write(f"(Worker pid=2) line {number}\n".encode())
            file.flush()
            log.catch_up()
    log.close()
    assert heard == log.last_lines(2, 3) == ["line 0", "line 1", "line 2"]
