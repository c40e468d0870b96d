"""The programs of Postgres that backups need: which of them fit a server, and running them."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import IO, Literal

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgrecall.embedded.cluster import find_wheel
from pgrecall.errors import DatabaseError, InvalidInput, MissingExtra
from pgrecall.settings import environment_variables

Name = Literal["pg_dump", "pg_restore"]

POLL_SECONDS = 0.1
_END_SECONDS = 5.0
_SECRETS = {"password": "PGPASSWORD", "sslpassword": None}
"""Parts of a URL that other users could see on a command line, and the variable that passes each on."""


class BrokenOff(Exception):
    """The caller asked a program to stop; it has ended and left nothing."""


def find_program(name: Name, server_version: int) -> Path:
    """Finds a program for a server: the embedded one or that on the PATH, whichever is nearer to its version.

    Args:
        server_version: as Postgres counts it, such as 180006.

    Raises:
        InvalidInput: there is none, or only older ones, which could not read the server.
    """
    wanted = server_version // 10_000
    found = {path: major for path in _candidates(name) if (major := _major(path)) is not None}
    if fitting := [path for path, major in found.items() if major >= wanted]:
        return min(fitting, key=found.__getitem__)
    older = ", ".join(f"{path} is of version {major}" for path, major in found.items())
    raise InvalidInput(
        f"Backups of this server need {name} of Postgres {wanted} or newer; "
        f"{older or 'there is none on the PATH'}.",
        hint=f"Install the client programs of Postgres {wanted} (the package postgresql-client-{wanted} on "
        "Debian and Ubuntu), or pgrecall[embedded], which brings those of its own version.",
    )


def _candidates(name: Name) -> list[Path]:
    paths = []
    with suppress(MissingExtra):
        paths.append(find_wheel() / "pginstall" / "bin" / name)
    if (on_path := shutil.which(name)) is not None:
        paths.append(Path(on_path))
    return paths


def _major(path: Path) -> int | None:
    """The major version of a program; None if it cannot be run."""
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, errors="replace", timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = re.search(r"\(PostgreSQL\) (\d+)", done.stdout)
    return int(said[1]) if said and done.returncode == 0 else None


def connection_arguments(url: str) -> tuple[Sequence[str], Mapping[str, str]]:
    """The arguments that name a database, without passwords, and the variables that hold these.

    Raises:
        InvalidInput: the URL holds the password of a key file, which can be passed on in no other way.
    """
    parts = conninfo_to_dict(url)
    secrets = {name: str(parts.pop(name)) for name in _SECRETS if parts.get(name)}
    if "sslpassword" in secrets:
        raise InvalidInput(
            "The programs of Postgres would show the sslpassword of this URL to other users.",
            hint="Use a key file without a password for backups.",
        )
    variables = {
        variable: secrets[name] for name, variable in _SECRETS.items() if variable and name in secrets
    }
    return [
        "--no-password",
        f"--dbname={make_conninfo(**{name: str(value) for name, value in parts.items()})}",
    ], variables


def run_program(
    command: Sequence[str | Path],
    *,
    variables: Mapping[str, str] | None = None,
    output: int = subprocess.DEVNULL,
    stop: Event | None = None,
    progress: Callable[[], None] = lambda: None,
) -> None:
    """Runs a program to its end.

    Args:
        variables: added to the environment.
        output: file descriptor of its standard output.
        stop: once set, the program is ended.
        progress: called several times a second while it runs.

    Raises:
        DatabaseError: the program failed; in its words.
        BrokenOff: ``stop`` was set.
    """
    with _running(command, output, variables) as process:
        while process.poll() is None:
            if stop is not None and stop.is_set():
                raise BrokenOff
            progress()
            with suppress(subprocess.TimeoutExpired):
                process.wait(POLL_SECONDS)
    progress()


@contextmanager
def lines_of(command: Sequence[str | Path]) -> Iterator[IO[bytes]]:
    """The standard output of a program while it runs; all of it has to be read.

    Raises:
        DatabaseError: the program failed; in its words.
    """
    with _running(command, subprocess.PIPE, None) as process:
        assert process.stdout is not None
        with process.stdout as lines:
            yield lines
        process.wait()


@contextmanager
def _running(
    command: Sequence[str | Path], output: int, variables: Mapping[str, str] | None
) -> Iterator[subprocess.Popen[bytes]]:
    """A program that runs; ended where the block fails. Its own failure is raised at the end."""
    environment = {**environment_variables(), **(variables or {}), "LC_ALL": "C"}
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=environment
        )
        try:
            yield process
        finally:
            _end(process)
        if process.returncode != 0:
            errors.seek(0)
            raise DatabaseError(_sentence(Path(command[0]).name, process.returncode, errors.read(1_000_000)))


def output_of(command: Sequence[str | Path]) -> str:
    """The standard output of a program, as text.

    Raises:
        DatabaseError: the program failed; in its words.
    """
    with lines_of(command) as lines:
        return lines.read().decode("utf-8", "replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a program that still runs; its transaction leaves nothing behind."""
    if process.poll() is not None:
        return
    process.terminate()
    deadline = time.monotonic() + _END_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(subprocess.TimeoutExpired):
            process.wait(POLL_SECONDS)
    if process.poll() is None:
        process.kill()
        process.wait()


def _sentence(name: str, code: int, said: bytes) -> str:
    """What a program said of its failure: the first error, which the others follow from."""
    if code < 0:
        return f"{name} was ended by {signal.Signals(-code).name}."
    lines = said.decode("utf-8", "replace").splitlines()
    errors = [line for line in lines if "error:" in line] or lines or [f"{name} failed with exit code {code}"]
    reason = errors[0].removeprefix(f"{name}: ").removeprefix("error: ").strip().rstrip(".")
    return f"{name} failed: {reason}."
