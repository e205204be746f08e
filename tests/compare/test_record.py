"""ab.json: the order of runs, what is kept of them, and that only runs with the same calls are compared."""

from pathlib import Path

import msgspec
import pytest

from rig.compare import record as records
from rig.compare.decision import Word
from rig.compare.facts import Facts
from rig.compare.record import Made, Record, SideName, order
from rig.errors import RigError
from tests.compare.runs import dead, passed


def made(pair: int, side: SideName, facts: Facts, **changes: object) -> Made:
    run = Made(f"../run-{pair}{side}", pair, side, 7 + pair, 1, reused=False, wall_s=9.0, facts=facts)
    return msgspec.structs.replace(run, **changes)


def record(*runs: Made) -> Record:
    return Record("x-ab", "Which side?", "run.yaml", "pipeline.yaml", "golden", "none", "fix", (), 2, 7, runs)


def test_sides_alternate_so_that_two_runs_of_one_follow_each_other() -> None:
    planned = order(3, 40)
    assert "".join(one.side for one in planned) == "abbaab"
    assert [one.pair for one in planned] == [0, 0, 1, 1, 2, 2]
    assert [one.seed for one in planned] == [40, 40, 41, 41, 42, 42]


def test_a_record_is_read_as_it_was_written_and_written_whole(tmp_path: Path) -> None:
    wanted = record(made(0, "a", dead()), made(0, "b", passed())).compared()
    records.write(tmp_path, wanted)
    assert records.read(tmp_path) == wanted
    assert [path.name for path in tmp_path.iterdir()] == [records.RECORD_FILE]


def test_pairs_are_compared_when_both_runs_are_there() -> None:
    runs = [made(0, "a", dead()), made(0, "b", passed()), made(1, "b", passed())]
    found = record(*runs).compared().comparison
    assert found is not None
    assert (found.pairs, found.a.died.hits, found.b.died.hits) == (1, 1, 0)


def test_without_a_pair_nobody_can_tell() -> None:
    found = record(made(0, "a", dead())).compared().comparison
    assert found is not None
    assert found.decision.word is Word.CANNOT_TELL


def test_runs_with_other_calls_are_refused() -> None:
    other = msgspec.structs.replace(passed(), plan_sha256="other")
    with pytest.raises(RigError, match="pair 1: the two runs had different calls"):
        record(made(0, "a", passed()), made(0, "b", other)).compared()


def test_a_process_that_died_after_its_run_counts_for_its_side() -> None:
    runs = [made(0, "a", passed(), died_after=2, after="pids 8, 9 of the server died"), made(0, "b", passed())]
    found = record(*runs).compared().comparison
    assert found is not None
    assert (found.a.died.hits, found.a.causes) == (1, {"pids 8, 9 of the server died": 1})


@pytest.mark.parametrize(
    ("text", "problem"), [(None, "not the folder of a comparison"), ("{}", "cannot be read"), ("no JSON", "cannot be")]
)
def test_a_folder_that_is_none_is_one_line(tmp_path: Path, text: str | None, problem: str) -> None:
    if text is not None:
        (tmp_path / records.RECORD_FILE).write_text(text)
    with pytest.raises(RigError, match=problem):
        records.read(tmp_path)
