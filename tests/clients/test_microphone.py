"""The microphone keeps its schedule and never stops."""

import json
from base64 import b64decode

from websockets.frames import Frame, Opcode
from websockets.protocol import OPEN, SERVER, Protocol

from clients.microphone import FRAME_NS, Microphone, silence, spoken
from rig import speech


def unmasked(wire: bytes) -> bytes:
    """The audio in a frame as a server reads it."""
    server = Protocol(SERVER, state=OPEN, max_size=None)
    server.receive_data(wire)
    (frame,) = server.events_received()
    assert isinstance(frame, Frame)
    assert frame.opcode is Opcode.TEXT
    message = json.loads(bytes(frame.data))
    assert message["type"] == "input_audio_buffer.append"
    return b64decode(message["audio"])


def test_every_frame_is_due_100_ms_after_the_one_before() -> None:
    microphone = Microphone(0)
    assert [microphone.next_frame().due_ns for _ in range(3)] == [FRAME_NS, 2 * FRAME_NS, 3 * FRAME_NS]


def test_sends_silence_until_it_is_time_to_speak_and_after_it() -> None:
    microphone = Microphone(0)
    microphone.say("short", 3 * FRAME_NS)
    count = len(spoken("short"))
    frames = [microphone.next_frame() for _ in range(count + 3)]
    assert [frame.data == silence() for frame in frames] == [True] * 2 + [False] * count + [True]
    assert [frame.due_ns for frame in frames if frame.first] == [3 * FRAME_NS]
    assert [frame.due_ns for frame in frames if frame.last] == [(count + 2) * FRAME_NS]
    assert not microphone.speaking


def test_a_recording_arrives_sample_for_sample_and_its_last_frame_is_filled_with_silence() -> None:
    audio = b"".join(unmasked(frame) for frame in spoken("train"))
    pcm = speech.pcm("train")
    assert audio[: len(pcm)] == pcm
    assert set(audio[len(pcm) :]) <= {0}
    assert len(audio) % 3_200 == 0


def test_a_slip_is_the_time_from_due_to_sent() -> None:
    microphone = Microphone(0)
    full = [microphone.sent(frame, frame.due_ns + 2_000_000) for frame in (microphone.next_frame() for _ in range(10))]
    assert full == [False] * 9 + [True]
    record = microphone.take_slips()
    assert record == {"first_planned_ns": FRAME_NS, "interval_ns": FRAME_NS, "slips_us": [2_000] * 10}
    assert microphone.take_slips() is None
    microphone.sent(microphone.next_frame(), 11 * FRAME_NS)
    later = microphone.take_slips()
    assert later is not None
    assert later["first_planned_ns"] == 11 * FRAME_NS
