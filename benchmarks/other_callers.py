"""Callers that do the same work by other means: vLLM-Omni's own client, or plain asyncio `websockets`.

Both send a frame every 100 ms, read and decode the audio, read its marks, and write a line a chunk.
"""

import argparse
import asyncio
import base64
import io
import json
import time
from collections.abc import Awaitable, Callable

import numpy as np
from websockets.asyncio.client import ClientConnection, connect

from rig import speech
from rig.marks import MarkReader, reference_wav

FRAME_S = 0.1
FRAME_BYTES = 3_200
SILENT_FRAMES = 10
Send = Callable[[bytes], Awaitable[None]]


def frames() -> list[bytes]:
    """A second of silence and an utterance."""
    pcm = speech.pcm("short")
    spoken = [pcm[at : at + FRAME_BYTES].ljust(FRAME_BYTES, b"\0") for at in range(0, len(pcm), FRAME_BYTES)]
    return [bytes(FRAME_BYTES)] * SILENT_FRAMES + spoken


async def talk(send: Send) -> None:
    """A microphone that speaks once and goes on in silence."""
    due_s = time.monotonic()
    words = iter(frames())
    while True:
        due_s += FRAME_S
        await asyncio.sleep(due_s - time.monotonic())
        await send(next(words, bytes(FRAME_BYTES)))


def heard(pcm: bytes, reader: MarkReader, journal: io.TextIOBase) -> None:
    """The marks of a chunk, and a line about it."""
    marks = reader.feed(np.frombuffer(pcm, dtype="<i2"))
    journal.write(json.dumps({"t_ns": time.monotonic_ns(), "samples": len(pcm) // 2, "marks": len(marks)}) + "\n")
    journal.flush()


async def plain(url: str, journal: io.TextIOBase) -> None:
    """One caller on `websockets`."""
    reader = MarkReader()
    async with connect(url + "/v1/realtime?duplex=1", compression=None, ping_interval=None, max_size=None) as socket:
        opening = {"ref_audio": base64.b64encode(reference_wav(1)).decode()}
        await socket.send(json.dumps({"type": "session.update", "session": opening}))

        async def send(pcm: bytes) -> None:
            audio = base64.b64encode(pcm).decode()
            await socket.send(json.dumps({"type": "input_audio_buffer.append", "audio": audio}))

        await asyncio.gather(talk(send), _listen(socket, reader, journal))


async def _listen(socket: ClientConnection, reader: MarkReader, journal: io.TextIOBase) -> None:
    async for text in socket:
        message = json.loads(text)
        if message["type"] == "response.output_audio.delta":
            heard(base64.b64decode(message["delta"]), reader, journal)


async def stock(url: str, journal: io.TextIOBase) -> None:
    """One caller on vLLM-Omni's client."""
    from vllm_omni.clients.duplex import AudioDelta, DuplexClient

    reader = MarkReader()
    async with DuplexClient(url, model="tiny") as client:

        async def listen() -> None:
            async for event in client.events():
                audio = event.audio if isinstance(event, AudioDelta) else None
                if audio is not None:
                    heard(audio, reader, journal)

        async def send(pcm: bytes) -> None:
            await client.append_audio(pcm)

        await asyncio.gather(talk(send), listen())


async def main(kind: str, url: str, callers: int, journal: io.TextIOBase) -> None:
    """All callers, begun over five seconds, until killed."""
    caller = {"plain": plain, "stock": stock}[kind]
    tasks = []
    for _ in range(callers):
        tasks.append(asyncio.create_task(caller(url, journal)))
        await asyncio.sleep(5 / callers)
    await asyncio.gather(*tasks)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=("plain", "stock"))
    parser.add_argument("url")
    parser.add_argument("callers", type=int)
    parser.add_argument("journal")
    given = parser.parse_args()
    with open(given.journal, "w", encoding="utf-8") as file:
        asyncio.run(main(given.kind, given.url, given.callers, file))
