"""docker-compose.yml without Docker: its services as processes, with its commands and its environments."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from tests.acceptance.cli.command_tools import put_program
from tests.waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[3]
ENTRYPOINT = ("pgrecall",)
"""Of the Dockerfile, which test_image compares."""

_VARIABLE = re.compile(r"\$(?:(?P<dollar>\$)|\{(?P<name>\w+)(?::(?P<kind>[-?])(?P<rest>[^}]*))?\})")


def interpolated(value: Any, variables: Mapping[str, str]) -> Any:
    """A value of the file with ``$$``, ``${NAME}``, ``${NAME:-default}`` and ``${NAME:?error}`` replaced."""
    if isinstance(value, Mapping):
        return {name: interpolated(each, variables) for name, each in value.items()}
    if isinstance(value, list):
        return [interpolated(each, variables) for each in value]
    if not isinstance(value, str):
        return value

    def replaced(found: re.Match[str]) -> str:
        if found["dollar"]:
            return "$"
        given = variables.get(found["name"], "")
        if not given and found["kind"] == "?":
            raise KeyError(f"{found['name']}: {found['rest']}")
        return given or (found["rest"] if found["kind"] == "-" else "") or ""

    return _VARIABLE.sub(replaced, value)


def services(variables: Mapping[str, str]) -> Mapping[str, Any]:
    """The services of the file for one .env.

    Raises:
        KeyError: a variable that the file requires is missing.
    """
    document = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    found: Mapping[str, Any] = interpolated(document["services"], variables)
    return found


@dataclass
class Compose:
    """The services of the file for one .env, on ports of this machine and a server at a socket.

    Attributes:
        variables: what .env has.
        socket: the folder of the server's socket, in place of the host ``db``.
        ports: a free port of this machine for each port of the file.
        folder: where the command ``pgrecall`` is put, and logs are.
    """

    variables: Mapping[str, str]
    socket: str
    ports: Mapping[str, str]
    folder: Path
    services: Mapping[str, Any] = field(init=False)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    stack: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        self.services = services(self.variables)
        program = self.folder / "bin" / "pgrecall"
        program.parent.mkdir()
        put_program(program)

    def configure(self, **variables: str) -> None:
        """Changes .env."""
        self.variables = {**self.variables, **variables}
        self.services = services(self.variables)

    def environment(self, service: str) -> dict[str, str]:
        """The environment of a container: PATH, what the file sets, and what it passes on from .env."""
        given = self.services[service]["environment"]
        passed = {name: self.variables.get(name) if value is None else value for name, value in given.items()}
        environment = {name: self._here(value) for name, value in passed.items() if value is not None}
        return environment | {
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.folder),
            "PGRECALL_DATA_DIR": str(self.folder / "models"),
        }

    def run(self, service: str, *command: str) -> subprocess.CompletedProcess[str]:
        """``docker compose exec``, or without a command the service itself to its end."""
        return subprocess.run(
            command or self._command(service),
            env=self.environment(service),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def start(self, service: str) -> None:
        """Starts a service that goes on; it is killed at the end of the test."""
        log = self.stack.enter_context(self.log(service).open("ab"))
        process = subprocess.Popen(
            self._command(service),
            env=self.environment(service),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        self.stack.callback(process.wait)
        self.stack.callback(process.kill)
        self.running[service] = process

    def stop(self, service: str) -> int:
        """SIGTERM, as ``docker compose stop``; returns the exit code."""
        process = self.running.pop(service)
        process.terminate()
        return process.wait(PATIENCE)

    def healthy(self, service: str) -> bool:
        """Whether the check of the service succeeds."""
        kind, *check = self.services[service]["healthcheck"]["test"]
        assert kind == "CMD"
        assert service not in self.running or self.running[service].poll() is None, self.log(
            service
        ).read_text()
        return self.run(service, *map(self._here, check)).returncode == 0

    def log(self, service: str) -> Path:
        return self.folder / f"{service}.log"

    def _command(self, service: str) -> list[str]:
        described = self.services[service]
        return [*described.get("entrypoint", ENTRYPOINT), *map(self._here, described["command"])]

    def _here(self, value: str) -> str:
        """A value with the host and the ports of the file replaced by those of this machine."""
        moved = re.sub(r"@db:5432/(\w+)$", rf"@/\1?host={quote(self.socket, safe='')}", value)
        return self.ports.get(moved, moved)
