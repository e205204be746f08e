"""Settings of the command line that take the place of those in the run file, spelt as in `vllm bench serve`.

They are written into the run folder's copy of the run file, so that judging reads what was really run.
"""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from rig.errors import UsageError


@dataclass(frozen=True)
class Overrides:
    """None keeps what the file says. A rate makes a closed loop Poisson arrivals; a burstiness means gamma ones."""

    request_rate: float | None = None
    burstiness: float | None = None
    max_concurrency: int | None = None
    seed: int | None = None
    bus_url: str | None = None
    bus_user: str | None = None
    bus_password_env: str | None = None

    def flags(self) -> list[str]:
        """The settings as they stand on the command line."""
        given = ((field.name, getattr(self, field.name)) for field in fields(self))
        return [
            f"--{name.replace('_', '-')} {value if isinstance(value, str) else format(value, 'g')}"
            for name, value in given
            if value is not None
        ]

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
        return data | {"load": load} | ({} if self.seed is None else {"seed": self.seed}) | self._bus(data)

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


def written_with(run_file: Path, overrides: Overrides) -> str:
    """The text of a run file that is good, with overrides in place; without any, as it is, comments and all."""
    text = run_file.read_text(encoding="utf-8")
    if not overrides.flags():
        return text
    data = overrides.apply(yaml.safe_load(text))
    heading = f"# {data['question']}\n# {run_file.name} with {' '.join(overrides.flags())}\n"
    return heading + yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)
