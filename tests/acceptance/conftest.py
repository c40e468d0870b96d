"""The command `pgrecall` as fixtures, as a process and quicker in this one; a database for a whole file."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from pgrecall.embedded.shared_server import EmbeddedServer
from tests.acceptance.cli.command_tools import (
    Command,
    CommandLine,
    Ended,
    command_line,
    environment,
    run_here,
    whole_command_line,
    without_progress,
)
from tests.acceptance.http.http_tools import Served, serving
from tests.databases import new_database
from tests.given_server import own_server_only
from tests.server_folders import server_folder
from tests.waiting import PATIENCE, until


@pytest.fixture(scope="module")
def url(server: EmbeddedServer, template: str) -> Iterator[str]:
    """A migrated database that the tests of a file share."""
    yield from new_database(server, template)


@pytest.fixture(scope="module")
def keys() -> object:
    """The keys that there are when the service of a file starts: none, but where the file makes some."""
    return {}


@pytest.fixture(scope="module")
def served(url: str, keys: object) -> Iterator[Served]:
    """A service for all tests of a file."""
    with serving(url) as running:
        yield running


@pytest.fixture
def process(tmp_path: Path) -> Command:
    """Runs the command as a process without a database; ``settings`` become PGRECALL_ variables."""
    return _in_processes(tmp_path, command_line)


@pytest.fixture
def whole_process(tmp_path: Path) -> Command:
    """The same with an interpreter of its own, as a user does."""
    return _in_processes(tmp_path, whole_command_line)


def _in_processes(tmp_path: Path, command: CommandLine) -> Command:
    def run(*arguments: str | bytes, stdin: bytes = b"", **settings: str) -> Ended:
        done = subprocess.run(
            command(*arguments),
            input=stdin,
            capture_output=True,
            env=environment(**settings),
            cwd=tmp_path,
            timeout=PATIENCE,
            check=False,
        )
        ended = Ended(done.returncode, done.stdout.decode(), without_progress(done.stderr.decode()))
        assert "Traceback" not in ended.err, ended.err
        return ended

    return run


@pytest.fixture
def bare_pgrecall(tmp_path: Path) -> Command:
    """Like ``process``, by the same entry point in this process, which has imported everything already."""

    def run(*arguments: str | bytes, stdin: bytes = b"", **settings: str) -> Ended:
        return run_here(*arguments, folder=tmp_path, variables=environment(**settings), stdin=stdin)

    return run


@pytest.fixture
def pgrecall(bare_pgrecall: Command, database_url: str) -> Command:
    """Runs the command in this process, against a database of its own."""

    def run(*arguments: str | bytes, stdin: bytes = b"", **settings: str) -> Ended:
        return bare_pgrecall(*arguments, stdin=stdin, **{"database_url": database_url, **settings})

    return run


@pytest.fixture
def pgrecall_process(process: Command, database_url: str) -> Command:
    """Runs the command as a process, against the same database of the test's own."""

    def run(*arguments: str | bytes, stdin: bytes = b"", **settings: str) -> Ended:
        return process(*arguments, stdin=stdin, **{"database_url": database_url, **settings})

    return run


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that the embedded server's account may enter when the tests run as root."""
    own_server_only("starts an embedded server")
    with server_folder() as folder:
        yield folder
        for data in folder.iterdir():
            until(partial(_stopped, data), f"the end of the server in {data}")


def _stopped(data: Path) -> bool:
    """Whether no server of this data directory runs. Where its last user was killed, another use stops it."""
    running = data / "postgres" / "postmaster.pid"
    if running.exists():
        EmbeddedServer.start(data, fast=True).release()
    return not running.exists()
