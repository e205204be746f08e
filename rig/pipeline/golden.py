"""From a golden pipeline's settings to the command line of `rig serve golden`."""

import sys
from collections.abc import Mapping
from pathlib import Path

from rig.config.base import StrictModel
from rig.config.pipeline import Duplex, Golden, GoldenPipeline
from rig.pipeline.deploy import Launch

RECORD_FILE = "golden.jsonl"
"""The server's own record, in the folder it runs in: `server/` of the run."""


def launch(config: GoldenPipeline, work: Path, port: int, base_env: Mapping[str, str]) -> Launch:
    """The command line and environment of the server. Every setting stands in it, so it can be repeated by hand."""
    argv = (
        *(sys.executable, "-m", "rig.cli", "serve", "golden", "--host", config.host, "--port", str(port)),
        *("--served-model-name", config.served_model_name, "--record", str((work / RECORD_FILE).resolve())),
        *_flags(config.golden),
        *_flags(config.duplex_session),
    )
    return Launch(argv, dict(base_env), config.host, port)


def flag(field: str) -> str:
    """The command line's name of a setting."""
    return "--fault" if field == "faults" else f"--{field.replace('_', '-')}"


def _flags(settings: Golden | Duplex) -> list[str]:
    words: list[str] = []
    for name, value in _values(settings).items():
        for one in value if isinstance(value, tuple) else (value,):
            words += [flag(name), str(one)]
    return words


def _values(settings: StrictModel) -> dict[str, object]:
    return {name: getattr(settings, name) for name in type(settings).model_fields}
