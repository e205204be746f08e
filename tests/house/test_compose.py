"""The compose files hold together by structure; that they run is tried by hand (docs/compose.md)."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from clients.bus import OWN_OPTIONS
from rig.cli import build_parser
from tests.house.test_pins import pinned
from tests.house.tree import ROOT

COMPOSE = ROOT / "docker-compose.yml"
OVERRIDES = [ROOT / "compose.golden.yaml"]
DOCKERFILE = ROOT / "containers" / "Dockerfile"
SCRIPTS = sorted((ROOT / "containers").glob("*.sh"))

DEFAULT = re.compile(r"\$\{[A-Z_]+:-([^}]*)\}")
VARIABLE = re.compile(r"(?<!\$)\$\{([A-Z_]+)")
PINNED_IMAGE = re.compile(r"[a-z0-9./-]+:v?[0-9]+\.[0-9]+(\.[0-9]+)?[a-z0-9.-]*")
OWN_IMAGE = re.compile(r"omni-realtime-rig:(callers|engine-cpu|engine-gpu)")
SECRET = re.compile(r"PASSWORD|TOKEN|SECRET|KEY")

NO_HEALTH_CHECK = {"rig", "rig-gpu"}
"""Last to start and first to end; the file says so beside them."""

OUTSIDE = {"UID", "GID", "BASE_IMAGE", "BROKER_IMAGE", "RIG_RESULTS_DIR", "RIG_WORKERS", "RIG_RUN_FILE", "HF_CACHE"}
"""Variables of the compose files alone: the user's, explained in docs/compose.md."""


def services(path: Path = COMPOSE) -> dict[str, dict[str, Any]]:
    """The services with anchors and merges resolved."""
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    found: dict[str, dict[str, Any]] = content["services"]
    return found


def with_defaults(text: str) -> str:
    """What compose makes of a value when no variable is set."""
    return DEFAULT.sub(r"\1", text)


def mounts(service: dict[str, Any]) -> list[tuple[str, str]]:
    """Source and target of each volume."""
    parts = [with_defaults(volume).split(":") for volume in service.get("volumes", [])]
    return [(part[0], part[1]) for part in parts]


def environment(service: dict[str, Any]) -> dict[str, str]:
    """Environment of a service."""
    found: dict[str, str] = service.get("environment", {})
    return found


NAMES = sorted(services())


@pytest.mark.parametrize("name", NAMES)
def test_every_mounted_path_is_in_the_checkout_or_a_named_volume(name: str) -> None:
    volumes = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["volumes"]
    for source, _ in mounts(services()[name]):
        if (
            source.startswith(("./configs/prometheus", "./configs/grafana"))
            and not (ROOT / "configs/prometheus").exists()
        ):
            pytest.skip("this checkout has no configs for Prometheus and Grafana")
        if source.startswith("./"):
            assert (ROOT / source).exists(), source
        elif not source.startswith(("/", "~")):
            assert source in volumes


@pytest.mark.parametrize("name", NAMES)
def test_every_image_is_pinned(name: str) -> None:
    image = with_defaults(services()[name]["image"])
    assert "latest" not in image
    assert PINNED_IMAGE.fullmatch(image) or OWN_IMAGE.fullmatch(image)
    if OWN_IMAGE.fullmatch(image):
        assert services()[name]["build"]["target"] == image.partition(":")[2]


@pytest.mark.parametrize("name", NAMES)
def test_every_service_has_a_health_check_or_a_reason_for_none(name: str) -> None:
    assert ("healthcheck" in services()[name]) != (name in NO_HEALTH_CHECK)


@pytest.mark.parametrize("name", NAMES)
def test_no_service_runs_as_root_writes_its_image_or_gains_rights(name: str) -> None:
    service = services()[name]
    assert not with_defaults(str(service["user"])).startswith("0")
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


@pytest.mark.parametrize("name", NAMES)
def test_a_service_waits_only_for_services_that_are_there(name: str) -> None:
    for other, how in services()[name].get("depends_on", {}).items():
        assert how["condition"] == "service_healthy"
        assert "healthcheck" in services()[other]


def test_services_that_share_a_run_share_results_control_and_user() -> None:
    ours = [service for service in services().values() if OWN_IMAGE.fullmatch(service["image"])]
    assert len(ours) >= 3
    for service in ours:
        assert {"/results", "/run/rig", "/app/configs"} <= {target for _, target in mounts(service)}
        assert service["user"] == ours[0]["user"]


def test_the_network_of_a_run_leads_nowhere_and_only_these_services_have_another() -> None:
    assert yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["networks"]["rig"]["internal"] is True
    outside = {name for name, service in services().items() if "outside" in service["networks"]}
    assert outside == {"server-gpu", "prometheus", "grafana"}


def test_ports_are_published_to_this_host_alone() -> None:
    ports = [port for service in services().values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_without_a_profile_a_run_has_what_it_needs_and_no_more() -> None:
    assert {name for name, service in services().items() if "profiles" not in service} == {
        "broker",
        "server",
        "worker",
        "rig",
    }


def test_the_gpu_profile_reserves_gpus_and_says_where_weights_are() -> None:
    server = services()["server-gpu"]
    (device,) = server["deploy"]["resources"]["reservations"]["devices"]
    assert (device["driver"], device["capabilities"]) == ("nvidia", ["gpu"])
    assert server["ulimits"]["memlock"] == -1
    targets = {target for _, target in mounts(server)}
    assert server["environment"]["HF_HOME"] in targets


@pytest.mark.parametrize("path", [COMPOSE, *OVERRIDES], ids=lambda path: str(path.name))
def test_every_variable_is_known_and_no_secret_has_a_value(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    known = OUTSIDE | {"RIG_BUS_PASSWORD", "HF_TOKEN"}
    assert set(VARIABLE.findall(text)) <= known
    for service in services(path).values():
        for name, value in environment(service).items():
            if SECRET.search(name):
                assert with_defaults(value) == "", f"{name} has a default"


@pytest.mark.parametrize("path", [COMPOSE, *OVERRIDES], ids=lambda path: str(path.name))
def test_no_secret_is_a_build_argument(path: Path) -> None:
    for service in services(path).values():
        for name in service.get("build", {}).get("args", {}):
            assert not SECRET.search(name)
    declared = re.findall(r"^ARG ([A-Z_]+)", DOCKERFILE.read_text(encoding="utf-8"), re.MULTILINE)
    assert declared
    assert not [name for name in declared if SECRET.search(name)]


def test_an_override_changes_only_services_that_are_there() -> None:
    for path in OVERRIDES:
        assert set(services(path)) <= set(services())
        for service in services(path).values():
            run_file = with_defaults(environment(service)["RIG_RUN_FILE"])
            assert (ROOT / run_file).is_file()


def test_every_run_file_named_is_there() -> None:
    named = [with_defaults(environment(service).get("RIG_RUN_FILE", "")) for service in services().values()]
    assert any(named)
    assert [name for name in named if name and not (ROOT / name).is_file()] == []


def test_the_image_installs_the_pins_with_the_set_ups_own_uv() -> None:
    text = DOCKERFILE.read_text(encoding="utf-8")
    lists = re.findall(r"requirements/([a-z-]+)\.txt", text)
    assert set(lists) == {"core", "engine-cpu", "engine-gpu"}
    assert all(pinned(name) for name in lists)
    version = re.search(r"^uv_version=(\S+)", (ROOT / "scripts/setup.sh").read_text(encoding="utf-8"), re.MULTILINE)
    assert version is not None
    assert f"ARG UV_VERSION={version[1]}\n" in text
    assert PINNED_IMAGE.fullmatch(re.findall(r"^ARG BASE_IMAGE=(\S+)", text, re.MULTILINE)[0])


def test_what_the_image_copies_is_let_through_by_dockerignore() -> None:
    allowed = [
        line.removeprefix("!")
        for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
        if line.startswith("!")
    ]
    for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE.read_text(encoding="utf-8"), re.MULTILINE):
        *sources, _ = line.split()
        for source in sources:
            assert (ROOT / source).exists(), source
            assert any(Path(source).match(pattern) for pattern in allowed), source


def test_the_entrypoint_calls_rig_and_locust_with_options_that_they_know() -> None:
    text = (ROOT / "containers/entrypoint.sh").read_text(encoding="utf-8")
    used = set(re.findall(r"(--[a-z][a-z-]+)", text.partition("exec rig run")[2].partition(";;")[0]))
    if (ROOT / "configs/prometheus").exists():
        used |= {"--metrics-port", "--metrics-host"}
    assert used >= {"--server-host", "--workers", "--bus-url"}
    arguments = [word for option in sorted(used) for word in (option, "1")]
    build_parser().parse_args(["run", "run.yaml", *arguments])
    hosted = set(text.partition("serve_until_over rig host")[2].partition(";;")[0].split()) & {
        "--listen",
        "--serve-on",
        "--serve-port",
        "--results",
        "--token-file",
    }
    assert len(hosted) == 5
    build_parser().parse_args(["host", *(word for option in sorted(hosted) for word in (option, "1"))])
    assert "rig_bus_password_env" in OWN_OPTIONS


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.name))
def test_the_scripts_are_plain_posix_shell(script: Path) -> None:
    answer = subprocess.run(["dash", "-n", str(script)], capture_output=True, text=True, timeout=20, check=False)
    assert answer.stderr == ""
    assert "[[" not in script.read_text(encoding="utf-8")
