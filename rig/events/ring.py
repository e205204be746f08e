"""The flight recorder's file: a ring of fixed-size records, written by an engine process and read after its death.

    header (4 KiB) ─ id table (ID_SLOTS entries) ─ ring (SLOTS records)

Everything is little-endian. A record begins and ends with its sequence number, which counts from 1: where the two
differ, its writer was stopped in the middle of it. Record `seq` lies in slot `seq % SLOTS`. Request ids stand once, in
the id table, under a number that counts from 1 and lies in slot `number % ID_SLOTS`; records hold the number. The
header holds JSON with the clock: boot id, and one moment on the monotonic and on the wall clock, as in a journal.
"""

import base64
import binascii
import enum
import struct

import msgspec

MAGIC = b"RIGRING2"
EARLIER_MAGICS = frozenset({b"RIGRING1"})
"""Of rings that are read, too: their updates list no ends, which have records of their own there."""
HEADER_BYTES = 4096
ID_BYTES = 256
ID_SLOTS = 4096
RECORD_BYTES = 192
SLOTS = 1 << 15
IDS_AT = HEADER_BYTES
RING_AT = IDS_AT + ID_SLOTS * ID_BYTES
FILE_BYTES = RING_AT + SLOTS * RECORD_BYTES

SUFFIX = ".ring"
FOLDER = "recorder"
"""Where rings lie in a run folder."""
OFF_PREFIX = "off."
"""Files of this name hold one line: why a process that should have been recorded was not."""

IDS_A_RECORD = 16
ENDS_A_RECORD = 9
"""Requests whose end one update record holds. More of them stand in records of the same kind before it."""
MAX_RECORDS_A_STEP = 4
"""Of a step with more than 64 requests the rest is only counted."""

HEAD = struct.Struct("<QqBBH")
"""Sequence number, nanoseconds on CLOCK_MONOTONIC, kind, number of ids, flags."""
TAIL = struct.Struct("<Q")
TAIL_AT = RECORD_BYTES - TAIL.size
ID_ENTRY = struct.Struct("<IH")
"""Number and length of a request id, whose bytes follow; the number stands again at the entry's end."""
ID_TAIL_AT = ID_BYTES - 4
ID_TEXT_BYTES = ID_TAIL_AT - ID_ENTRY.size

STEP_FIELDS = "IHHHHIIIIH"
END_FIELDS = "IBbii"
"""Number of a request, the queues that hold it after its update, its status, its computed and its output tokens."""
REQUEST_FIELDS = "IBBbbqq"
ERROR_FIELDS = "IH"
ERROR_TEXT_BYTES = TAIL_AT - HEAD.size - struct.calcsize("<" + ERROR_FIELDS)

NO_STATUS = -128
"""Stands for the status of a request that the scheduler does not know."""
CONTINUED = 1
"""Flag: this record only lists more requests, of the step before it or, of ends, of the update after it."""


class Kind(enum.IntEnum):
    """What a record tells."""

    ADD = 1
    SCHEDULE = 2
    UPDATE = 3
    ABORT = 4
    FREE = 5
    STOP = 6
    PREEMPT = 7
    CHUNK_IN = 8
    CHUNK_OUT = 9
    IDLE = 10
    MISSING_ROWS = 11
    ERROR = 12


STEP_KINDS = frozenset({Kind.SCHEDULE, Kind.UPDATE, Kind.IDLE, Kind.MISSING_ROWS})


class Queue(enum.IntFlag):
    """Where the scheduler held a request. `PARKED`: set aside until a chunk comes. `TRACKED`: in `requests`."""

    NONE = 0
    RUNNING = 1
    WAITING = 2
    SKIPPED_WAITING = 4
    PARKED = 8
    TRACKED = 16

    @property
    def names(self) -> str:
        """The queues in words: `skipped_waiting`, `running and waiting`, `no queue`."""
        held = [queue.name.lower() for queue in QUEUES if queue in self and queue.name is not None]
        return " and ".join(held) or "no queue"


QUEUES = (Queue.RUNNING, Queue.WAITING, Queue.SKIPPED_WAITING, Queue.PARKED)


class RingHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Who wrote a ring, and on which clock. `statuses` names the engine's request statuses by number."""

    stage: int
    pid: int
    host: str
    boot_id: str
    t_ns: int
    wall_ns: int
    scheduler: str
    statuses: dict[int, str]
    slots: int = SLOTS
    id_slots: int = ID_SLOTS


def step_struct(ids: int) -> struct.Struct:
    """A whole step record with so many requests: head, fields, request numbers, their token counts, tail."""
    used = struct.calcsize(f"<QqBBH{STEP_FIELDS}{2 * ids}I")
    return struct.Struct(f"<QqBBH{STEP_FIELDS}{2 * ids}I{TAIL_AT - used}xQ")


def update_struct(ends: int) -> struct.Struct:
    """A whole update record with the ends of so many requests: head, fields, ends, tail."""
    listed = STEP_FIELDS + END_FIELDS * ends
    used = struct.calcsize(f"<QqBBH{listed}")
    return struct.Struct(f"<QqBBH{listed}{TAIL_AT - used}xQ")


def request_struct() -> struct.Struct:
    """A whole record about one request: number, queue before and after, status before and after, two values."""
    used = struct.calcsize(f"<QqBBH{REQUEST_FIELDS}")
    return struct.Struct(f"<QqBBH{REQUEST_FIELDS}{TAIL_AT - used}xQ")


def error_struct() -> struct.Struct:
    """A whole record about an exception: number of the request it names or 0, length of the text, the text."""
    return struct.Struct(f"<QqBBH{ERROR_FIELDS}{ERROR_TEXT_BYTES}sQ")


def session_of(request_id: str) -> str | None:
    """The session that a duplex request id `duplex-s.<base64url>.e.<epoch>.r.<role>` carries; None for any other."""
    parts = request_id.split(".")
    if len(parts) != 6 or parts[0] != "duplex-s" or parts[2] != "e" or parts[4] != "r":
        return None
    try:
        return base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
