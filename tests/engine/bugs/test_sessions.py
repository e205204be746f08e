"""Sessions whose caller goes away while they are opened, and sound that comes after the close."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

pytest.importorskip("vllm_omni")

from rig.engine.bugs import late_append_revives_session
from rig.engine.patches.registry import patched
from tests.engine.bugs.sessions import MAX_SESSIONS, Desk

pytestmark = pytest.mark.timeout(300)  # the first one imports vLLM

OPEN_CANCELLED, LATE_APPEND = ["open_cancelled_leaks_slot"], ["late_append_revives_session"]


def played(play: Callable[[Desk], Awaitable[object]], bugs: list[str]) -> object:
    async def at_a_desk() -> object:
        desk = Desk()
        try:
            return await play(desk)
        finally:
            await desk.manager.shutdown()

    with patched([], bugs):
        return asyncio.run(at_a_desk())


async def close_while_opening(desk: Desk) -> object:
    """As many callers as there are slots go away while their session is opened; then one polite caller."""
    for number in range(MAX_SESSIONS):
        desk.plugin.go_on.clear()
        opening = await desk.open(f"gone-{number}")
        await desk.plugin.asked.wait()
        await desk.close(f"gone-{number}")
        desk.plugin.go_on.set()
        await opening
        desk.results.get_nowait()
    return await desk.opened("polite")


async def cancel_while_answering(desk: Desk) -> object:
    """The same, cancelled where the session is made and its caller is being told."""
    for number in range(MAX_SESSIONS):
        waiting = asyncio.Event()
        answer = desk.manager._put_result

        async def never(*_: object, begun: asyncio.Event = waiting, **__: object) -> None:
            begun.set()
            await asyncio.Event().wait()

        desk.manager._put_result = never
        opening = await desk.open(f"gone-{number}")
        await waiting.wait()
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
        desk.manager._put_result = answer
    return await desk.opened("polite")


@pytest.mark.parametrize("play", [close_while_opening, cancel_while_answering])
def test_after_max_sessions_cut_opens_everybody_is_refused(play: Callable[[Desk], Awaitable[object]]) -> None:
    told = played(play, OPEN_CANCELLED)
    assert getattr(told, "ok") is False  # noqa: B009 - the engine's type
    assert "duplex_session_capacity_exhausted" in str(getattr(told, "error_message"))  # noqa: B009


@pytest.mark.parametrize("play", [close_while_opening, cancel_while_answering])
def test_the_released_engine_takes_the_next_caller(play: Callable[[Desk], Awaitable[object]]) -> None:
    assert getattr(played(play, []), "ok") is True  # noqa: B009


async def sound_after_the_close(desk: Desk) -> object:
    """The sessions that are there once sound has come for one that was closed."""
    from vllm_omni.engine.duplex.commands import AppendAudio
    from vllm_omni.engine.duplex.messages import DuplexSessionCommandMessage

    await desk.opened("gone")
    await desk.close("gone")
    assert desk.manager.active_count() == 0
    desk.manager.dispatch(DuplexSessionCommandMessage(session_id="gone", command=AppendAudio(audio=b"")))
    await asyncio.gather(*desk.manager._dispatched_control_tasks)
    return list(desk.manager.sessions())


def test_late_sound_opens_the_session_again() -> None:
    assert played(sound_after_the_close, LATE_APPEND) == ["gone"]


def test_only_of_the_last_sessions_it_is_known_how_they_were_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late_append_revives_session, "KEPT_CLOSED", 2)

    async def known(desk: Desk) -> object:
        await desk.opened("stays")
        for name in ("first", "second", "third"):
            await desk.opened(name)
            await desk.close(name)
        return list(vars(desk.manager)[late_append_revives_session._OPENED])

    assert played(known, LATE_APPEND) == ["stays", "second", "third"]


def test_the_released_engine_refuses_late_sound() -> None:
    assert played(sound_after_the_close, []) == []
