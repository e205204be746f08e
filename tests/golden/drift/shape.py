"""What a caller heard, made comparable: ids become relations, the chunks of a reply one entry, numbers a judgement.

Kept as they are: the type of an event, which fields it has, states, reasons, codes, formats, places and generations.
An id becomes what it is an id of, counted as it is first heard. All else (text, times, tokens) becomes its kind.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

Fields = Mapping[str, Any]
Shape = Any

LITERAL = {"type", "object", "role", "status", "reason", "code", "format", "modalities", "close_frame", "close_code"}
PLACES = {"attachment_generation", "output_index", "content_index", "played_ms", "committed_ms"}
"""Numbers that both servers must give alike."""

OPEN = {"session", "metadata", "event"}
"""Objects in which the real server may tell more: they carry its own affairs."""

ONE_OF_MANY = {"audio_text_marks"}
"""Lists of any length whose members are alike."""

DECIDED_BY_THE_MODEL = {"response.listen", "response.speak", "turn.event", "overlap.decision"}
"""Left out: a model says these when it likes, and the golden server has none."""

AUDIO = "response.output_audio.delta"
WORDS = "response.output_audio_transcript.delta"
UNNUMBERED = {"session.created", "session.resumed", "session.replaced", "session.resync_required"}


@dataclass
class _Names:
    """Ids in the order in which they were heard."""

    known: dict[str, str] = field(default_factory=dict)

    def of(self, key: str, value: str, owner: str) -> str:
        """The relation that an id stands for."""
        if key == "event_id":
            return "an event id"
        if value not in self.known:
            kind = owner if key == "id" else key.removesuffix("_id").removeprefix("previous_")
            reply = self.known.get(value.removeprefix("item_"), "")
            if reply.startswith("response"):
                self.known[value] = f"item of {reply}"
            else:
                self.known[value] = f"{kind} {sum(name.startswith(kind + ' ') for name in self.known.values()) + 1}"
        return self.known[value]

    def in_text(self, text: str) -> str:
        """A text with the relations in place of the ids."""
        for value, name in sorted(self.known.items(), key=lambda known: -len(known[0])):
            text = text.replace(value, name)
        return text


def shapes(heard: Mapping[str, Sequence[Fields]]) -> list[tuple[str, Shape]]:
    """Everything that a caller heard as (line and type, fields), line by line."""
    names = _Names()
    found: list[tuple[str, Shape]] = []
    sound: dict[tuple[str, str], int] = {}
    """Where the first chunk, and the first words, of each reply that goes on stand in `found`."""
    for line, events in heard.items():
        for event in events:
            if event["type"] in DECIDED_BY_THE_MODEL:
                continue
            shape = _shape({key: value for key, value in event.items() if key != "type"}, "event", names)
            entry = (f"{line} {event['type']}", shape)
            if event["type"] in (AUDIO, WORDS):
                at = sound.setdefault((event["type"], event["response_id"]), len(found))
                if at < len(found):
                    found[at] = (found[at][0], _both(found[at][1], shape))
                    continue
            elif event["type"] == "response.done":
                # What comes after the end of a reply is never taken for a part of it.
                sound = {key: at for key, at in sound.items() if key[1] != event["response"]["id"]}
            found.append(entry)
        found.append((f"{line} numbers", numbering(events)))
    return found


def _both(one: Shape, other: Shape, *, is_open: bool = False) -> Shape:
    """One entry for two chunks: where they differ it has both values, but in an open object the first chunk's."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        shared = {key: _both(one[key], other[key], is_open=is_open or key in OPEN) for key in one.keys() & other.keys()}
        return {**one, **other, **shared}
    return one if is_open or one == other else f"{one}, then {other}"


def _shape(value: Any, key: str, names: _Names) -> Shape:
    if isinstance(value, Mapping):
        if value.get("status") == "in_progress" and value.get("object") == "realtime.item":
            # What an item holds already when it is announced depends on how busy the real server is.
            value = {inner: one for inner, one in value.items() if inner != "content"}
        owner = {"item": "item", "response": "response", "session": "session"}.get(key, key)
        return {inner: _field(inner, one, owner, names) for inner, one in value.items()}
    if isinstance(value, list):
        value = value[:1] if key in ONE_OF_MANY else value
        return [_shape(one, "item" if key == "output" else key, names) for one in value]
    return _scalar(value, key)


def _field(key: str, value: Any, owner: str, names: _Names) -> Shape:
    if isinstance(value, str) and (key == "id" or key.endswith("_id")):
        return names.of(key, value, owner)
    if key == "message" and isinstance(value, str):
        return names.in_text(value)
    return _shape(value, key, names)


def _scalar(value: Any, key: str) -> Shape:
    if value is None or isinstance(value, bool) or key in LITERAL or key in PLACES:
        return value
    return {int: "a number", float: "a number", str: "text"}[type(value)]


def numbering(events: Sequence[Fields]) -> str:
    """How the events of one connection are numbered: one by one without a gap, or where not."""
    last: int | None = None
    for event in events:
        kind, seq = event["type"], event.get("server_event_seq")
        if seq is None:
            continue
        if kind in UNNUMBERED:
            return f"{kind} has number {seq}"
        if last is not None and seq != last + 1:
            return f"{kind} has number {seq} after {last}"
        last = seq
    return "one by one" if last is not None else "none"


def in_vain(heard: Sequence[tuple[str, Shape]]) -> list[str]:
    """What a caller waited for and did not get."""
    return [kind for kind, _ in heard if "in vain" in kind]


def over_early(golden: Sequence[tuple[str, Shape]], real: Sequence[tuple[str, Shape]]) -> bool:
    """Whether more replies came to their own end on a line than on golden's: before the caller acted, it may be."""
    return bool(Counter(_completed(real)) - Counter(_completed(golden)))


def _completed(heard: Sequence[tuple[str, Shape]]) -> list[str]:
    """The line of each reply that came to its own end."""
    done = [(kind, fields) for kind, fields in heard if kind.endswith(" response.done")]
    return [kind for kind, fields in done if fields["response"]["status"] == "completed"]


def differences(golden: Sequence[tuple[str, Shape]], real: Sequence[tuple[str, Shape]]) -> list[str]:
    """What one server says and the other does not, one line each; empty where they agree."""
    found = []
    ours, theirs = [_kind(one) for one in golden], [_kind(one) for one in real]
    for what, i, j, k, m in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if what == "equal":
            for mine, other in zip(golden[i:j], real[k:m], strict=True):
                found += [f"{mine[0]}: {text}" for text in _unlike(mine[1], other[1], "")]
        else:
            place = f"after {theirs[k - 1]}" if k else "at first"
            found.append(f"{place}: golden says {ours[i:j]}, real says {theirs[k:m]}")
    return found


def _kind(entry: tuple[str, Shape]) -> str:
    """What events are matched by."""
    said = entry[1] if isinstance(entry[1], Mapping) else {}
    nested = [said.get(key) for key in ("response", "error") if isinstance(said.get(key), Mapping)]
    words = [one[key] for one in nested for key in ("status", "code") if isinstance(one, Mapping) and one.get(key)]
    return " ".join([entry[0], *map(str, words)])


def _unlike(golden: Shape, real: Shape, path: str) -> list[str]:
    if isinstance(golden, Mapping) and isinstance(real, Mapping):
        is_open = re.search(rf"\.({'|'.join(OPEN)})(\.|$)", path) is not None
        found = [f"{path}.{key} is only golden" for key in golden if key not in real]
        if not is_open:
            found += [f"{path}.{key} is only real ({real[key]})" for key in real if key not in golden]
        for key in golden:
            if key in real:
                found += _unlike(golden[key], real[key], f"{path}.{key}")
        return found
    if isinstance(golden, list) and isinstance(real, list) and len(golden) == len(real):
        return [text for i, one in enumerate(golden) for text in _unlike(one, real[i], f"{path}[{i}]")]
    return [] if golden == real else [f"{path}: golden {golden!r}, real {real!r}"]
