"""A results folder written by hand: the facts of a run in a few lines, through the same journal as a real run.

Times are given in seconds since the run began; on disk they are nanoseconds after `ORIGIN_NS`.
"""

import re
from pathlib import Path
from typing import Any

from rig.clock import from_s
from rig.config.load import load_run
from rig.config.run import RunConfig
from rig.events import types as ev
from rig.events.journal import Journal
from rig.history import EVENTS_DIR, PIPELINE_FILE, RUN_FILE, History
from rig.history import load as load_history
from rig.plan import PLAN_FILE, make_plan

ORIGIN_NS = 1_000_000_000
"""One second after boot: before any header, which the journal stamps with the real clock."""

RIG, CALLERS = "rig", "callers"
ROLES = {RIG: "rig", CALLERS: "caller"}

RUN_YAML = """\
question: Does the history that a test wrote by hand read as intended?
pipeline: pipeline.yaml
seed: 7
load:
  callers: 1
  duration_s: 10
  pause_s: {low: 0.1, high: 0.2}
  think_s: {low: 0.1, high: 0.2}
behaviours:
  polite:
    weight: 1
    turns: {low: 1, high: 1}
  barge_in:
    weight: 1
    turns: {low: 1, high: 2}
    by: {speech: 1, cancel: 1}
    after_audio_s: {low: 0.3, high: 1.5}
  hang_up:
    weight: 1
    how: {rst: 1, fin: 1, close_frame: 1}
    when: {before_created: 1, while_speaking: 1, awaiting_reply: 1, during_reply: 1}
    then: {new_session: 1, resume: 1}
    after_s: {low: 0.1, high: 1.0}
deadlines:
  connect_s: 5
  first_audio_s: 8
  reply_s: 30
  return_s: 10
require:
  sessions: 1
"""

PIPELINE_YAML = """\
question: What would a small pipeline on this machine look like?
hardware_label: test
platform: cpu
model: {kind: tiny}
ready_deadline_s: 60
memory_gib: 1
connector: {codec_chunk_frames: 25}
duplex_session: {max_sessions: 2, disconnect_grace_s: 30, reaper_interval_s: 5}
stages:
  thinker: &stage
    max_num_seqs: 4
    max_num_batched_tokens: 2048
    gpu_memory_utilization: 0.1
    default_sampling_params: {temperature: 0.7}
  talker: *stage
  code2wav: *stage
"""

GOLDEN_YAML = """\
question: What does a server do whose every sound and time are known?
hardware_label: test
duplex_session: {max_sessions: 2, disconnect_grace_s: 30, reaper_interval_s: 5}
golden: {seed: 7}
"""

EXTERNAL_YAML = """\
question: What does a server that somebody else runs do?
hardware_label: test
url: ws://127.0.0.1:8099
"""


def edited(text: str, **settings: object) -> str:
    """YAML with the lines of some keys replaced: `edited(RUN_YAML, seed=8)`. Every key must stand exactly once."""
    for key, value in settings.items():
        text, count = re.subn(rf"(?m)^(\s*){key}:.*$", rf"\g<1>{key}: {value}", text)
        assert count == 1, f"{key} stands {count} times"
    return text


def run_config(folder: Path, text: str = RUN_YAML) -> RunConfig:
    """A run config, read from a file as a user's is."""
    path = folder / RUN_FILE
    path.write_text(text, encoding="utf-8")
    return load_run(path)


class Run:
    """A results folder while it is being written. `run.rig(...)` and `run.call(...)` record; `run.history()` reads."""

    def __init__(self, folder: Path, *, run: str = RUN_YAML, pipeline: str = PIPELINE_YAML) -> None:
        self.folder = folder
        (folder / EVENTS_DIR).mkdir(parents=True)
        (folder / PIPELINE_FILE).write_text(pipeline, encoding="utf-8")
        config = run_config(folder, run)
        self.plan = make_plan(config)
        (folder / PLAN_FILE).write_bytes(self.plan.encode())
        self._journals: dict[str, Journal] = {}
        self.rig(0.0, ev.RunStarted, run_id="test", seed=config.seed, plan_sha256=self.plan.sha256())

    def rig(self, at_s: float, kind: type[ev.Event], **fields: Any) -> None:
        """Record something that the rig saw."""
        self._journal(RIG).record(kind, t_ns=ns(at_s), **fields)

    def call(self, at_s: float, kind: type[ev.CallEvent], call: str = "c000-0000", **fields: Any) -> None:
        """Record something of a call. `connection` is 0 unless given."""
        self._journal(CALLERS).record(kind, t_ns=ns(at_s), call=call, **{"connection": 0, **fields})

    def ready(self, at_s: float = 1.0) -> None:
        """The server came up: three stages and the server process are watched."""
        for pid, stage in enumerate(("api_server", "thinker", "talker", "code2wav"), start=100):
            fields = {"pid": pid, "ppid": 99, "start_ticks": 5, "stage": stage, "title": stage}
            self.rig(at_s, ev.ProcessSeen, **fields)
        self.rig(at_s, ev.PipelineReady, boot_ns=from_s(at_s))
        self.rig(at_s, ev.PhaseEntered, phase=ev.Phase.LOAD)

    def watch(self, from_s: float, to_s: float) -> None:
        """The phases after the load: the server was watched without callers, then asked to stop."""
        self.rig(from_s, ev.PhaseEntered, phase=ev.Phase.WATCH)
        self.rig(to_s, ev.PhaseEntered, phase=ev.Phase.STOP)

    def stop(self, at_s: float = 100.0, reason: ev.EndReason = ev.EndReason.PLANNED, detail: str = "") -> None:
        """The server stopped and the run ended."""
        self.rig(at_s, ev.PipelineStopped, forced=[])
        self.rig(at_s, ev.RunEnded, reason=reason, detail=detail)

    def start_call(
        self, at_s: float = 2.0, call: str = "c000-0000", caller: int = 0, behaviour: str = "polite"
    ) -> None:
        """A call begins."""
        self.call(at_s, ev.CallStarted, call, caller=caller, behaviour=behaviour, planned_ns=ns(at_s))

    def connect(
        self,
        at_s: float,
        call: str = "c000-0000",
        *,
        connection: int = 0,
        why: ev.Connect = ev.Connect.FIRST,
        ready_s: float | None = None,
        resumed: bool = False,
        voice: int = 11,
        session_id: str = "s",
        generation: int | None = 1,
    ) -> None:
        """A connect was due at `at_s` and began then; with `ready_s` it got a session at that moment."""
        start: dict[str, Any] = {"why": why, "attempt": 1, "planned_ns": ns(at_s)}
        self.call(at_s, ev.ConnectStarted, call, connection=connection, **start)
        if ready_s is not None:
            session: dict[str, Any] = {"session_id": session_id, "resumed": resumed, "voice": voice}
            session["generation"] = generation
            self.call(ready_s, ev.SessionReady, call, connection=connection, **session)

    def close(self, at_s: float, call: str = "c000-0000", *, connection: int = 0, **fields: Any) -> None:
        """A connection is gone, ended by the caller unless said otherwise."""
        how: dict[str, Any] = {"by": ev.ClosedBy.CALLER, "code": None, "reason": ""} | fields
        self.call(at_s, ev.ConnectionClosed, call, connection=connection, **how)

    def refuse(self, at_s: float, call: str, *, connection: int = 0, code: str = "resource_exhausted") -> None:
        """The server refused a session."""
        self.call(at_s, ev.Refused, call, connection=connection, code=code, detail="max_sessions reached")

    def audio(
        self,
        at_s: float,
        call: str = "c000-0000",
        *,
        turn: int = 0,
        connection: int = 0,
        response_id: str | None = "r0",
        samples: int = 960,
        marks: list[ev.MarkRun] | None = None,
        unreadable: int = 0,
        server_seq: int | None = None,
    ) -> None:
        """An audio delta was read."""
        self.call(
            at_s,
            ev.AudioReceived,
            call,
            connection=connection,
            turn=turn,
            response_id=response_id,
            server_seq=server_seq,
            samples=samples,
            marks=marks or [],
            unreadable=unreadable,
        )

    def turn_ended(
        self,
        at_s: float,
        outcome: ev.Outcome,
        call: str = "c000-0000",
        *,
        turn: int = 0,
        response_id: str | None = "r0",
        audio_ms: int = 40,
    ) -> None:
        """A turn is over."""
        fields: dict[str, Any] = {"turn": turn, "outcome": outcome, "response_id": response_id, "audio_ms": audio_ms}
        self.call(at_s, ev.TurnEnded, call, **fields)

    def spoke(self, begin_s: float, end_s: float, *, turn: int = 0, connection: int = 0, late_s: float = 0.0) -> None:
        """The caller spoke from `begin_s` to `end_s` as planned; `late_s` is by how much the last frame was late."""
        words: dict[str, Any] = {"utterance": "short", "planned_ns": ns(begin_s)}
        self.call(begin_s, ev.UtteranceStarted, connection=connection, turn=turn, **words)
        read_s = end_s + late_s
        self.call(read_s, ev.UtteranceEnded, connection=connection, turn=turn, planned_ns=ns(end_s))

    def act(self, at_s: float, act: ev.Act, call: str = "c000-0000", *, turn: int = 0, late_s: float = 0.0) -> None:
        """The caller acted; planned `late_s` earlier."""
        fields: dict[str, Any] = {
            "turn": turn,
            "act": act,
            "planned_ns": ns(at_s - late_s),
            "after_audio_ms": 40,
        }
        self.call(at_s, ev.ActTaken, call, **fields)

    def server_says(
        self,
        at_s: float,
        name: str,
        detail: str = "",
        *,
        turn: int = 0,
        call: str = "c000-0000",
        connection: int = 0,
        response_id: str | None = "r0",
        server_seq: int | None = None,
    ) -> None:
        """A server event other than audio."""
        fields: dict[str, Any] = {"turn": turn, "name": name, "response_id": response_id, "detail": detail}
        self.call(at_s, ev.ServerEvent, call, connection=connection, server_seq=server_seq, **fields)

    def dies(self, at_s: float, **fields: Any) -> None:
        """A process of the server is gone: the talker by SIGKILL unless said otherwise."""
        death: dict[str, Any] = {
            "pid": 102,
            "stage": "talker",
            "title": "StageEngineCore",
            "exit_status": None,
            "signal": "SIGKILL",
        }
        self.rig(at_s, ev.ProcessDied, **(death | {"expected": False, "last_lines": ["last words"]} | fields))

    def path(self, producer: str) -> Path:
        """The journal of a producer."""
        return self.folder / EVENTS_DIR / f"{producer}.jsonl"

    def history(self, *, closed: bool = True) -> History:
        """Read the folder back; with `closed` every journal is ended in order first."""
        if closed:
            for journal in self._journals.values():
                journal.close()
        return load_history(self.folder)

    def _journal(self, producer: str) -> Journal:
        if producer not in self._journals:
            self._journals[producer] = Journal(self.folder / EVENTS_DIR, producer, ROLES[producer])
        return self._journals[producer]


def ns(at_s: float) -> int:
    """The nanosecond stamp of a moment of the run."""
    return ORIGIN_NS + from_s(at_s)
