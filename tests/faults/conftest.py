"""What the fault suite shares: a server to kill, and the count of what was done to it."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgrecall import Memory
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.schema import migrate
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.faults.victim import Victim
from tests.given_server import own_server_only

SEED = int(os.environ.get("PGRECALL_TEST_SEED", "20260601"))

Inject = Callable[..., None]
Opened = Callable[..., Memory]


@pytest.fixture(scope="session")
def victim() -> Iterator[Victim]:
    """A server that tests of this process kill, one after the other."""
    own_server_only("stops and kills its server")
    folder = Path(tempfile.mkdtemp(prefix="pgr-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        with EmbeddedServer.start(folder / "data") as server:
            migrate.upgrade(make_conninfo(server.url), dimensions=DIMENSIONS)
            yield reachable(server)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def reachable(server: EmbeddedServer) -> Victim:
    """Makes it listen at an address of this machine that no other server of the run has."""
    number = os.getpid()
    address = f"127.{number >> 16 & 63 | 64}.{number >> 8 & 255}.{number & 255}"
    rules = server.data_dir / "postgres" / "pg_hba.conf"
    rules.write_text("host all all 127.0.0.0/8 trust\n" + rules.read_text())
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(f"ALTER SYSTEM SET listen_addresses = '{address}'".encode())
    victim = Victim(server, "postgres", address)
    victim.stop()
    victim.start()
    return victim


@pytest.fixture
def tenant(request: pytest.FixtureRequest) -> str:
    """A tenant of the test's own, in a database that it shares with others."""
    return request.node.name


@pytest.fixture
def client(victim: Victim, tenant: str) -> Iterator[Memory]:
    """A client of the victim that lives through whatever happens to it."""
    settings = Settings(database_url=victim.url, tenant=tenant, embedder="none", connect_timeout=15)
    with Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS)) as memory:
        yield memory


@pytest.fixture
def inject(request: pytest.FixtureRequest) -> Inject:
    """Counts a fault that was brought about, by its kind, for the summary of the run."""

    def count(kind: str, times: int = 1) -> None:
        request.node.user_properties.append(("fault", [kind, times]))

    return count


@pytest.fixture
def dice(request: pytest.FixtureRequest) -> random.Random:
    """Chance that a failed run can be repeated with: the seed is in the report."""
    seed = f"{SEED} {request.node.name}"
    print(f"PGRECALL_TEST_SEED={SEED}")  # noqa: T201
    return random.Random(seed)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How many faults of each kind were brought about, and how many of them were survived."""
    done, survived = Counter[str](), Counter[str]()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, value in getattr(report, "user_properties", ()):
                if name == "fault" and report.when == "call":
                    kind, times = value
                    done[kind] += times
                    survived[kind] += times if outcome == "passed" else 0
    if done:
        terminalreporter.section(f"faults: {sum(survived.values())} of {sum(done.values())} survived")
        for kind, times in sorted(done.items()):
            terminalreporter.line(
                f"{times:6} {kind}" + (f", {survived[kind]} survived" if survived[kind] < times else "")
            )
