"""Client messages to commands, with the error codes of vLLM-Omni 0.30.0 (engine/duplex/realtime_commands.py)."""

import base64
import binascii
import io
import wave
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rig.errors import RigError
from rig.marks import voice_of

Payload = Mapping[str, object]

MIN_RATE_HZ, MAX_RATE_HZ = 8_000, 192_000


class CommandError(RigError):
    """A message that the protocol refuses: the wire's error code, and the client's event id where it gave one."""

    def __init__(self, code: str, message: str, event_id: str | None = None) -> None:
        super().__init__(code, message, event_id)
        self.code = code
        self.message = message
        self.event_id = event_id

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


@dataclass(frozen=True, slots=True)
class Append:
    """One piece of the caller's sound: 16 kHz mono PCM16."""

    pcm: bytes
    event_id: str | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """The caller says that its turn is over."""

    respond: bool
    event_id: str | None = None


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop the running reply; of one response where its id is given."""

    response_id: str | None
    event_id: str | None = None


@dataclass(frozen=True, slots=True)
class CreateResponse:
    """Answer what was committed."""


@dataclass(frozen=True, slots=True)
class ClearInput:
    """Forget sound that was not committed."""


@dataclass(frozen=True, slots=True)
class ClearOutput:
    """Stop what is being played."""

    response_id: str | None


@dataclass(frozen=True, slots=True)
class PlaybackAck:
    """So much of a reply has been played, in milliseconds."""

    played_ms: int
    committed_ms: int
    response_id: str | None
    item_id: str | None


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The caller is still there."""


@dataclass(frozen=True, slots=True)
class Close:
    """End the session."""

    reason: str


@dataclass(frozen=True, slots=True)
class Update:
    """A change of the session's settings."""

    session: Payload


@dataclass(frozen=True, slots=True)
class Resume:
    """Take an old session up again."""

    session_id: str
    token: str
    last_seq: int


Command = (
    Append | Commit | Cancel | CreateResponse | ClearInput | ClearOutput | PlaybackAck | Heartbeat | Close | Update
)


def translate(payload: Payload) -> Command:
    """One message of an open session. Raises CommandError."""
    kind = payload.get("type")
    event_id = _text(payload, "event_id")
    maker = _MAKERS.get(kind) if isinstance(kind, str) else None
    if maker is None:
        raise CommandError("unknown_event", f"Unknown duplex event type: {kind}", event_id)
    return maker(payload, event_id)


def resume(payload: Payload) -> Resume | None:
    """session.resume; None when a field is missing or malformed."""
    session_id, token = _text(payload, "session_id"), _text(payload, "resume_token")
    last_seq = payload.get("last_received_server_event_seq", 0)
    if session_id is None or token is None or not isinstance(last_seq, int) or last_seq < 0:
        return None
    return Resume(session_id, token, last_seq)


def check_turn_detection(session: Payload) -> None:
    """Raise CommandError unless the turn detection asked for is server VAD, as barge-in by speech needs it."""
    detection = session.get("turn_detection")
    if detection is None:
        if session.get("overlap_policy") == "barge_in_on_speech":
            text = (
                "overlap_policy='barge_in_on_speech' requires turn_detection.type='server_vad' on the Realtime endpoint"
            )
            raise CommandError("unsupported_turn_detection", text)
        return
    if not isinstance(detection, dict) or detection.get("type") != "server_vad":
        raise CommandError("unsupported_turn_detection", "turn_detection.type must be 'server_vad'")


def read_opening(asked: Payload) -> int:
    """The voice of a session that is asked for. Raises CommandError for settings that cannot be."""
    try:
        check_turn_detection(asked)
    except CommandError as problem:
        # The code that a change of an open session gets is another one.
        raise CommandError("invalid_session_config", problem.message) from problem
    return read_voice(asked)


def read_voice(asked: Payload) -> int:
    """The voice in a session's reference audio, 0 when it carries none. Raises CommandError without audio."""
    reference = asked.get("ref_audio")
    if not isinstance(reference, str) or not reference:
        raise CommandError("ref_audio_required", "MiniCPM-o duplex audio output requires ref_audio")
    if not reference.startswith("data:"):
        raise CommandError("invalid_duplex_runtime_config", "The URL must be either a HTTP, data or file URL.")
    try:
        data = base64.b64decode(reference.partition(",")[2], validate=True)
        with wave.open(io.BytesIO(data)) as recording:
            samples = np.frombuffer(recording.readframes(recording.getnframes()), dtype="<i2").astype(np.float32)
            return voice_of(samples / np.float32(32_768), recording.getframerate()) or 0
    except (wave.Error, EOFError, binascii.Error, ValueError) as error:
        raise CommandError("invalid_session_config", f"ref_audio cannot be read: {error}") from error


def _append(payload: Payload, event_id: str | None) -> Append:
    audio = payload.get("audio") or payload.get("delta")
    if not isinstance(audio, str) or not audio:
        text = "input_audio_buffer.append requires audio and/or video_frames"
        raise CommandError("bad_event", text, event_id)
    named = payload.get("format") or payload.get("input_audio_format") or "pcm16"
    if named not in ("pcm16", "pcm_s16le", "s16le"):
        raise CommandError("unsupported_audio_format", f"Unsupported input_audio_format: {named}", event_id)
    rate_hz = payload.get("sample_rate_hz") or payload.get("sample_rate")
    if isinstance(rate_hz, int | float) and not MIN_RATE_HZ <= rate_hz <= MAX_RATE_HZ:
        text = f"sample_rate_hz must be between {MIN_RATE_HZ} and {MAX_RATE_HZ}"
        raise CommandError("bad_event", text, event_id)
    try:
        # What is no base64 at all is dropped, as upstream does; what is left may be no sound.
        pcm = binascii.a2b_base64(audio)
    except ValueError as error:
        raise CommandError("bad_event", "input audio is not valid base64", event_id) from error
    if len(pcm) % 2 != 0:
        raise CommandError("bad_event", "pcm16 audio has an odd number of bytes", event_id)
    return Append(pcm, event_id)


def _playback(payload: Payload, event_id: str | None) -> PlaybackAck:
    played = payload.get("played_ms")
    if not isinstance(played, int | float):
        raise CommandError("bad_event", "playback.ack requires numeric played_ms", event_id)
    committed = payload.get("committed_ms")
    kept = int(committed) if isinstance(committed, int | float) else int(played)
    return PlaybackAck(int(played), kept, _text(payload, "response_id"), _text(payload, "item_id"))


def _update(payload: Payload, event_id: str | None) -> Update:
    session = payload.get("session")
    asked = session if isinstance(session, dict) else payload
    try:
        check_turn_detection(asked)
    except CommandError as error:
        raise CommandError(error.code, error.message, event_id) from error
    return Update(asked)


def _commit(payload: Payload, event_id: str | None) -> Commit:
    wanted = payload.get("response_create", payload.get("create_response"))
    return Commit(wanted is True or (payload.get("type") == "input.commit" and wanted is None), event_id)


def _text(payload: Payload, key: str) -> str | None:
    value = payload.get(key)
    return value if isinstance(value, str) and value else None


def _close(payload: Payload, event_id: str | None) -> Close:
    return Close(_text(payload, "reason") or "client_close")


_MAKERS: dict[str, Callable[[Payload, str | None], Command]] = {
    "input_audio_buffer.append": _append,
    "input_audio_buffer.commit": _commit,
    "input.commit": _commit,
    "input_audio_buffer.clear": lambda payload, _: ClearInput(),
    "output_audio_buffer.clear": lambda payload, _: ClearOutput(_text(payload, "response_id")),
    "response.cancel": lambda payload, event_id: Cancel(_text(payload, "response_id"), event_id),
    "response.create": lambda payload, _: CreateResponse(),
    "playback.ack": _playback,
    "audio.playback_ack": _playback,
    "session.heartbeat": lambda payload, _: Heartbeat(),
    "session.close": _close,
    "close": _close,
    "close_session": _close,
    "session.update": _update,
}
