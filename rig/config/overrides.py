"""Settings of the command line that take the place of those in the run file, spelt as in `vllm bench serve`.

They are written into the run folder's copies of the run file and the pipeline file, so that judging reads what was
really run.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from rig.errors import UsageError

Edit = Callable[[dict[str, Any]], dict[str, Any]]

OF_PIPELINE = frozenset({"bugs", "patches"})
"""Settings that change the pipeline file; all others change the run file."""


@dataclass(frozen=True)
class Overrides:
    """None keeps what the file says. A rate makes a closed loop Poisson arrivals; a burstiness means gamma ones.

    `bugs` (names, or whole paths of files) and `patches` come after those of the pipeline file.
    """

    request_rate: float | None = None
    burstiness: float | None = None
    max_concurrency: int | None = None
    seed: int | None = None
    web_port: int | None = None
    metrics_port: int | None = None
    metrics_host: str | None = None
    bus_url: str | None = None
    bus_user: str | None = None
    bus_password_env: str | None = None
    bugs: tuple[str, ...] = ()
    patches: tuple[str, ...] = ()

    def flags(self) -> list[str]:
        """The settings of the run file as they stand on the command line."""
        given = ((name, getattr(self, name)) for name in OF_RUN)
        return [
            f"--{name.replace('_', '-')} {value if isinstance(value, str) else format(value, 'g')}"
            for name, value in given
            if value is not None
        ]

    def engine_flags(self) -> list[str]:
        """The settings of the pipeline file as they stand on the command line."""
        return [*(f"--bug {name}" for name in self.bugs), *(f"--patch {name}" for name in self.patches)]

    def apply_to_pipeline(self, data: dict[str, Any]) -> dict[str, Any]:
        """The settings of a pipeline file with bugs and patches added; what is wrong in the file stays wrong."""
        added: dict[str, Any] = {}
        for key, names in (("bugs", self.bugs), ("patches", self.patches)):
            written = data.get(key, [])
            if names and isinstance(written, list):
                added[key] = [*written, *(name for name in dict.fromkeys(names) if name not in written)]
        return data | added

    def apply(self, data: dict[str, Any]) -> dict[str, Any]:
        """The settings of a run file with these in place; what is wrong in the file stays wrong. Raises UsageError."""
        load = data.get("load")
        if not isinstance(load, dict):
            return data
        load = dict(load)
        if self.request_rate is not None or self.burstiness is not None:
            load["arrivals"] = self._arrivals(load.get("arrivals"))
            load.pop("pause_s", None)
        if self.max_concurrency is not None:
            load["callers"] = self.max_concurrency
        if self.web_port is not None:
            load["web_port"] = self.web_port
        seed = {} if self.seed is None else {"seed": self.seed}
        return data | {"load": load} | seed | self._metrics(data) | self._bus(data)

    def _metrics(self, data: dict[str, Any]) -> dict[str, Any]:
        """A port switches the metrics on; a host alone says only where they would be."""
        written = data.get("metrics", {})
        if not isinstance(written, dict) or (self.metrics_port is None and self.metrics_host is None):
            return {}
        metrics = dict(written)
        if self.metrics_port is not None:
            metrics |= {"enabled": True, "port": self.metrics_port}
        if self.metrics_host is not None:
            metrics["host"] = self.metrics_host
        return {"metrics": metrics}

    def _bus(self, data: dict[str, Any]) -> dict[str, Any]:
        """A url makes the bus another one: nothing that the file says of its own counts."""
        given = {"user": self.bus_user, "password_env": self.bus_password_env}
        chosen = {name: value for name, value in given.items() if value is not None}
        if self.bus_url is not None:
            return {"bus": {"url": self.bus_url, **chosen}}
        written = data.get("bus", {})
        return {"bus": {**written, **chosen}} if chosen and isinstance(written, dict) else {}

    def _arrivals(self, written: object) -> dict[str, Any]:
        arrivals = dict(written) if isinstance(written, dict) else {"kind": "closed"}
        if arrivals.get("kind") == "replay":
            raise UsageError("--request-rate and --burstiness have no meaning for a replay: its plan has the times")
        if self.request_rate is not None:
            arrivals["rate"] = self.request_rate
        if "rate" not in arrivals:
            raise UsageError(
                "--burstiness needs a rate: give --request-rate, or arrivals with a `rate` in the run file"
            )
        if self.burstiness is not None:
            arrivals |= {"kind": "gamma", "burstiness": self.burstiness}
        elif arrivals["kind"] == "closed":
            arrivals["kind"] = "poisson"
        return arrivals


OF_RUN = tuple(field.name for field in fields(Overrides) if field.name not in OF_PIPELINE)
"""Settings that change the run file."""

AS_WRITTEN = Overrides()
"""No override: the files as they are."""


def written_with(run_file: Path, overrides: Overrides) -> str:
    """The text of a run file that is good, with overrides in place; without any, as it is, comments and all."""
    return edited(run_file, overrides.apply, _with(overrides.flags()))


def pipeline_written_with(pipeline_file: Path, overrides: Overrides) -> str:
    """The same for a pipeline file that is good."""
    return edited(pipeline_file, overrides.apply_to_pipeline, _with(overrides.engine_flags()))


def edited(path: Path, edit: Edit, how: str) -> str:
    """The text of a file that is good, after an edit, under a heading that says `how`; without that, as it is."""
    text = path.read_text(encoding="utf-8")
    if not how:
        return text
    data = edit(yaml.safe_load(text))
    heading = f"# {data['question']}\n# {path.name} {how}\n"
    return heading + yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)


def _with(flags: list[str]) -> str:
    return f"with {' '.join(flags)}" if flags else ""
