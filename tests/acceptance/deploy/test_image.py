"""The Dockerfile and its neighbours agree with each other and with the package; the tests need no Docker."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatch
from pathlib import Path

import yaml

from tests.acceptance.deploy.compose_tools import ENTRYPOINT, ROOT

INSTRUCTIONS = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text(encoding="utf-8"))


def instructions(stage: str, name: str) -> list[str]:
    """The arguments of an instruction in one stage, in order."""
    [text] = [
        part for part in re.split(r"^(?=FROM )", INSTRUCTIONS, flags=re.M) if re.match(stage, part, re.M)
    ]
    return re.findall(rf"^{name} (.*)$", text, re.M)


def test_what_is_copied_is_in_the_context() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    kept = {line.removeprefix("!") for line in lines if line.startswith("!")}
    copied = [
        source
        for line in re.findall(r"^COPY (?!--from)(.*)$", INSTRUCTIONS, re.M)
        for source in line.split()[:-1]
    ]
    assert {Path(source).name for source in copied} == kept
    assert all((ROOT / source).exists() for source in copied)
    assert any(fnmatch("pgrecall/__pycache__", line) for line in lines)


def test_an_edit_of_the_source_leaves_the_dependencies_as_they_are() -> None:
    [copied] = instructions("FROM .* AS dependencies", "COPY")
    assert copied.split() == ["pyproject.toml", "setup.py", "constraints.txt", "./"]
    last = instructions("FROM .*slim$", "COPY")
    assert [line.split()[0] for line in last] == ["--from=dependencies", "--from=package"]


def test_compose_gives_the_arguments_that_the_image_takes() -> None:
    build = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["x-pgrecall"]["build"]
    taken = {line.split("=")[0] for line in re.findall(r"^ARG (.*)$", INSTRUCTIONS, re.M)}
    assert build["args"].keys() == taken
    default = re.search(r"^ARG EXTRAS=(.*)$", INSTRUCTIONS, re.M)
    assert default is not None
    assert default[1] in build["args"]["EXTRAS"]


def test_it_runs_the_command_as_a_user_who_owns_the_volume() -> None:
    [entrypoint] = instructions("FROM .*slim$", "ENTRYPOINT")
    assert tuple(json.loads(entrypoint)) == ENTRYPOINT
    [user] = instructions("FROM .*slim$", "USER")
    folder = f"-o {user} -g {user} /var/lib/pgrecall"
    assert any(folder in line for line in instructions("FROM .*slim$", "RUN"))
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]
    mounted = [volume for service in ("worker", "server") for volume in services[service]["volumes"]]
    assert mounted == ["models:/var/lib/pgrecall"] * 2
    assert "PGRECALL_DATA_DIR=/var/lib/pgrecall" in INSTRUCTIONS
