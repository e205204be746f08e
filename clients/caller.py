"""Plays one call of the plan: speaks, listens, interrupts, hangs up and comes back, as its script says."""

import time
from dataclasses import dataclass
from typing import Any

from clients import wire
from clients.line import CallOverError, Line
from clients.session import RESUME_REFUSALS, RETRYABLE, Session, turn_ended
from clients.turns import NO_TURN, Turn
from rig import ids
from rig.clock import NS_PER_MS, NS_PER_S, from_s, monotonic_ns
from rig.config.run import Deadlines
from rig.events.journal import Recorder
from rig.events.types import (
    Act,
    ActTaken,
    CallEnded,
    CallStarted,
    Connect,
    Outcome,
)
from rig.marks import reference_wav
from rig.scripts import CallScript, HangUp, HangUpWhen, Interrupt, InterruptBy, Return, TurnScript

REFERENCE_S = 2.0
STALE_WATCH_NS = NS_PER_S
"""After a cut the caller stays silent so long, to hear whether stale audio still comes: one unit of the model."""

HURRIED_GOODBYE_NS = NS_PER_S
RETRY_PAUSE_S = (0.5, 1.5)


@dataclass(frozen=True)
class Target:
    """Whom to call and how long to wait for what."""

    url: str
    model: str
    seed: int
    deadlines: Deadlines


class Call:
    """One call, from the first connect to the goodbye."""

    def __init__(self, script: CallScript, target: Target, journal: Recorder) -> None:
        self._script = script
        self._target = target
        self._line = Line(script.call, wire.realtime_url(target.url, target.model), journal)
        self._draw = ids.rng(target.seed, "retry", script.call)
        self._sessions = 0
        self._free_ns = 0

    def play(self, planned_ns: int, free_ns: int | None = None) -> Outcome:
        """Play the script; `planned_ns` is when the plan wanted the call to begin, `free_ns` when its slot was free.

        Everything that happens goes into the journal. Raises NotDuplexError when the server is no duplex server.
        """
        script = self._script
        who: dict[str, Any] = {"caller": script.caller, "behaviour": script.behaviour}
        self._line.record(CallStarted, planned_ns=planned_ns, free_ns=free_ns, **who)
        outcome, detail = Outcome.UNFINISHED, "the load ended first"
        try:
            for turn in self._script.turns:
                self._turn(turn, planned_ns)
            self._stay(self._free_ns)
            outcome, detail = Outcome.DONE, ""
        except CallOverError as over:
            outcome, detail = over.outcome, over.detail
        except Exception as error:
            detail = f"the caller itself failed: {error!r}"
            raise
        finally:
            # Also on the way out of a kill, which is how Locust ends a call that outlasts its stop timeout.
            self._end(outcome, detail)
        return outcome

    def _end(self, outcome: Outcome, detail: str) -> None:
        for turn in self._line.turns.open():
            self._close_turn(turn, outcome if outcome is not Outcome.DONE else Outcome.UNFINISHED)
        if self._line.transport is not None and self._line.session is not None:
            if outcome is Outcome.UNFINISHED:
                self._line.say_goodbye(HURRIED_GOODBYE_NS)
            else:
                self._line.say_goodbye(late_ns=self._script.late_sound_ms * NS_PER_MS)
        self._line.finish(HURRIED_GOODBYE_NS)
        self._line.record(CallEnded, outcome=outcome, detail=detail)

    # ---- one turn

    def _turn(self, script: TurnScript, planned_ns: int) -> None:
        hang_up = script.hang_up
        if self._line.transport is None:
            if hang_up is not None and hang_up.when is HangUpWhen.BEFORE_CREATED:
                self._hang_up_before_created(hang_up, planned_ns)
                return
            self._connect(Connect.FIRST, planned_ns)
        self._free_ns = max(self._free_ns, monotonic_ns())
        turn = self._line.speak(script.utterance, self._free_ns + script.pause_ms * NS_PER_MS)
        self._line.pump(lambda: turn.started_ns is not None, _NEVER)
        if hang_up is not None:
            self._hang_up_during(turn, hang_up)
            return
        self._await_first_audio(turn)
        if script.interrupt is not None:
            turn = self._interrupt(turn, script.interrupt)
        self._await_end(turn)

    def _await_first_audio(self, turn: Turn, since_ns: int | None = None) -> None:
        """Wait until the reply to a turn is heard, counted from the end of its speech or from `since_ns`."""
        self._line.pump(lambda: turn.spoken_ns is not None, _NEVER)
        limit_s = self._target.deadlines.first_audio_s
        begin_ns = (turn.spoken_ns or 0) if since_ns is None else since_ns
        if not self._line.pump(lambda: turn.first_audio_ns is not None, begin_ns + from_s(limit_s)):
            self._give_up(turn, Outcome.NO_REPLY, f"no audio within {limit_s:g} s of the end of speech")

    def _await_end(self, turn: Turn, since_ns: int | None = None) -> None:
        """Wait until the reply has ended and has been played to its end."""
        limit_s = self._target.deadlines.reply_s
        begin_ns = (turn.first_audio_ns or 0) if since_ns is None else since_ns
        if not self._line.pump(lambda: turn.over, begin_ns + from_s(limit_s)):
            self._give_up(turn, Outcome.NO_END, f"no terminal event within {limit_s:g} s of the first audio")
        assert self._line.session is not None
        silent_ns = self._line.session.silent_from_ns()
        quiet_ns = monotonic_ns() + STALE_WATCH_NS if turn.outcome is Outcome.CUT else 0
        self._stay(max(silent_ns, quiet_ns))

    def _stay(self, until_ns: int) -> None:
        """Stay on the line, silent, until `until_ns`; then the caller is free to act."""
        if self._line.transport is not None:
            self._line.pump(lambda: False, until_ns)
        self._free_ns = max(until_ns, self._free_ns)

    def _give_up(self, turn: Turn, outcome: Outcome, detail: str) -> None:
        self._close_turn(turn, outcome)
        raise CallOverError(outcome, f"turn {turn.index}: {detail}")

    def _close_turn(self, turn: Turn, outcome: Outcome) -> None:
        kind, fields = turn_ended(turn, outcome)
        self._line.record(kind, **fields)

    # ---- barge-in

    def _interrupt(self, turn: Turn, script: Interrupt) -> Turn:
        """Interrupt a reply; returns the turn to wait for: the interrupting speech is a turn itself."""
        wanted_ms = script.after_audio_ms
        limit_ns = (turn.first_audio_ns or 0) + from_s(self._target.deadlines.reply_s)
        self._line.pump(lambda: turn.audio_ms >= wanted_ms or turn.over, limit_ns)
        if turn.over or turn.audio_ms < wanted_ms:
            return turn  # the reply was shorter than that, or stopped short of it
        turn.interrupted = True
        if script.by is InterruptBy.CANCEL:
            return self._cancel(turn)
        return self._speak_over(turn, script.utterance)

    def _cancel(self, turn: Turn) -> Turn:
        assert self._line.session is not None
        now_ns = monotonic_ns()
        message = self._line.session.cancel()
        self._line.send(message)
        self._act(turn.index, Act.BARGE_IN_CANCEL, now_ns, now_ns, turn.audio_ms)
        return turn

    def _speak_over(self, turn: Turn, utterance: str | None) -> Turn:
        assert utterance is not None, "an interruption by speech names its utterance"
        heard_ms = turn.audio_ms
        speech = self._line.speak(utterance, monotonic_ns())
        self._line.pump(lambda: speech.started_ns is not None, _NEVER)
        assert speech.started_ns is not None
        self._act(turn.index, Act.BARGE_IN_SPEECH, speech.started_ns, monotonic_ns(), heard_ms)
        limit_ns = speech.started_ns + from_s(self._target.deadlines.reply_s)
        self._line.pump(lambda: speech.spoken_ns is not None, _NEVER)
        if not self._line.pump(lambda: turn.over, limit_ns):
            self._give_up(turn, Outcome.NO_END, "spoken over, but the reply never ended")
        self._await_first_audio(speech)
        return speech

    def _act(self, turn: int, act: Act, planned_ns: int, t_ns: int, after_audio_ms: int | None) -> None:
        self._line.record(ActTaken, t_ns=t_ns, turn=turn, act=act, planned_ns=planned_ns, after_audio_ms=after_audio_ms)

    # ---- hanging up and coming back

    def _hang_up_before_created(self, script: HangUp, planned_ns: int) -> None:
        line = self._line
        session, message = self._new_session()
        limit_ns = from_s(self._target.deadlines.connect_s)
        line.connect_only(session, message, _started(Connect.FIRST, 1, planned_ns, ""), limit_ns)
        moment_ns = monotonic_ns() + script.after_ms * NS_PER_MS
        if line.pump(lambda: session.refusal is not None, moment_ns):
            line.hang_up_silently()
            self._connect(Connect.FIRST, monotonic_ns())
            return
        line.hang_up(script.how, NO_TURN, moment_ns, None)
        self._come_back(script)

    def _hang_up_during(self, turn: Turn, script: HangUp) -> None:
        """Hang up at the scripted moment of a turn, come back, and hear the rest of the turn if there is one."""
        moment_ns = self._await_moment(turn, script)
        assert self._line.session is not None
        # A sentence that was cut off is not said to its end by coming back: the caller says another one.
        keeps_turn = script.then is Return.RESUME and self._line.session.resumable and turn.spoken_ns is not None
        self._line.hang_up(script.how, turn.index, moment_ns, turn.audio_ms if turn.samples > 0 else None)
        if not keeps_turn and not turn.over:
            self._close_turn(turn, Outcome.ABANDONED)
        resumed = self._come_back(script)
        if turn.over:
            return
        if not resumed:
            self._close_turn(turn, Outcome.ABANDONED)
            return
        ready_ns = monotonic_ns()
        self._await_first_audio(turn, ready_ns)
        self._await_end(turn, ready_ns)

    def _await_moment(self, turn: Turn, script: HangUp) -> int:
        """Wait for the moment to hang up; returns when it was due."""
        after_ns = script.after_ms * NS_PER_MS
        if script.when is HangUpWhen.WHILE_SPEAKING:
            due_ns = (turn.started_ns or 0) + after_ns
            self._line.pump(lambda: turn.spoken_ns is not None, due_ns)
            return min(due_ns, monotonic_ns())
        if script.when is HangUpWhen.AWAITING_REPLY:
            self._line.pump(lambda: turn.spoken_ns is not None, _NEVER)
            due_ns = (turn.spoken_ns or 0) + after_ns
            self._line.pump(lambda: turn.first_audio_ns is not None, due_ns)
            return min(due_ns, monotonic_ns())
        self._await_first_audio(turn)
        limit_ns = (turn.first_audio_ns or 0) + from_s(self._target.deadlines.reply_s)
        self._line.pump(lambda: turn.audio_ms >= script.after_ms or turn.over, limit_ns)
        return monotonic_ns()

    def _come_back(self, script: HangUp) -> bool:
        """Connect again at once; True when the old session was resumed."""
        session = self._line.session
        back_ns = monotonic_ns()
        if script.then is Return.NEW_SESSION:
            return self._connect(Connect.NEW_SESSION, back_ns)
        if session is None or not session.resumable:
            return self._connect(Connect.NEW_SESSION, back_ns, "nothing to resume: session.created had not arrived")
        return self._connect(Connect.RESUME, back_ns, session=session)

    # ---- connecting

    def _connect(self, why: Connect, planned_ns: int, detail: str = "", session: Session | None = None) -> bool:
        """Connect until there is a session; True when it is the old one, resumed.

        A refused resume falls back to a new session at once; a server that is full is asked again until `return_s`.
        """
        limit_ns = planned_ns + from_s(self._target.deadlines.return_s)
        connect_ns = from_s(self._target.deadlines.connect_s)
        attempt = 1
        while True:
            if session is None:
                target, message = self._new_session()
            else:
                target, message = session, session.resume()
            refusal = self._line.connect(target, message, _started(why, attempt, planned_ns, detail), connect_ns)
            if refusal is None:
                self._free_ns = monotonic_ns()
                return session is not None
            if session is not None and refusal.code in RESUME_REFUSALS:
                why, session, detail = Connect.NEW_SESSION, None, f"resume refused: {refusal.code}"
                planned_ns = monotonic_ns()
                continue
            pause_ns = from_s(self._draw.uniform(*RETRY_PAUSE_S))
            if refusal.code not in RETRYABLE or monotonic_ns() + pause_ns > limit_ns:
                raise CallOverError(Outcome.REFUSED, f"{refusal.code}: {refusal.text}")
            time.sleep(pause_ns / NS_PER_S)
            attempt += 1
            planned_ns = monotonic_ns()

    def _new_session(self) -> tuple[Session, bytes]:
        """A session that has never been, with a voice of its own, and the message that opens it."""
        voice = ids.voice(self._target.seed, self._script.call, self._sessions)
        session = Session(self._line.turns, index=self._sessions, voice=voice)
        self._sessions += 1
        return session, wire.open_session(self._target.model, reference_wav(voice, seconds=REFERENCE_S))


_NEVER = 1 << 62
"""A deadline for what the caller itself brings about."""


def _started(why: Connect, attempt: int, planned_ns: int, detail: str) -> dict[str, Any]:
    return {"why": why, "attempt": attempt, "planned_ns": planned_ns, "detail": detail}
