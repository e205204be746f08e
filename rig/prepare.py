"""What a run needs before it begins: its files read and checked, its plan drawn, its folder made; nothing started."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rig.bus import preflight as bus_preflight
from rig.bus.address import Address
from rig.config.bus import BusKind
from rig.config.load import AnyPipeline, as_it_is, line_of, load_both
from rig.config.overrides import AS_WRITTEN, Overrides, pipeline_written_with, written_with
from rig.config.pipeline import ExternalServer, GoldenPipeline, PipelineConfig
from rig.config.run import RunConfig
from rig.config.variant import Variant
from rig.drive import WEB_HOST
from rig.elsewhere import Elsewhere
from rig.errors import ConfigError, UsageError
from rig.folder import make_folder
from rig.golden import faults
from rig.metrics.endpoint import serving
from rig.pipeline import preflight
from rig.plan import Plan, make_plan, replayed_sha256

ALL_HERE = Elsewhere()


@dataclass(frozen=True)
class Prepared:
    """A run that can begin."""

    config: RunConfig
    pipeline: AnyPipeline
    plan: Plan
    folder: Path
    broker: Address | None
    elsewhere: Elsewhere


def check_faults(pipeline: AnyPipeline, pipeline_file: Path) -> None:
    """Raises ConfigError for a fault of the golden server that cannot be read."""
    if not isinstance(pipeline, GoldenPipeline):
        return
    try:
        faults.parse(pipeline.golden.faults)
    except UsageError as error:
        key = "golden.faults"
        problem, _, remedy = str(error).partition("; ")
        raise ConfigError(pipeline_file, line_of(pipeline_file, key), key, problem, remedy) from error


def prepare(
    run_file: Path,
    results: Path,
    overrides: Overrides = AS_WRITTEN,
    variant: Variant | None = None,
    *,
    boots: bool = True,
    told: Mapping[str, object] | None = None,
    elsewhere: Elsewhere = ALL_HERE,
) -> Prepared:
    """Read and check a run and make its folder. `boots`: it starts a server, for which the machine must have room.

    `told` is added to the provenance. Raises UsageError.
    """
    edit = as_it_is if variant is None else variant.apply
    config, pipeline, pipeline_file = load_both(run_file, overrides, edit)
    check_faults(pipeline, pipeline_file)
    if not isinstance(pipeline, ExternalServer) and boots and elsewhere.server is None:
        preflight.check(pipeline)
    bus = None
    if config.bus.chosen is BusKind.EXTERNAL:
        bus = bus_preflight.address_of(config.bus, run_file)
        bus_preflight.check(bus, run_file)
    if config.load.web_port is not None:
        preflight.check_web_port(WEB_HOST, config.load.web_port)
        if config.metrics.enabled and config.metrics.port == config.load.web_port:
            problem = f"/metrics and Locust's web UI cannot both have port {config.load.web_port}"
            raise UsageError(f"{problem}; give another with --metrics-port or --web-port")
    plan = make_plan(config, run_file)
    all_told = {
        "replayed_sha256": replayed_sha256(config, run_file),
        # None where somebody else runs the server: what is patched there is not known.
        "engine_patches": list(pipeline.patches) if isinstance(pipeline, PipelineConfig) else None,
        "engine_bugs": list(pipeline.bugs) if isinstance(pipeline, PipelineConfig) else None,
        "recorder": pipeline.recorder if isinstance(pipeline, PipelineConfig) else None,
        **elsewhere.told(),
        **(told or {}),
    }
    run_text = written_with(run_file, overrides)
    if variant is None:
        pipeline_text = pipeline_written_with(pipeline_file, overrides)
    else:
        pipeline_text = variant.written(pipeline_file)
    with serving(config.metrics):
        pass  # The address can be had: whoever serves there says so before there is a folder.
    bugs = pipeline.bugs if isinstance(pipeline, PipelineConfig) else ()
    folder = make_folder(results, run_file, pipeline_text, plan, run_text, all_told, bugs)
    return Prepared(config, pipeline, plan, folder, bus, elsewhere)
