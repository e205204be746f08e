"""Calls that the caller's tests play, and how to play all of them at once."""

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from clients.caller import Call, Target
from clients.line import NotDuplexError
from rig.clock import monotonic_ns
from rig.config.run import Deadlines
from rig.events import journal
from rig.events.types import Act, ActTaken, CallEnded, CallEvent, Connect, ConnectStarted, Event, Outcome, TurnEnded
from rig.ids import call_id
from rig.scripts import (
    Behaviour,
    CallScript,
    HangUp,
    HangUpHow,
    HangUpWhen,
    Interrupt,
    InterruptBy,
    Return,
    TurnScript,
)
from tests.clients.server import Manners, ScriptedServer, serving

Kind = TypeVar("Kind", bound=Event)

SEED = 7
DEADLINES = Deadlines(connect_s=2, first_audio_s=2, reply_s=4, return_s=5)
SHORT = TurnScript("short", 100)


@dataclass
class Case:
    """A script and the server it meets."""

    turns: tuple[TurnScript, ...]
    manners: Manners = field(default_factory=Manners)
    late_sound_ms: int = 0


def interrupting(by: InterruptBy, utterance: str | None = None) -> TurnScript:
    return TurnScript("short", 100, interrupt=Interrupt(by, 300, utterance))


def hanging_up(how: HangUpHow, when: HangUpWhen, after_ms: int, then: Return) -> tuple[TurnScript, ...]:
    return TurnScript("short", 100, hang_up=HangUp(how, when, after_ms, then)), SHORT


def long_replies() -> Manners:
    return Manners(chunks=40)


CASES: dict[str, Case] = {
    "polite": Case((SHORT, SHORT)),
    "cancel": Case((interrupting(InterruptBy.CANCEL), SHORT), long_replies()),
    "speech": Case((interrupting(InterruptBy.SPEECH, "short"),), long_replies()),
    "reply_too_short_to_interrupt": Case((interrupting(InterruptBy.CANCEL),), Manners(chunks=1)),
    "ignores_cancel": Case((interrupting(InterruptBy.SPEECH, "short"),), Manners(cancels=False, chunks=200)),
    "before_created": Case(
        hanging_up(HangUpHow.RST, HangUpWhen.BEFORE_CREATED, 20, Return.RESUME), Manners(created_delay_s=0.3)
    ),
    "while_speaking_new": Case(hanging_up(HangUpHow.FIN, HangUpWhen.WHILE_SPEAKING, 500, Return.NEW_SESSION)),
    "while_speaking_resume": Case(hanging_up(HangUpHow.RST, HangUpWhen.WHILE_SPEAKING, 500, Return.RESUME)),
    "awaiting_resume": Case(hanging_up(HangUpHow.CLOSE_FRAME, HangUpWhen.AWAITING_REPLY, 100, Return.RESUME)),
    "during_reply_resume": Case(
        hanging_up(HangUpHow.RST, HangUpWhen.DURING_REPLY, 300, Return.RESUME), Manners(chunks=10)
    ),
    "during_reply_new": Case(
        hanging_up(HangUpHow.CLOSE_FRAME, HangUpWhen.DURING_REPLY, 300, Return.NEW_SESSION), Manners(chunks=10)
    ),
    "resume_refused": Case(
        hanging_up(HangUpHow.RST, HangUpWhen.DURING_REPLY, 300, Return.RESUME), Manners(chunks=10, resumes=False)
    ),
    "refused_twice": Case((SHORT,), Manners(refusals=["resource_exhausted"] * 2)),
    "always_refused": Case((SHORT,), Manners(refusals=["resource_exhausted"] * 50)),
    "wrongly_set_up": Case((SHORT,), Manners(refusals=["ref_audio_required"])),
    "silent": Case((SHORT, SHORT), Manners(answers=False)),
    "endless": Case((SHORT,), Manners(ends=False)),
    "no_session": Case((SHORT,), Manners(created_delay_s=4)),
    "broken_by_reset": Case((SHORT,), Manners(breaks_after_chunks=2, breaks_by="reset")),
    "broken_by_eof": Case((SHORT,), Manners(breaks_after_chunks=2, breaks_by="eof")),
    "broken_by_1011": Case((SHORT,), Manners(breaks_after_chunks=2, breaks_by="1011")),
    "listens_first": Case((SHORT,), Manners(listens_first=True)),
    "speaks_unasked": Case((SHORT, SHORT), Manners(speaks_unasked=True, chunks=2)),
    "unknown_event": Case((SHORT,), Manners(extra_event={"kind": "response.telepathy"})),
    "late_sound": Case((SHORT,), Manners(closed_delay_s=2), late_sound_ms=450),
    "late_sound_cut_short": Case((SHORT,), Manners(closed_delay_s=0.15), late_sound_ms=2_000),
    "not_duplex": Case((SHORT,), Manners(duplex=False)),
}


class Played:
    """What a call recorded, and its server."""

    def __init__(self, name: str, server: ScriptedServer, path: Path, error: Exception | None) -> None:
        self.name = name
        self.server = server
        self.error = error
        found, self.damage = journal.read(path)
        self.events = [event for event in found if isinstance(event, CallEvent)]

    def of(self, kind: type[Kind]) -> list[Kind]:
        """Events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def turns(self) -> list[tuple[int, Outcome]]:
        """Turns in the order in which they ended."""
        return [(event.turn, event.outcome) for event in self.of(TurnEnded)]

    def acts(self) -> list[Act]:
        """What the caller did on purpose."""
        return [event.act for event in self.of(ActTaken)]

    def connects(self) -> list[Connect]:
        """Why it connected, each time."""
        return [event.why for event in self.of(ConnectStarted)]

    def outcome(self) -> Outcome:
        """How the call ended."""
        (ended,) = self.of(CallEnded)
        return ended.outcome


def play(name: str, folder: Path, results: dict[str, Played]) -> None:
    case = CASES[name]
    late_ms = case.late_sound_ms
    script = CallScript(call_id(0, 0), 0, 0, Behaviour.POLITE, 0, case.turns, late_sound_ms=late_ms)
    error: Exception | None = None
    with serving(case.manners) as server:
        log = journal.Journal(folder, name, "caller")
        try:
            Call(script, Target(server.url, "tiny", SEED, DEADLINES), log).play(monotonic_ns())
        except NotDuplexError as caught:
            error = caught
        finally:
            log.close()
        results[name] = Played(name, server, folder / f"{name}.jsonl", error)


def play_all(folder: Path) -> dict[str, Played]:
    """Play every case, all at once."""
    results: dict[str, Played] = {}
    threads = [threading.Thread(target=play, args=(name, folder, results), name=name) for name in CASES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
