"""The count of what was tried, and the database whose functions are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import psycopg
import pytest

from pgrecall.embedded.shared_server import EmbeddedServer
from tests.attack.world import World, _tenant
from tests.databases import new_database
from tests.fuzz.outcomes import STATEMENT_SECONDS
from tests.fuzz.scale import MINUTES


@pytest.fixture(scope="module")
def acme(server: EmbeddedServer, template: str) -> Iterator[World]:
    """A database in which tenant ``acme`` has something of everything; its connection acts for it."""
    for url in new_database(server, template):
        with psycopg.connect(url, autocommit=True) as connection:
            world = World(url, connection)
            world.ids = _tenant(
                world, "acme", "harbour", "the crane waits for the contract", bytes(range(32))
            )
            connection.execute("SELECT set_config('recall.tenant', 'acme', false)")
            [(running,)] = connection.execute("SELECT recall.begin_job('fold')").fetchall()
            world.ids["running"] = running
            connection.execute(f"SET statement_timeout = '{STATEMENT_SECONDS}s'".encode())
            yield world


@pytest.fixture
def outcomes(request: pytest.FixtureRequest) -> Iterator[Counter[str]]:
    """Inputs by target and outcome, for the last lines of a run, whichever process of it tried them."""
    count: Counter[str] = Counter()
    yield count
    request.node.user_properties.append(("inputs", dict(count)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    total: Counter[str] = Counter()
    for report in (one for reports in terminalreporter.stats.values() for one in reports):
        if getattr(report, "when", None) == "teardown":
            for name, count in report.user_properties:
                total.update(count if name == "inputs" else {})
    if total:
        by_outcome: Counter[str] = Counter()
        for name, number in total.items():
            by_outcome[name.rpartition(": ")[2]] += number
        told = ", ".join(f"{number:,} {name}" for name, number in sorted(by_outcome.items()))
        terminalreporter.write_line(f"{total.total():,} inputs fuzzed: {told}")
        if MINUTES:
            for name, number in sorted(total.items()):
                terminalreporter.write_line(f"  {name} {number:,}")
