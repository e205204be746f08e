"""The golden server says what the real one was recorded to say, and the comparison sees it when it does not."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rig.clock import NS_PER_MS
from rig.config.pipeline import Duplex
from rig.golden import wire
from rig.golden.session import Session
from tests.golden.drift import recorded
from tests.golden.drift.beside import golden_beside
from tests.golden.drift.player import Player, callers
from tests.golden.drift.shape import differences, in_vain, numbering, over_early, shapes
from tests.golden.phone import Serving

FRAME_NS = 20 * NS_PER_MS
"""The microphone at five times its speed: this server counts sound, not time."""

REAL = recorded.load()


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """One server for all callers."""
    limits = Duplex(max_sessions=4, disconnect_grace_s=5.0, reaper_interval_s=1.0)
    with golden_beside(tmp_path_factory.mktemp("golden"), limits) as server:
        yield server


def said(golden: Serving, caller: str) -> list[tuple[str, Any]]:
    return shapes(Player(golden.url, "golden", FRAME_NS).play(callers()[caller]))


def test_every_caller_was_recorded_on_the_real_server() -> None:
    assert set(REAL) == set(callers())


@pytest.mark.parametrize("caller", callers())
def test_a_recorded_caller_hears_what_the_real_server_said(caller: str, golden: Serving) -> None:
    assert differences(said(golden, caller), REAL[caller]) == []


# ---- the comparison: each of these is a way to drift


def patched(monkeypatch: pytest.MonkeyPatch, name: str, change: Callable[[Any], Any]) -> None:
    plain = getattr(wire, name)
    monkeypatch.setattr(wire, name, lambda *arguments: change(plain(*arguments)))


def without(key: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda fields: {name: value for name, value in fields.items() if name != key}


def test_a_missing_field_is_seen(golden: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    patched(monkeypatch, "audio", without("format"))
    assert differences(said(golden, "cancel"), REAL["cancel"]) == [
        "A response.output_audio.delta: .format is only real (pcm16)"
    ]


def test_a_field_too_many_is_seen(golden: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    patched(monkeypatch, "created", lambda fields: {**fields, "session_id": "s"})
    found = differences(said(golden, "empty_commit"), REAL["empty_commit"])
    assert found[0] == "A session.created: .session_id is only golden"


def test_a_missing_event_is_seen_with_its_place(golden: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    patched(
        monkeypatch, "ending", lambda events: [one for one in events if one["type"] != "response.content_part.done"]
    )
    assert differences(said(golden, "cancel"), REAL["cancel"]) == [
        "after A response.output_audio_transcript.done: golden says [], real says ['A response.content_part.done']"
    ]


def test_another_order_is_seen(golden: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    patched(monkeypatch, "reply_created", lambda events: [*events[1:], events[0]])
    assert differences(said(golden, "cancel"), REAL["cancel"]) != []


@pytest.mark.parametrize("word", ["incomplete", "failed"])
def test_another_state_is_seen(word: str, golden: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = wire.ending
    monkeypatch.setattr(wire, "ending", lambda reply, _, reason, text: plain(reply, word, reason, text))
    found = differences(said(golden, "cancel"), REAL["cancel"])
    assert any(f"A response.done {word}" in text and "A response.done cancelled" in text for text in found)


def test_another_error_code_is_seen(golden: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = wire.error
    monkeypatch.setattr(wire, "error", lambda _, *more: plain("bad_event", *more))
    (found,) = differences(said(golden, "old_token"), REAL["old_token"])
    assert found.endswith("golden says ['C error bad_event'], real says ['C error invalid_resume_token']")


def test_an_event_too_many_is_seen(golden: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Session._turn

    def with_items(self: Session, now_ns: int, *, respond: bool) -> None:
        for fields in wire.committed("item_x", None):
            self._say(fields)
        plain(self, now_ns, respond=respond)

    monkeypatch.setattr(Session, "_turn", with_items)
    (found,) = differences(said(golden, "cancel"), REAL["cancel"])
    assert "'A input_audio_buffer.committed'" in found
    assert found.endswith("real says []")


def test_another_relation_of_ids_is_seen(golden: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    patched(monkeypatch, "reply_created", lambda events: [{**one, "response_id": "another"} for one in events])
    found = differences(said(golden, "cancel"), REAL["cancel"])
    assert any(".response_id: golden 'response" in text for text in found)


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ([1, 2, 3], "one by one"),
        ([None, 1, None, 2], "one by one"),
        ([4, 5], "one by one"),
        ([1, 3], "x has number 3 after 1"),
        ([1, 2, 2], "x has number 2 after 2"),
        ([None], "none"),
    ],
)
def test_numbers_that_do_not_follow_each_other_are_told(numbers: list[int | None], told: str) -> None:
    events = [{"type": "x"} if seq is None else {"type": "x", "server_event_seq": seq} for seq in numbers]
    assert numbering(events) == told


@pytest.mark.parametrize(("field", "other"), [("item_id", "another"), ("content_index", 1), ("format", "opus")])
def test_a_later_chunk_that_is_another_is_seen(field: str, other: object, golden: Serving) -> None:
    heard = Player(golden.url, "golden", FRAME_NS).play(callers()["polite_turns"])
    chunks = [event for event in heard["A"] if event["type"] == wire.AUDIO_DELTA]
    assert chunks[0]["response_id"] == chunks[1]["response_id"]
    chunks[1][field] = other
    assert any(
        f"A {wire.AUDIO_DELTA}: .{field}: golden" in text for text in differences(shapes(heard), REAL["polite_turns"])
    )


def done(line: str, status: str) -> tuple[str, Any]:
    return f"{line} response.done", {"response": {"status": status}}


@pytest.mark.parametrize(
    ("real", "early"),
    [
        ([done("A", "cancelled"), done("B", "completed")], False),
        ([done("A", "completed"), done("B", "completed")], True),
        ([done("A", "completed"), done("B", "cancelled")], True),
        ([done("A", "cancelled"), done("B", "cancelled")], False),
        ([done("A", "failed")], False),
    ],
)
def test_only_a_reply_that_golden_does_not_end_there_may_have_been_over_too_early(
    real: list[tuple[str, Any]], early: bool
) -> None:
    assert over_early([done("A", "cancelled"), done("B", "completed")], real) is early


@pytest.mark.parametrize("resume", ["B resume A", "B resume A old"])
def test_a_resume_without_a_token_is_told_as_waited_for_in_vain(resume: str, golden: Serving) -> None:
    heard = shapes(Player(golden.url, "golden", FRAME_NS).play(("A connect", "B connect", resume)))
    assert in_vain(heard) == ["B waited in vain for a token"]


def test_the_number_of_chunks_is_not_compared_and_sound_after_the_end_is(golden: Serving) -> None:
    heard = Player(golden.url, "golden", FRAME_NS).play(callers()["cancel"])
    kinds = [event["type"] for event in heard["A"]]
    chunk, end = kinds.index(wire.AUDIO_DELTA), kinds.index("response.done")
    more = {"A": [*heard["A"][:chunk], heard["A"][chunk], *heard["A"][chunk:]]}
    late = {"A": [*heard["A"][: end + 1], heard["A"][chunk], *heard["A"][end + 1 :]]}

    def found(changed: dict[str, list[dict[str, Any]]]) -> list[str]:
        # The numbers are those of the events that were moved.
        return [text for text in differences(shapes(changed), REAL["cancel"]) if not text.startswith("A numbers")]

    assert found(more) == []
    assert found(late) == [
        "after A response.done cancelled: golden says ['A response.output_audio.delta'], real says []"
    ]
