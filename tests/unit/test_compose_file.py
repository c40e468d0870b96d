"""The compose file and the Dockerfile: what they name is there, and what must come first does."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from pgrecall.faces.cli.main import app
from pgrecall.settings import Settings

pytest.importorskip("pgrecall.faces.cli.commands.serve", reason="needs the extra http")

ROOT = Path(__file__).resolve().parents[2]
CONDITIONS = {"service_started", "service_healthy", "service_completed_successfully"}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return document


@pytest.fixture(scope="module")
def dockerfile() -> str:
    return (ROOT / "Dockerfile").read_text()


def command_of(words: list[str]) -> Any:
    """The command of the command line that these words call, its options checked."""
    command: Any = app
    rest = list(words)
    while rest and isinstance(command, click.Group):
        command = command.get_command(click.Context(command), rest.pop(0))
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in rest if word.startswith("--")} <= known
    return command


def services(compose: dict[str, Any], *, ours: bool) -> dict[str, Any]:
    return {name: it for name, it in compose["services"].items() if (it["image"] == "pgrecall") == ours}


def test_it_has_the_services_and_nothing_else_at_the_top(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == {"db", "migrate", "worker", "server"}
    assert {key for key in compose if not key.startswith("x-")} == {"name", "services", "volumes"}
    assert compose["services"]["db"]["image"] == "pgvector/pgvector:pg18"


def test_our_services_run_commands_that_exist(compose: dict[str, Any], dockerfile: str) -> None:
    assert 'ENTRYPOINT ["pgrecall"]' in dockerfile
    for service in services(compose, ours=True).values():
        assert service["build"]["context"] == "."
        if "entrypoint" not in service:
            assert command_of(service["command"]).name == service["command"][0]
    migrate = compose["services"]["migrate"]
    assert migrate["entrypoint"] == ["sh", "-ec"]
    called = re.findall(r"pgrecall ([a-z].*)$", migrate["command"][0], re.M)
    assert [command_of(line.split()).name for line in called] == ["init", "create", "create"]


def test_each_comes_after_what_it_needs(compose: dict[str, Any]) -> None:
    for name, service in services(compose, ours=True).items():
        needed = service["depends_on"]
        assert {entry["condition"] for entry in needed.values()} <= CONDITIONS
        assert needed["db"] == {"condition": "service_healthy"}
        if name != "migrate":
            assert needed["migrate"] == {"condition": "service_completed_successfully"}
        for other, entry in needed.items():
            checked = "healthcheck" in compose["services"][other]
            assert checked or entry["condition"] != "service_healthy"
    assert compose["services"]["migrate"]["restart"] == "no"


def test_what_lasts_is_checked(compose: dict[str, Any]) -> None:
    duration = re.compile(r"\d+(ms|s|m|h)")
    for name, service in compose["services"].items():
        if name == "migrate":
            continue
        check = service["healthcheck"]
        assert check["test"][0] == "CMD"
        assert all(duration.fullmatch(check[key]) for key in ("interval", "timeout", "start_period"))
        assert isinstance(check["retries"], int)
        assert service["restart"] == "unless-stopped"
    for name in ("worker", "server"):  # no Python, which would start at every check
        assert compose["services"][name]["healthcheck"]["test"][1:3] == ["bash", "-c"]


def test_settings_are_those_there_are_and_secrets_come_from_outside(compose: dict[str, Any]) -> None:
    known = {f"PGRECALL_{name.upper()}" for name in Settings.__dataclass_fields__}
    for service in services(compose, ours=True).values():
        given = service["environment"]
        assert {name for name in given if name.startswith("PGRECALL_")} <= known
        for name in given.keys() & {"PGPASSWORD", "APP_PASSWORD", "WORKER_PASSWORD"}:
            assert re.match(r"\$\{[A-Z_]+_PASSWORD:\?", given[name]), name
        for name, value in given.items():
            assert "KEY" not in name or value is None
        assert "@db:5432/" in given["PGRECALL_DATABASE_URL"]
    assert compose["services"]["db"]["environment"]["POSTGRES_PASSWORD"].startswith("${POSTGRES_PASSWORD:?")


def test_each_service_is_a_role_of_its_own(compose: dict[str, Any]) -> None:
    made = dict(re.findall(r"roles create (\w+) (.*)$", compose["services"]["migrate"]["command"][0], re.M))
    assert made == {"pgrecall_app": "--any-tenant", "pgrecall_worker": "--any-tenant --worker"}
    users, passwords = {}, {}
    for name, service in services(compose, ours=True).items():
        url = service["environment"]["PGRECALL_DATABASE_URL"]
        users[name] = re.findall(r"//(\w+)@", url)[0]
        passwords[name] = service["environment"]["PGPASSWORD"]
    assert users == {"migrate": "pgrecall", "worker": "pgrecall_worker", "server": "pgrecall_app"}
    given = compose["services"]["migrate"]["environment"]
    assert (passwords["server"], passwords["worker"]) == (given["APP_PASSWORD"], given["WORKER_PASSWORD"])
    assert len(set(passwords.values())) == 3


def test_only_the_service_is_published_and_only_to_this_machine(compose: dict[str, Any]) -> None:
    published = {name: it["ports"] for name, it in compose["services"].items() if "ports" in it}
    assert set(published) == {"server"}
    [port] = published["server"]
    assert port.startswith("127.0.0.1:")
    assert port.endswith(":" + compose["services"]["server"]["environment"]["PGRECALL_HTTP_PORT"])


def test_memories_are_in_a_named_volume(compose: dict[str, Any]) -> None:
    [volume] = compose["services"]["db"]["volumes"]
    name, _, target = volume.partition(":")
    assert name in compose["volumes"]
    assert target == "/var/lib/postgresql"


def test_the_image_is_made_of_what_is_there(dockerfile: str) -> None:
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile, re.M)
    names = {name for line in copied for name in line.split()}
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert names == let_in
    assert all((ROOT / name).exists() for name in names)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    [extras] = re.findall(r"^ARG EXTRAS=(\S+)$", dockerfile, re.M)
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    assert "USER pgrecall" in dockerfile
