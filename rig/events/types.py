"""What a run can record. Every type is frozen and strict: an unknown field or type is an error.

Times are nanoseconds on the host's monotonic clock: `t_ns` is when it happened (for what arrives: when the socket was
read), `planned_ns` when the plan said it should. A field that is None was not available; it is never 0 instead.
"""

import enum
from typing import Annotated

import msgspec

from rig.events.base import Event as Event
from rig.events.bus import BusEvent
from rig.events.pipeline import PipelineKept as PipelineKept
from rig.events.pipeline import PipelineReady as PipelineReady
from rig.events.pipeline import PipelineStopped as PipelineStopped

SCHEMA_VERSION = 1

HELPER = "helper"
"""Stage of the server's children that are no part of the pipeline: their end is no fault."""
STARTING = "starting"
"""Stage of a Python process of the pipeline that has not given itself a name yet."""
NO_STAGE = frozenset({HELPER, STARTING})

SlipUs = Annotated[int, msgspec.Meta(description="actual minus planned send time, microseconds")]


class Phase(enum.StrEnum):
    """What the run was doing; a tag for reading, nothing is thrown away by it."""

    BOOT = "boot"
    LOAD = "load"
    DRAIN = "drain"
    PROBE = "probe"
    WATCH = "watch"
    STOP = "stop"


class EndReason(enum.StrEnum):
    """Why a run ended."""

    PLANNED = "planned"
    BOOT_FAILED = "boot_failed"
    ENGINE_LOST = "engine_lost"
    CALLERS_LOST = "callers_lost"
    INTERRUPTED = "interrupted"
    RIG_ERROR = "rig_error"


class Connect(enum.StrEnum):
    """Why a caller connected."""

    FIRST = "first"
    NEW_SESSION = "new_session"
    RESUME = "resume"


class Act(enum.StrEnum):
    """What a caller did to the server on purpose. `LATE_SOUND`: it went on sending after its goodbye."""

    BARGE_IN_SPEECH = "barge_in_speech"
    BARGE_IN_CANCEL = "barge_in_cancel"
    HANG_UP_RST = "hang_up_rst"
    HANG_UP_FIN = "hang_up_fin"
    HANG_UP_CLOSE = "hang_up_close"
    SAY_GOODBYE = "say_goodbye"
    LATE_SOUND = "late_sound"


class ClosedBy(enum.StrEnum):
    """Who ended a connection first."""

    CALLER = "caller"
    SERVER_CLOSE_FRAME = "server_close_frame"
    SERVER_EOF = "server_eof"
    SERVER_RESET = "server_reset"


class Outcome(enum.StrEnum):
    """How a turn or call ended, seen from the caller. `UNFINISHED`: the run ended first."""

    DONE = "done"
    CUT = "cut"
    ABANDONED = "abandoned"
    NO_REPLY = "no_reply"
    NO_END = "no_end"
    REFUSED = "refused"
    LOST = "lost"
    UNFINISHED = "unfinished"


class Header(Event, frozen=True, tag="header"):
    """First line of every journal."""

    schema: int
    producer: str
    role: str
    host: str
    boot_id: str
    pid: int
    wall_ns: int


class JournalClosed(Event, frozen=True, tag="journal_closed"):
    """Last line of a journal whose writer ended in order; its absence is itself a finding."""

    dropped: int


# ---- the run


class RunStarted(Event, frozen=True, tag="run_started"):
    """The plan is fixed; nothing has been started yet."""

    run_id: str
    seed: int
    plan_sha256: str


class PhaseEntered(Event, frozen=True, tag="phase_entered"):
    """The run moved on."""

    phase: Phase


class RunEnded(Event, frozen=True, tag="run_ended"):
    """The run is over; `detail` explains every reason but `planned`."""

    reason: EndReason
    detail: str


# ---- the pipeline, watched


class ProcessSeen(Event, frozen=True, tag="process_seen"):
    """A process of the server's own tree; `start_ticks` (field 22 of /proc/pid/stat) tells a reused pid
    apart."""

    pid: int
    ppid: int
    start_ticks: int
    stage: str
    title: str


class ProcessDied(Event, frozen=True, tag="process_died"):
    """A watched process is gone.

    Exactly one of `exit_status` and `signal` is set where the kernel told it (only a parent learns it), else
    both are None. `expected` is True once the rig has asked the server to stop.
    """

    pid: int
    stage: str
    title: str
    exit_status: int | None
    signal: str | None
    expected: bool
    last_lines: list[str]

    @property
    def how(self) -> str:
        """How it ended, as far as that is known, in words that follow its name."""
        if self.signal is not None:
            return f"was killed by {self.signal}"
        known = self.exit_status is not None
        return f"exited with status {self.exit_status}" if known else "died (status not known)"

    @property
    def is_fault(self) -> bool:
        """Whether the server lost a part of itself that nobody had asked to stop."""
        return not self.expected and self.stage != HELPER


class ProcessPaused(Event, frozen=True, tag="process_paused"):
    """A process of the server was stopped by a signal (state T), or goes on again."""

    pid: int
    stage: str
    paused: bool


class LogSignature(Event, frozen=True, tag="log_signature"):
    """A line in the server's log that only a fault writes; `left_out` more of its kind came since the last event."""

    signature: str
    stage: str
    line: str
    expected: bool
    left_out: int = 0


class HealthProbed(Event, frozen=True, tag="health_probed"):
    """One GET /health: `status` is None when no answer came, then `error` tells why."""

    status: int | None
    latency_ns: int
    error: str | None


class MemorySampled(Event, frozen=True, tag="memory_sampled"):
    """Resident memory of one process of the server."""

    pid: int
    stage: str
    rss_bytes: int


# ---- the callers


class CallEvent(Event, frozen=True):
    """Base of what one call records; `connection` counts the call's connections from 0."""

    call: str
    connection: int


class CallStarted(CallEvent, frozen=True, tag="call_started"):
    """A caller begins a call of the plan; `connection` is 0.

    `free_ns`: since when the slot that plays an open-loop call could have begun it; None in a closed loop. Later than
    `planned_ns`, the call had to wait for a free slot.
    """

    caller: int
    behaviour: str
    planned_ns: int
    free_ns: int | None = None


class CallEnded(CallEvent, frozen=True, tag="call_ended"):
    """The call is over."""

    outcome: Outcome
    detail: str


class ConnectStarted(CallEvent, frozen=True, tag="connect_started"):
    """A TCP connect begins; `attempt` counts from 1 while the server refuses.

    `detail` tells why a caller that meant to resume opens a new session, else it is empty.
    """

    why: Connect
    attempt: int
    planned_ns: int
    detail: str = ""


class Connected(CallEvent, frozen=True, tag="connected"):
    """The WebSocket handshake is done; `tcp_ns` of it went to the TCP connect, both from `connect_started`."""

    tcp_ns: int
    handshake_ns: int


class ConnectFailed(CallEvent, frozen=True, tag="connect_failed"):
    """No WebSocket came to be."""

    reason: str


class SessionReady(CallEvent, frozen=True, tag="session_ready"):
    """session.created or session.resumed arrived in duplex mode; `voice` marks the audio of this session."""

    session_id: str
    resumed: bool
    generation: int | None
    voice: int


class Refused(CallEvent, frozen=True, tag="refused"):
    """The server refused the session; a refusal within its rules is not a fault."""

    code: str
    detail: str


class UtteranceStarted(CallEvent, frozen=True, tag="utterance_started"):
    """The first frame of speech of a turn went out."""

    turn: int
    utterance: str
    planned_ns: int


class UtteranceEnded(CallEvent, frozen=True, tag="utterance_ended"):
    """The last frame of speech of a turn went out; `planned_ns` is when the plan said the speech ends."""

    turn: int
    planned_ns: int


class FramesSent(CallEvent, frozen=True, tag="frames_sent"):
    """Up to one second of audio frames: frame i was due at `first_planned_ns + i * interval_ns`."""

    first_planned_ns: int
    interval_ns: int
    slips_us: list[SlipUs]


class ActTaken(CallEvent, frozen=True, tag="act_taken"):
    """The caller did something on purpose; `after_audio_ms` of the reply had been received."""

    turn: int
    act: Act
    planned_ns: int
    after_audio_ms: int | None


class ServerEvent(CallEvent, frozen=True, tag="server_event"):
    """A server event other than audio; `detail` holds an error's code and text, else an empty string."""

    turn: int
    name: str
    server_seq: int | None
    response_id: str | None
    detail: str


class MarkRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True, gc=False):
    """Consecutive codec-token frames of one voice and stream heard in a chunk: first index and how many."""

    voice: int
    stream: int
    first: int
    count: int


class AudioReceived(CallEvent, frozen=True, tag="audio_received"):
    """One response.output_audio.delta; `samples` at 24 kHz, `unreadable` of them carried no mark."""

    turn: int
    response_id: str | None
    server_seq: int | None
    samples: int
    marks: list[MarkRun]
    unreadable: int


class TurnEnded(CallEvent, frozen=True, tag="turn_ended"):
    """A turn is over, seen from the caller."""

    turn: int
    outcome: Outcome
    response_id: str | None
    audio_ms: int


class ConnectionClosed(CallEvent, frozen=True, tag="connection_closed"):
    """A connection is gone; `code` is the close code received or sent, None without a close frame."""

    by: ClosedBy
    code: int | None
    reason: str


class Surprise(CallEvent, frozen=True, tag="surprise"):
    """The server said something that the protocol does not know or allow; counted, never fatal."""

    what: str


AnyEvent = (
    Header
    | JournalClosed
    | RunStarted
    | PhaseEntered
    | RunEnded
    | BusEvent
    | PipelineReady
    | PipelineStopped
    | PipelineKept
    | ProcessSeen
    | ProcessDied
    | ProcessPaused
    | LogSignature
    | HealthProbed
    | MemorySampled
    | CallStarted
    | CallEnded
    | ConnectStarted
    | Connected
    | ConnectFailed
    | SessionReady
    | Refused
    | UtteranceStarted
    | UtteranceEnded
    | FramesSent
    | ActTaken
    | ServerEvent
    | AudioReceived
    | TurnEnded
    | ConnectionClosed
    | Surprise
)
