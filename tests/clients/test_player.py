"""The simulated loudspeaker."""

from clients.player import Player
from rig.clock import NS_PER_MS, NS_PER_S

HALF_SECOND = 12_000


def test_plays_a_chunk_in_its_own_time() -> None:
    player = Player()
    player.feed(HALF_SECOND, NS_PER_S)
    assert player.played_ms(NS_PER_S) == 0
    assert player.played_ms(NS_PER_S + 200 * NS_PER_MS) == 200
    assert player.played_ms(NS_PER_S * 9) == 500
    assert player.silent_from_ns == NS_PER_S + 500 * NS_PER_MS


def test_plays_early_chunks_one_after_another() -> None:
    player = Player()
    player.feed(HALF_SECOND, 0)
    player.feed(HALF_SECOND, 100 * NS_PER_MS)
    assert player.silent_from_ns == NS_PER_S


def test_waits_for_a_late_chunk() -> None:
    player = Player()
    player.feed(HALF_SECOND, 0)
    player.feed(HALF_SECOND, 2 * NS_PER_S)
    assert player.silent_from_ns == 2 * NS_PER_S + 500 * NS_PER_MS
    assert player.played_ms(2 * NS_PER_S) == 500


def test_throws_away_what_it_has_not_played_when_the_reply_is_cut() -> None:
    player = Player()
    player.feed(HALF_SECOND, 0)
    player.stop(200 * NS_PER_MS)
    assert player.played_ms(NS_PER_S) == 200
    assert player.silent_from_ns == 200 * NS_PER_MS
