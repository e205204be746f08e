"""What the real server said to the recorded callers, kept so that golden is compared with it without engines.

With RIG_RECORD_CALLERS=1 tests/engine/test_golden_drift.py writes the file anew.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("vllm-omni-0.30.0.json")


def load() -> dict[str, list[tuple[str, Any]]]:
    """The shapes by caller; none before the first recording."""
    if not FILE.exists():
        return {}
    read = json.loads(FILE.read_text(encoding="utf-8"))
    return {caller: [(name, shape) for name, shape in told] for caller, told in read.items()}


def save(told: Mapping[str, Sequence[tuple[str, Any]]]) -> None:
    """Write the shapes, one event a line."""
    callers = []
    for caller, shapes in told.items():
        lines = ",\n".join(json.dumps(shape, sort_keys=True) for shape in shapes)
        callers.append(f"{json.dumps(caller)}: [\n{lines}\n]")
    FILE.write_text("{\n" + ",\n".join(callers) + "\n}\n", encoding="utf-8")
