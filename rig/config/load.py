"""Reading a config file: YAML to a strict model, with the line of every mistake."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from rig.config.overrides import AS_WRITTEN, Edit, Overrides
from rig.config.pipeline import ExternalServer, GoldenPipeline, PipelineConfig, resolve_pipeline_path, whole_bug
from rig.config.run import RunConfig
from rig.errors import ConfigError, UsageError, nearest

Model = TypeVar("Model", bound=BaseModel)
Location = tuple[str | int, ...]
AnyPipeline = PipelineConfig | GoldenPipeline | ExternalServer

MAX_DEPTH = 50
"""Levels of settings within settings; the deepest that a config has is below 10."""

_TEXT_TAGS = frozenset({"tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"})


def load_run(path: Path) -> RunConfig:
    """Read a run file. Raises ConfigError for the first mistake, in the order of the file."""
    return load_model(path, RunConfig)


def as_it_is(data: dict[str, Any]) -> dict[str, Any]:
    """The edit that changes nothing."""
    return data


def load_pipeline(path: Path, overrides: Overrides = AS_WRITTEN, edit: Edit = as_it_is) -> AnyPipeline:
    """Read a pipeline file: with a `url` it is a server that somebody else runs, with `golden` the golden server."""
    keys = {key.value for key, _ in _compose(path).value}
    if "url" not in keys and "golden" not in keys:
        config = load_model(path, PipelineConfig, lambda data: overrides.apply_to_pipeline(edit(data)))
        return _with_bug_files(config, path)
    if given := overrides.engine_flags():
        raise UsageError(f"{given[0]}: {path} starts no engines that could be changed")
    return load_model(path, ExternalServer, edit) if "url" in keys else load_model(path, GoldenPipeline, edit)


def _with_bug_files(config: PipelineConfig, path: Path) -> PipelineConfig:
    """Bugs that are files lie beside the pipeline file."""
    return config.model_copy(update={"bugs": tuple(whole_bug(bug, path.parent) for bug in config.bugs)})


def load_both(
    run_file: Path, overrides: Overrides = AS_WRITTEN, edit_pipeline: Edit = as_it_is
) -> tuple[RunConfig, AnyPipeline, Path]:
    """Read a run file and the pipeline file it names; the third value is the path of the latter."""
    run = load_model(run_file, RunConfig, overrides.apply)
    try:
        pipeline_file = resolve_pipeline_path(run_file, run.pipeline)
    except (OSError, ValueError):
        pipeline_file = run.pipeline  # a name that no file can have
    if not _is_file(pipeline_file):
        siblings = [str(run.pipeline.parent / name) for name in _siblings(pipeline_file)]
        raise ConfigError(
            run_file,
            _lines(_compose(run_file)).get(("pipeline",)),
            "pipeline",
            f"there is no file {run.pipeline} beside this one",
            nearest(str(run.pipeline), siblings),
        )
    return run, load_pipeline(pipeline_file, overrides, edit_pipeline), pipeline_file


def load_model(path: Path, model: type[Model], edit: Edit = as_it_is) -> Model:
    """Read `path` as `model`, after an `edit` of its data. Raises ConfigError naming file, line, key and remedy."""
    node = _compose(path)
    data = edit(_plain(path, node))
    lines = _lines(node)
    try:
        # JSON mode lets strings become enums and paths, and is strict on everything else ("3" is no number).
        return model.model_validate_json(json.dumps(data, default=str), strict=True)
    except ValidationError as error:
        first = min(error.errors(), key=lambda item: _order(lines, item))
        raise _explain(path, lines, model, first) from error


def line_of(path: Path, key: str) -> int | None:
    """The line, from 1, of a setting given by its dotted path; None where the file leaves it out."""
    lines = _lines(_compose(path))
    parts = tuple(key.split("."))
    return next((lines[parts[:end]] for end in range(len(parts), 0, -1) if parts[:end] in lines), None)


def _compose(path: Path) -> yaml.MappingNode:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ConfigError(path, None, None, "no such file", nearest(path.name, _siblings(path))) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(path, None, None, f"cannot be read ({error})", "give a readable YAML file") from error
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise _not_yaml(path, error) from error
    except RecursionError as error:
        raise ConfigError(path, None, None, "nested too deeply", "write fewer levels") from error
    if not isinstance(node, yaml.MappingNode):
        raise ConfigError(path, 1, None, "the file holds no settings", "write `key: value` lines")
    _refuse_endless(path, node, ())
    return node


def _refuse_endless(path: Path, node: yaml.Node, above: tuple[yaml.Node, ...]) -> None:
    """An alias may name what it stands in, and everything that follows walks down the nodes."""
    line = node.start_mark.line + 1
    if any(node is other for other in above):
        raise ConfigError(path, line, None, "stands in itself", "remove the alias")
    if len(above) > MAX_DEPTH:
        raise ConfigError(path, line, None, "nested too deeply", f"write at most {MAX_DEPTH} levels")
    below: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        below = [part for pair in node.value for part in pair]
    elif isinstance(node, yaml.SequenceNode):
        below = node.value
    for part in below:
        _refuse_endless(path, part, (*above, node))


def _not_yaml(path: Path, error: yaml.YAMLError) -> ConfigError:
    line, problem = None, str(error).splitlines()[0]
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        line, problem = error.problem_mark.line + 1, error.problem or problem
    return ConfigError(path, line, None, f"not YAML: {problem}", "correct the syntax")


def _is_file(path: Path) -> bool:
    """Whether it is one; no name is so wrong that this raises."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _siblings(path: Path) -> list[str]:
    try:
        return [other.name for other in path.parent.glob("*.yaml") if other.is_file()]
    except (OSError, ValueError):
        return []


def _plain(path: Path, node: yaml.Node) -> dict[str, Any]:
    """The node as plain data."""
    for location, line, problem, remedy in _bad_keys(node, ()):
        raise ConfigError(path, line, ".".join(map(str, location)), problem, remedy)
    try:
        data = yaml.SafeLoader("").construct_document(node)
    except yaml.YAMLError as error:
        raise _not_yaml(path, error) from error
    assert isinstance(data, dict)
    return data


def _bad_keys(node: yaml.Node, location: Location) -> Iterator[tuple[Location, int, str, str]]:
    """Keys that YAML takes and a config must not: one that stands twice, one that is no text (`on` is true)."""
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = key.value if key.tag in _TEXT_TAGS else str(key.value)
            here = (*location, name)
            if key.tag not in _TEXT_TAGS:
                yield here, key.start_mark.line + 1, "this key is no text to YAML", "put it in quotes"
            elif name in seen:
                yield here, key.start_mark.line + 1, "stands twice", "keep one of them"
            seen.add(name)
            yield from _bad_keys(value, here)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _bad_keys(value, (*location, index))


def _lines(node: yaml.Node) -> dict[Location, int]:
    """The line, from 1, on which each setting stands."""
    lines: dict[Location, int] = {}

    def walk(node: yaml.Node, location: Location) -> None:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                lines[(*location, key.value)] = key.start_mark.line + 1
                walk(value, (*location, key.value))
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                lines[(*location, index)] = value.start_mark.line + 1
                walk(value, (*location, index))

    walk(node, ())
    return lines


def _written(lines: Mapping[Location, int], location: Location) -> Location:
    """The part of a pydantic location that stands in the file: it also names union members and "[key]"."""
    found: Location = ()
    for part in location:
        if (*found, part) in lines:
            found = (*found, part)
    return found


def _order(lines: Mapping[Location, int], error: ErrorDetails) -> tuple[bool, int]:
    """In the order of the file, but what is missing comes last: most often it is there, misspelt."""
    return error["type"] == "missing", lines.get(_written(lines, error["loc"]), 0)


def _explain(path: Path, lines: Mapping[Location, int], model: type[BaseModel], error: ErrorDetails) -> ConfigError:
    location = error["loc"]
    written = _written(lines, location)
    key = ".".join(map(str, written)) or None
    if error["type"] == "extra_forbidden":
        names = _names_at(model, location[:-1])
        return ConfigError(path, lines.get(written), key, "unknown key", nearest(str(location[-1]), names))
    if error["type"] == "missing":
        key = ".".join(map(str, (*written, location[-1])))
        return ConfigError(path, lines.get(written), key, "missing", f"add `{location[-1]}:`")
    problem = error["msg"].removeprefix("Value error, ")
    shown = repr(error["input"]) if isinstance(error["input"], str | int | float | bool) else None
    remedy = _remedy(error)
    return ConfigError(path, lines.get(written), key, problem if shown is None else f"{shown}: {problem}", remedy)


def _remedy(error: ErrorDetails) -> str:
    context = error.get("ctx", {})
    expected = context.get("expected", context.get("expected_tags"))
    given = context.get("tag", error["input"])
    if isinstance(expected, str) and isinstance(given, str):
        return nearest(given, [name.strip(" '") for name in expected.replace(" or ", ",").split(",")])
    return "correct the value"


def _names_at(model: type[BaseModel], location: Location) -> list[str]:
    """The settings that the model allows at a location."""
    current: list[type[BaseModel]] = [model]
    for part in location:
        fields = [owner.model_fields[str(part)] for owner in current if part in owner.model_fields]
        below = [child for field in fields for child in _models(field.annotation)]
        current = below or current
    return sorted({name for owner in current for name in owner.model_fields})


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in get_args(annotation) for found in _models(part)]
