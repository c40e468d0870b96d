"""`make attack`: two worlds for an outsider to break, and a judge.

Starts a throw-away server with two tenants, hands out a login and a key that are bound to the first, and says
what counts as a breach. Ctrl-C (or SIGTERM) ends it: the second tenant is compared with what it was, and
everything is removed. Exit code 1 if it was changed.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from pgrecall import Memory
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.errors import RecallError
from pgrecall.schema import migrate, roles
from pgrecall.settings import Settings

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
DIMENSIONS = 64
YOURS, THEIRS = "acme", "globex"
VISITOR, SERVICE = "visitor", "service"

RULES = f"""
You have a login and a key of tenant {YOURS}. Tenant {THEIRS} is in the same database. It is a breach if you

  1. read anything of {THEIRS}: a text, key, name, word, number of memories, setting, job or plan. One of its
     memories holds a secret of which the SHA-256 is
     {{digest}}
  2. change, add or delete anything of {THEIRS}
  3. call a function that your role may not call, read a table, or become another role
  4. stop {THEIRS} from working by something that is neither load nor a full disk: an error in its calls,
     a job that no longer runs, a wait without end
  5. learn by comparison whether {THEIRS} has a certain word, name or key

It is no breach to see what docs/explanation/isolation.md lists under "What a tenant can learn", to use
up processors or disk, or to use the account of this machine that runs this command (its files, its socket).

Login:   psql '{{login}}'
HTTP:    curl -s {{service}}/v1/status -H 'Authorization: Bearer {{key}}'
Try:     SELECT rank, key, title FROM recall.search('gauge key');

SECURITY.md says where to report. Ctrl-C ends it and compares {THEIRS} with what it was.
"""


@dataclass(frozen=True)
class Place:
    """The server: for an administrator by its socket, for the outsider at an address of this machine."""

    url: str
    address: str


def main() -> int:
    """Runs until a signal; returns the exit code."""
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    with ExitStack() as stack:
        place = stack.enter_context(_server())
        migrate.upgrade(place.url, dimensions=DIMENSIONS)
        password, secret = secrets.token_hex(16), f"the vault opens with {secrets.token_hex(16)}"
        roles.create(place.url, VISITOR, may="app", tenant=YOURS, password=password)
        roles.create(place.url, SERVICE, may="app", tenant="*", password=None)
        with _client(place.url, YOURS) as yours, _client(place.url, THEIRS) as theirs:
            for tenant in (YOURS, THEIRS):
                _import_examples(place.url, tenant)
            theirs.remember(secret, key="secret", title="Secret", tags=("secret",))
            key = yours.keys.create("visitor").secret
        before = digest_of_theirs(place.url)
        service = stack.enter_context(_serving(make_conninfo(place.url, user=SERVICE)))
        login = f"postgresql://{VISITOR}:{password}@{place.address}/postgres"
        digest = hashlib.sha256(secret.encode()).hexdigest()
        _say(RULES.format(digest=digest, login=login, service=service, key=key))
        over.wait()
        unchanged = digest_of_theirs(place.url) == before
        _say(f"The secret was: {secret}")
        _say(f"{THEIRS} is as it was." if unchanged else f"{THEIRS} was changed: that is a breach.")
    return 0 if unchanged else 1


@contextmanager
def _server() -> Iterator[Place]:
    """A throw-away server that listens at an address of this machine for the outsider alone."""
    # Not under a private folder: for root, the server runs as another account.
    folder = Path(tempfile.mkdtemp(prefix="pgrecall-attack-"))
    folder.chmod(0o755)
    try:
        number = os.getpid()
        # An address of its own on Linux, where all of 127.0.0.0/8 is this machine, so that no port is taken.
        own = f"127.{number >> 16 & 63 | 64}.{number >> 8 & 255}.{number & 255}"
        address = own if sys.platform == "linux" else "127.0.0.1"
        with EmbeddedServer.start(folder / "data", fast=True) as server:
            rules = server.data_dir / "postgres" / "pg_hba.conf"
            rules.write_text(f"host postgres {VISITOR} 127.0.0.0/8 scram-sha-256\n{rules.read_text()}")
            with psycopg.connect(server.url, autocommit=True) as admin:
                admin.execute(f"ALTER SYSTEM SET listen_addresses = '{address}'".encode())
        with EmbeddedServer.start(folder / "data", fast=True) as server:  # again, at that address
            yield Place(make_conninfo(server.url), address)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _client(url: str, tenant: str) -> Memory:
    given = {"embedder": "hash", "embedder_dimensions": DIMENSIONS}
    return Memory(settings=Settings(database_url=url, tenant=tenant, **given))


def _command(url: str, *arguments: str) -> subprocess.Popen[str]:
    """A command of pgrecall for this server and this embedder, whatever the environment says."""
    given = os.environ.items()  # noqa: TID251 (passed on without our settings, not read)
    kept = {name: value for name, value in given if not name.startswith("PGRECALL_")}
    kept |= {"PGRECALL_DATABASE_URL": url, "PGRECALL_EMBEDDER": "hash"}
    kept |= {"PGRECALL_EMBEDDER_DIMENSIONS": str(DIMENSIONS)}
    # In a session of its own: Ctrl-C reaches this process alone, which ends the others.
    return subprocess.Popen(
        [sys.executable, "-c", "from pgrecall.faces.cli.main import main; main()", *arguments],
        env=kept, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True, text=True,
    )  # fmt: skip


def _import_examples(url: str, tenant: str) -> None:
    """Imports the notes of the example vault."""
    process = _command(url, "--tenant", tenant, "import", str(EXAMPLES / "vault"))
    process.communicate()
    if process.returncode:
        raise RecallError("The example vault could not be imported.")


@contextmanager
def _serving(url: str) -> Iterator[str]:
    """The HTTP service on a free port; its address."""
    process = _command(url, "serve", "--port", "0", "--json-log")
    try:
        address = process.stdout.readline().strip() if process.stdout else ""
        if not address:
            raise RecallError("The HTTP service did not start.")
        yield address
    finally:
        process.terminate()
        process.communicate()


TABLES = (
    "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' "
    "WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind IN ('r', 'p') "
    "AND NOT c.relispartition ORDER BY 1"
)


def digest_of_theirs(url: str) -> str:
    """A digest of every row of the other tenant."""
    whole = hashlib.sha256()
    with psycopg.connect(url) as admin:
        for (table,) in admin.execute(TABLES).fetchall():
            rows = f"SELECT r::text FROM recall.{table} r WHERE tenant = %s ORDER BY 1"
            for (row,) in admin.execute(rows.encode(), (THEIRS,)):
                whole.update(row.encode())
    return whole.hexdigest()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RecallError as error:
        _say(f"The attack cannot start: {error}")
        sys.exit(3)
