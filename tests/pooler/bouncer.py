"""PgBouncer as a process, in front of the server of the run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.waiting import PATIENCE, until

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
TRACKS = (1, 21)
"""The first version that can track prepared statements."""

_SETTINGS = """\
[databases]
* = {server}
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = {folder}
unix_socket_mode = 0777
auth_type = trust
auth_file = {folder}/users.txt
pool_mode = {mode}
default_pool_size = {size}
max_client_conn = 200
server_login_retry = 1
verbose = {verbose}
server_round_robin = {round_robin}
{tracking}
"""


@dataclass(frozen=True, slots=True)
class Bouncer:
    """A pooler that runs."""

    folder: Path

    def url(self, direct: str) -> str:
        """The URL through the pooler to the same database as the same role."""
        found = conninfo_to_dict(direct)
        return make_conninfo(
            host=str(self.folder), port=6432, dbname=found["dbname"], user=found.get("user", "postgres")
        )


def version() -> tuple[int, ...]:
    """The version of the program."""
    assert PROGRAM is not None
    said = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"PgBouncer (\d+)\.(\d+)", said)
    assert found is not None, said
    return tuple(map(int, found.groups()))


@contextmanager
def bouncing(
    server_url: str,
    *,
    mode: str = "transaction",
    size: int = 3,
    tracking: bool = False,
    round_robin: bool = False,
    users: tuple[str, ...] = (),
    verbose: int = 0,
) -> Iterator[Bouncer]:
    """Starts PgBouncer in front of a server; skips the test where that cannot be.

    Args:
        size: server connections of a database and role.
        tracking: let it track prepared statements.
        round_robin: let it use all server connections in turn, instead of the latest used.
        users: roles that log in, besides that of the URL.
        verbose: 2 logs the type of each message.
    """
    if PROGRAM is None:
        pytest.skip("PgBouncer is not installed.")
    if tracking and version() < TRACKS:
        pytest.skip(f"PgBouncer {'.'.join(map(str, version()))} cannot track prepared statements; 1.21 can.")
    there = conninfo_to_dict(server_url)
    names = (str(there.get("user", "postgres")), *users)
    with tempfile.TemporaryDirectory(prefix="pgb-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "users.txt").write_text("".join(f'"{user}" ""\n' for user in names))
        known = version() >= TRACKS
        (folder / "pgbouncer.ini").write_text(
            _SETTINGS.format(
                server=f"host={there['host']} port={there.get('port', 5432)}",
                folder=folder,
                mode=mode,
                size=size,
                round_robin=int(round_robin),
                verbose=verbose,
                tracking=f"max_prepared_statements = {100 if tracking else 0}" if known else "",
            )
        )
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(_command(folder, str(there["host"])), stdout=log, stderr=log)
        try:
            bouncer = Bouncer(folder)
            until(lambda: _answers(bouncer.url(server_url), process, folder), "PgBouncer's first answer")
            yield bouncer
        finally:
            process.kill()
            process.wait(PATIENCE)


def _command(folder: Path, host: str) -> list[str]:
    """It refuses to run as root, and only the owner of an embedded server may open its socket."""
    assert PROGRAM is not None
    command = [PROGRAM, str(folder / "pgbouncer.ini")]
    if os.geteuid() != 0:
        return command
    import pwd

    owner = Path(host).stat().st_uid if host.startswith("/") else 0
    account = pwd.getpwuid(owner).pw_name if owner else "nobody"
    shutil.chown(folder, account)
    return [*command[:1], "-u", account, *command[1:]]


def _answers(url: str, process: subprocess.Popen[bytes], folder: Path) -> bool:
    assert process.poll() is None, (folder / "log").read_text()
    try:
        with psycopg.connect(url, connect_timeout=5) as connection:
            connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True
