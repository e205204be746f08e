"""One reply on its way out: which chunk is due when, and how it ends. No clock, no I/O."""

from itertools import accumulate

from rig.clock import NS_PER_MS
from rig.config.pipeline import Golden
from rig.golden import wire
from rig.golden.voice import Plan
from rig.golden.wire import Outgoing


class Reply:
    """A reply from its announcement to its terminal event; all times are due times in monotonic nanoseconds."""

    def __init__(
        self, reply_id: str, plan: Plan, settings: Golden, asked_ns: int, turn: int, previous_item: str | None = None
    ) -> None:
        self.id = reply_id
        self.plan = plan
        self.turn = turn
        self.previous_item = previous_item
        self.sent_chunks = 0
        self.ended = False
        self.stop_asked_ns: int | None = None
        self.played_ms: int | None = None
        self._settings = settings
        self._first_ns = asked_ns + settings.first_audio_ms * NS_PER_MS
        self._stop: tuple[int, str] | None = None
        self._ready: tuple[int, str] | None = None
        self._words: list[str] = []

    @property
    def due_ns(self) -> int | None:
        """When the next thing is due, None when it is over."""
        if self.ended:
            return None
        chunk_ns = self._first_ns + self.sent_chunks * self._settings.pace_ms * NS_PER_MS
        return chunk_ns if self._stop is None else min(chunk_ns, self._stop[0])

    @property
    def text_marks(self) -> list[tuple[int, int]]:
        """For each chunk sent: characters of the transcript and milliseconds of the sound at its end."""
        words = accumulate(len(word) for word in self._words)
        return list(zip(words, self._ends_ms, strict=True))

    @property
    def _ends_ms(self) -> list[int]:
        return list(accumulate(self.plan.chunk(index).duration_ms for index in range(self.sent_chunks)))

    @property
    def sent_ms(self) -> int:
        """Sound sent so far."""
        return self._ends_ms[-1] if self.sent_chunks else 0

    def stop(self, now_ns: int, reason: str, delay_ms: int) -> None:
        """Cancel it: the terminal event comes after `delay_ms`; chunks due until then still go out."""
        due_ns = now_ns + delay_ms * NS_PER_MS
        if self._stop is None:
            self.stop_asked_ns = now_ns
            self._stop = (due_ns, reason)
        elif due_ns < self._stop[0]:
            self._stop = (due_ns, self._stop[1])

    def prepare(self) -> None:
        """Encode the next chunk now, so that it can leave on time."""
        if not self.ended and self.sent_chunks < self.plan.chunks and self._ready is None:
            self._ready = (self.sent_chunks, self.plan.chunk(self.sent_chunks).encode())

    def step(self, now_ns: int) -> list[Outgoing]:
        """What is due at `now_ns`."""
        out: list[Outgoing] = []
        while (due_ns := self.due_ns) is not None and due_ns <= now_ns:
            if self._stop is not None and due_ns == self._stop[0]:
                out += self._end("cancelled", self._stop[1], due_ns)
            else:
                out += self._speak(due_ns)
        return out

    def _speak(self, planned_ns: int) -> list[Outgoing]:
        self.prepare()
        assert self._ready is not None
        index, delta = self._ready
        self._ready = None
        self.sent_chunks += 1
        chunk = self.plan.chunk(index)
        word = f"chunk {index} "
        self._words.append(word)
        out = [
            Outgoing(wire.audio(self, chunk, delta), self, chunk, index, planned_ns),
            Outgoing(wire.transcript(self, word), self),
        ]
        if self.sent_chunks == self.plan.chunks:
            out += self._end("completed", "stop", planned_ns)
        return out

    def _end(self, status: str, reason: str, planned_ns: int) -> list[Outgoing]:
        self.ended = True
        fields = wire.ending(self, status, reason, "".join(self._words))
        return [Outgoing(one, self, planned_ns=planned_ns if one["type"] == wire.DONE else None) for one in fields]
