"""A server that costs as little as it can: it answers every utterance with encoded-once marked audio at real time.

It decodes nothing: a message whose middle is base64 of zeros is silence, any other long one is speech.
"""

import argparse
import asyncio
import base64
import gc
from contextlib import suppress

import numpy as np
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from rig.marks import encode_frames

CHUNK_TOKENS = 25
SPEECH_STOPS_AFTER_FRAMES = 3
APPEND_CHARS = 4_000
SILENCE = "A" * 200
CREATED = (
    '{"type":"session.created","server_event_seq":1,"session_id":"s","resume_token":"t","attachment_generation":1,'
    '"session":{"id":"s","capabilities":{}}}'
)


def encoded(seconds: int) -> list[str]:
    """The reply, one chunk a second."""
    pieces = (encode_frames(1, 1, at * CHUNK_TOKENS, np.arange(CHUNK_TOKENS)) for at in range(seconds))
    return [base64.b64encode((piece * 32_767).astype("<i2").tobytes()).decode() for piece in pieces]


class Caller:
    """One connection."""

    def __init__(self, connection: ServerConnection, audio: list[str]) -> None:
        self._connection = connection
        self._audio = audio
        self._seq = 1
        self._replies = 0
        self._silent_frames = 0
        self._speaking = False

    async def serve(self) -> None:
        """Until the caller goes."""
        async with asyncio.TaskGroup() as tasks:
            with suppress(ConnectionClosed):
                async for message in self._connection:
                    assert isinstance(message, str)
                    await self._take(message, tasks)

    async def _take(self, message: str, tasks: asyncio.TaskGroup) -> None:
        if "session.update" in message[:100]:
            await self._connection.send(CREATED)
        elif "session.close" in message[:100]:
            await self._connection.close()
        elif len(message) > APPEND_CHARS:
            await self._frame(message, tasks)

    async def _frame(self, message: str, tasks: asyncio.TaskGroup) -> None:
        silent = message[2_000:2_200] == SILENCE
        self._silent_frames = self._silent_frames + 1 if silent else 0
        if not silent:
            self._speaking = True
        elif self._speaking and self._silent_frames == SPEECH_STOPS_AFTER_FRAMES:
            self._speaking = False
            await self._event('"type":"input_audio_buffer.speech_stopped"')
            tasks.create_task(self._reply())

    async def _reply(self) -> None:
        print("reply", flush=True)
        self._replies += 1
        name = f"r{self._replies}"
        await self._event(f'"type":"response.created","response":{{"id":"{name}"}}')
        due_s = asyncio.get_running_loop().time()
        with suppress(ConnectionClosed):
            for chunk in self._audio:
                await self._event(f'"type":"response.output_audio.delta","response_id":"{name}","delta":"{chunk}"')
                due_s += 1
                await asyncio.sleep(due_s - asyncio.get_running_loop().time())
            await self._event(f'"type":"response.done","response":{{"id":"{name}","status":"completed"}}')

    async def _event(self, fields: str) -> None:
        self._seq += 1
        await self._connection.send(f'{{"server_event_seq":{self._seq},{fields}}}')


async def main(port: int, reply_s: int) -> None:
    """Serve until killed."""
    audio = encoded(reply_s)
    gc.freeze()

    async def handle(connection: ServerConnection) -> None:
        await Caller(connection, audio).serve()

    async with serve(handle, "127.0.0.1", port, compression=None, ping_interval=None, backlog=1_024):
        print("ready", flush=True)
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--reply-s", type=int, default=200)
    arguments = parser.parse_args()
    asyncio.run(main(arguments.port, arguments.reply_s))
