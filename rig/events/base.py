"""The base of every event."""

import msgspec


class Event(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="type"):
    """Base of all events: `seq` counts from 0 per producer without a gap."""

    seq: int
    t_ns: int
