"""The base of every event."""

import msgspec


class Event(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="type", gc=False):
    """Base of all events: `seq` counts from 0 per producer without a gap."""

    # gc=False: no event can be part of a cycle, and reading millions must not set the collector off.

    seq: int
    t_ns: int
