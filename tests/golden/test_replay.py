"""Events are kept for a resume within their time and bytes, less what was acknowledged."""

import pytest

from rig.golden.replay import Replay, ReplayGapError, ReplayOverflowError
from rig.golden.wire import Outgoing

EVENT = Outgoing({"type": "session.updated"})


def kept(count: int) -> Replay:
    """`count` events of ten bytes, one a nanosecond from 1 on; they live for 100."""
    replay = Replay(ttl_ns=100, max_bytes=50)
    assert [replay.keep(b"0123456789", now_ns, EVENT) for now_ns in range(1, count + 1)] == list(range(1, count + 1))
    return replay


def seqs(replay: Replay, after: int, now_ns: int = 10) -> list[int]:
    return [event.seq for event in replay.after(after, now_ns)]


def test_what_followed_a_number_is_replayed() -> None:
    assert seqs(kept(4), 2) == [3, 4]
    assert seqs(kept(4), 4) == []


def test_a_number_from_the_future_is_a_conflict() -> None:
    with pytest.raises(ValueError, match="newer than journal head 4"):
        seqs(kept(4), 5)


def test_what_was_acknowledged_is_gone() -> None:
    replay = kept(4)
    replay.acknowledge(2)
    assert seqs(replay, 2) == [3, 4]
    with pytest.raises(ReplayGapError):
        seqs(replay, 1)


@pytest.mark.parametrize("seq", [-1, 5])
def test_only_what_was_sent_can_be_acknowledged(seq: int) -> None:
    with pytest.raises(ValueError, match="newer than journal head 4"):
        kept(4).acknowledge(seq)


def test_what_is_too_old_is_gone() -> None:
    assert seqs(kept(4), 2, now_ns=102) == [3, 4]
    with pytest.raises(ReplayGapError):
        seqs(kept(4), 1, now_ns=102)


def test_too_many_bytes_end_all_replay() -> None:
    replay = kept(5)
    with pytest.raises(ReplayOverflowError):
        replay.keep(b"x", 6, EVENT)
    replay.acknowledge(5)
    with pytest.raises(ReplayOverflowError):
        replay.keep(b"x", 7, EVENT)
    with pytest.raises(ReplayGapError):
        seqs(replay, 5)


def test_acknowledged_bytes_are_free_again() -> None:
    replay = kept(5)
    replay.acknowledge(1)
    assert replay.keep(b"0123456789", 6, EVENT) == 6
