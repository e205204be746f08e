"""The server's log: one file as it was written, one file a process, and the last lines of each at hand.

The server appends to `server.log` itself, so a slow or dead rig neither holds it up nor loses a line. A
thread follows that file, stamps each line when it reads it (at most POLL_S after it was written), and splits
it by the prefix that vLLM gives its lines: `(Worker pid=123) text`. Lines without a prefix belong to the API
server, which writes them before it has set its prefix up.
"""

import re
import threading
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from rig.clock import monotonic_ns
from rig.pipeline.tracebacks import Tracebacks

POLL_S = 0.02
CATCH_UP_S = 0.1
READ_BYTES = 256 * 1024
LINE_LIMIT = 16 * 1024
RING_LINES = 40
MAX_SOURCES = 64

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_PREFIX = re.compile(r"\(([A-Za-z][\w.-]*) pid=(\d+)\) ?")


class Source(NamedTuple):
    """Who wrote a line: the name in vLLM's prefix and the pid."""

    name: str
    pid: int


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line without colours and prefix; `source` is None for a line without one."""

    t_ns: int
    source: Source | None
    text: str


class Splitter:
    """Bytes in pieces of any size to lines with their source. No I/O.

    Where several processes write at once, a prefix can lose its text to another process's line:
    `(Worker pid=2) (APIServer pid=1) text`, and the worker's text follows as a line without a prefix.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._orphaned: deque[Source] = deque(maxlen=8)

    def feed(self, data: bytes, t_ns: int) -> list[LogLine]:
        """Lines completed by `data`."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LINE_LIMIT:
            whole.append(self._rest)
            self._rest = b""
        return [self._line(raw, t_ns) for raw in whole]

    def finish(self, t_ns: int) -> list[LogLine]:
        """The last line, when it never got its line end."""
        rest, self._rest = self._rest, b""
        return [self._line(rest, t_ns)] if rest else []

    def _line(self, raw: bytes, t_ns: int) -> LogLine:
        text = _ANSI.sub("", raw[:LINE_LIMIT].decode(errors="replace")).rstrip("\r")
        sources: list[Source] = []
        while match := _PREFIX.match(text):
            sources.append(Source(match[1], int(match[2])))
            text = text[match.end() :]
        if sources:
            self._orphaned.extend(sources[:-1])
            return LogLine(t_ns, sources[-1], text)
        return LogLine(t_ns, self._orphaned.popleft() if self._orphaned else None, text)


class ServerLog:
    """Follows the server's log in a thread until it is closed: `folder/server.log`, which the server appends to.

    A server that serves several runs writes to a `source` elsewhere. Then `folder/server.log` is a copy of what it
    wrote from byte `start` on: the part that belongs to this run.
    """

    def __init__(
        self, folder: Path, listener: Callable[[LogLine], None], source: Path | None = None, start: int = 0
    ) -> None:
        """`listener` gets every line, in order, on the log's own thread."""
        self.folder = folder
        self.path = folder / "server.log"
        self.source = self.path if source is None else source
        self._start = start
        self._listener = listener
        self._splitter = Splitter()
        self._rings: dict[Source | None, deque[LogLine]] = {}
        self._files: dict[str, IO[str]] = {}
        self._disk_full = False
        self._lock = threading.Lock()
        self._tracebacks = Tracebacks()
        self.first_exception: str | None = None
        self._last_text: str | None = None
        self._closing = threading.Event()
        self._progress = threading.Condition()
        self._read_bytes = 0
        self.path.touch(exist_ok=False)
        self.source.touch()
        self._thread = threading.Thread(target=self._follow, name="server-log", daemon=True)
        self._thread.start()

    def last_lines(self, pid: int | None, count: int) -> list[str]:
        """The last lines of a process, of those without a prefix for None."""
        with self._lock:
            rings = [ring for source, ring in self._rings.items() if (source.pid if source else None) == pid]
            lines = sorted((line for ring in rings for line in ring), key=lambda line: line.t_ns)
        return [line.text for line in lines[-count:]]

    @property
    def end(self) -> int:
        """Up to which byte the source has been read."""
        return self._start + self._read_bytes

    def cause(self) -> str | None:
        """Why a start failed: the first exception, else the last line; None for an empty log."""
        if self.first_exception is not None:
            return self.first_exception
        return self._last_text

    def catch_up(self) -> None:
        """Wait until all that the file holds now has been read, or CATCH_UP_S."""
        size = self.source.stat().st_size
        with self._progress:
            self._progress.wait_for(lambda: self.end >= size, CATCH_UP_S)

    def close(self) -> None:
        """Read to the end of the file and stop. Calling it twice is harmless."""
        self._closing.set()
        self._thread.join()

    def _follow(self) -> None:
        with self.source.open("rb") as file, ExitStack() as stack:
            copy = None if self.source == self.path else stack.enter_context(self.path.open("ab", buffering=0))
            file.seek(self._start)
            while True:
                # Asked before the read: what was written until then is read before the end.
                last_round = self._closing.is_set()
                data = file.read(READ_BYTES)
                if copy is not None:
                    with suppress(OSError):  # a full disk: the whole log is at the source
                        copy.write(data)
                self._take(self._splitter.feed(data, monotonic_ns()))
                with self._progress:
                    self._read_bytes += len(data)
                    self._progress.notify_all()
                if not data and last_round:
                    break
                if not data:
                    self._closing.wait(POLL_S)
        self._take(self._splitter.finish(monotonic_ns()))
        for split in self._files.values():
            with suppress(OSError):
                split.close()

    def _take(self, lines: list[LogLine]) -> None:
        if not lines:
            return
        with self._lock:
            for line in lines:
                self._ring(line.source).append(line)
        self._split(lines)
        for line in lines:
            self._note(line)
            self._listener(line)

    def _split(self, lines: list[LogLine]) -> None:
        """Write each line to the file of its process. On a full disk no more: the lines have still to be heard."""
        if self._disk_full:
            return
        try:
            for line in lines:
                self._file(line.source).write(line.text + "\n")
            for split in self._files.values():
                split.flush()
        except OSError:
            self._disk_full = True

    def _note(self, line: LogLine) -> None:
        exception = self._tracebacks.feed(line.source, line.text)
        if self.first_exception is None:
            self.first_exception = exception
        if line.text.strip():
            self._last_text = line.text.strip()

    def _ring(self, source: Source | None) -> deque[LogLine]:
        ring = self._rings.get(source)
        if ring is None:
            if len(self._rings) >= MAX_SOURCES:
                del self._rings[next(iter(self._rings))]
            ring = self._rings[source] = deque(maxlen=RING_LINES)
        return ring

    def _file(self, source: Source | None) -> IO[str]:
        name = "unprefixed.log" if source is None else f"{source.name}-{source.pid}.log"
        if name not in self._files and len(self._files) >= MAX_SOURCES:
            name = "others.log"
        if name not in self._files:
            self._files[name] = (self.folder / name).open("w", encoding="utf-8")
        return self._files[name]
