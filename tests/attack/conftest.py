"""The two worlds, and the count of what was tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.schema import migrate
from tests.acceptance.conftest import bare_pgrecall
from tests.attack.world import World, attackers, fill, vanish
from tests.conftest import DIMENSIONS
from tests.databases import new_database
from tests.given_server import GIVEN, Server, leave_alone
from tests.server_folders import server_folder

__all__ = ["bare_pgrecall"]


@pytest.fixture(scope="module")
def with_globex(server: EmbeddedServer, template: str) -> Iterator[World]:
    """The database in which there is somebody to attack."""
    for url in new_database(server, template):
        with psycopg.connect(url, autocommit=True) as admin:
            world = World(url, admin)
            fill(world)
            world.settle()
            yield world


@pytest.fixture(scope="module")
def without_globex(server: EmbeddedServer, template: str) -> Iterator[World]:
    """The same database without."""
    for url in new_database(server, template):
        with psycopg.connect(url, autocommit=True) as admin:
            world = World(url, admin)
            fill(world)
            vanish(world)
            world.settle()
            yield world


@pytest.fixture(scope="module")
def logins(with_globex: World, without_globex: World) -> Iterator[dict[str, str]]:
    """Login roles by what they may do; bound to acme in both databases."""
    with attackers(with_globex.url, without_globex.url) as made:
        yield made


@pytest.fixture
def own_logins(database_url: str) -> Iterator[dict[str, str]]:
    """The same in the database of one test."""
    with attackers(database_url) as made:
        yield made


@pytest.fixture(scope="module")
def alone(server: Server) -> Iterator[Server]:
    """A server of the file's own, to compare counts: others would decide which rows VACUUM may remove."""
    if GIVEN is not None:
        yield server
        return
    with server_folder() as folder, EmbeddedServer.start(folder / "data", fast=True) as running:
        leave_alone(running.url)
        yield running


@pytest.fixture(scope="module")
def installed(alone: Server) -> Iterator[str]:
    """The name of a migrated, empty database there."""
    for url in new_database(alone, "template1"):
        migrate.upgrade(url, dimensions=DIMENSIONS)
        yield conninfo_to_dict(url)["dbname"]


@pytest.fixture
def tried(request: pytest.FixtureRequest) -> Iterator[Counter[str]]:
    """Attacks by way, counted for the last line of a run, whichever process of it made them."""
    count: Counter[str] = Counter()
    yield count
    request.node.user_properties.append(("attacks", dict(count)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    total: Counter[str] = Counter()
    for report in (one for reports in terminalreporter.stats.values() for one in reports):
        if getattr(report, "when", None) == "teardown":
            for name, count in report.user_properties:
                total.update(count if name == "attacks" else {})
    if total:
        ways = ", ".join(f"{way} {number}" for way, number in sorted(total.items()))
        terminalreporter.write_line(f"{total.total()} attacks tried: {ways}")
