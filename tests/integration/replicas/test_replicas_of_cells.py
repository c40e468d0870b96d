"""Replicas of cells: searches by the directory go to the standby of the tenant's cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgrecall import Memory
from pgrecall.cells import routes
from pgrecall.errors import DatabaseUnavailable, InvalidInput
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.databases import cloned, dropped, new_database
from tests.given_server import Server
from tests.integration.cells.conftest import Installation
from tests.integration.replicas.conftest import INSTALLED, Pair
from tests.integration.replicas.test_search_on_replica import by_replica
from tests.waiting import until

CELLS = ("cell_zero", "cell_one")


@pytest.fixture(scope="module")
def installation(replicated: Pair, server: Server) -> Iterator[Installation]:
    """Two cells on the primary with their standbys; the directory is on another server."""
    elsewhere = make_conninfo(replicated.primary.url, dbname="template1")
    with ExitStack() as stack:
        directory = stack.enter_context(contextmanager(new_database)(server, "template1"))
        with psycopg.connect(elsewhere, autocommit=True) as admin:
            for name in CELLS:
                cloned(admin, name, INSTALLED)
        cells = [make_conninfo(replicated.primary.url, dbname=name) for name in CELLS]
        made = Installation(directory, cells).add(0, 1)
        replicated.catch_up()
        for number, url in enumerate(standbys(replicated)):
            made.fleet.set_replica(number, url)
        yield made
        with psycopg.connect(elsewhere, autocommit=True) as admin:
            for name in CELLS:
                dropped(admin, name)


def standbys(pair: Pair) -> list[str]:
    """The standbys of both cells, by their numbers."""
    return [make_conninfo(pair.standby.url, dbname=name) for name in CELLS]


@pytest.fixture
def tenants(installation: Installation, pair: Pair) -> Iterator[tuple[str, str]]:
    """A tenant of the test's own in each cell, with a memory that the standbys have."""
    names = (f"zero-{uuid4().hex[:8]}", f"one-{uuid4().hex[:8]}")
    with installation.opened:
        for number, tenant in enumerate(names):
            installation.fleet.place(tenant, number)
            installation.memory(tenant).remember(f"The winch of cell {number}.")
        pair.catch_up()
        yield names


Opened = Callable[..., Memory]


@pytest.fixture
def opened(installation: Installation, tenants: tuple[str, str]) -> Opened:
    """Opens clients of the cells for the tenant in cell 0, whose replicas may lag a minute."""

    def open_client(*, lag: float = 60.0, connect_timeout: float = 60.0) -> Memory:
        settings = Settings(
            tenant=tenants[0], embedder="hash", replica_lag=lag, connect_timeout=connect_timeout
        )
        client = Memory(cells=installation.directory, settings=settings, embedder=HashEmbedder(DIMENSIONS))
        return installation.opened.enter_context(client)

    return open_client


def test_searches_go_to_the_standby_of_the_cell(
    installation: Installation, tenants: tuple[str, str], opened: Opened
) -> None:
    client = opened()
    for number, tenant in enumerate(tenants):
        view = client.for_tenant(tenant)
        theirs = by_replica(view)
        ours = installation.direct(number, tenant).search("winch", log=False)
        assert [(hit.id, hit.body, hit.relevance) for hit in theirs.hits] == [
            (hit.id, hit.body, hit.relevance) for hit in ours.hits
        ]
        assert len(ours.hits) == 1
        assert theirs.search_id is not None
        assert view.used(theirs.search_id, theirs.hits[0].id) == 1
        lag = view.status().replica
        assert lag is not None
        assert (lag.problem, lag.limit) == ("", 60.0)
        assert by_replica(view).skipped == ()


def test_own_writes_are_found(tenants: tuple[str, str], opened: Opened, pair: Pair) -> None:
    client = opened().for_tenant(tenants[1])
    by_replica(client)
    pair.pause()
    client.remember("The winch is red now.")
    result = client.search("winch red")
    assert "The winch is red now." in {hit.body for hit in result.hits}
    assert result.staleness is None
    pair.resume()
    by_replica(client)


def test_a_replica_that_is_down(opened: Opened, pair: Pair) -> None:
    client = opened()
    by_replica(client)
    pair.standby.stop()
    result = client.search("winch")
    assert result.hits
    assert result.staleness is None
    assert [step for step in result.skipped if step.startswith("replica: the primary answered: ")]


def test_a_cell_that_is_down_and_its_replica_is_not(opened: Opened, pair: Pair) -> None:
    """Writes fail; searches go on until the replica is too old."""
    client = opened(lag=3600.0, connect_timeout=1.0)
    by_replica(client)
    pair.primary.stop()
    result = client.search("winch")
    assert [hit.body for hit in result.hits] == ["The winch of cell 0."]
    assert result.staleness is not None
    assert any(step.startswith("log: the primary does not answer") for step in result.skipped)
    nothing = client.search("winch", layers=["episodic"])
    assert (nothing.hits, nothing.staleness is None) == ((), False)
    with pytest.raises(DatabaseUnavailable):
        client.remember("Not now.")
    assert client.search("winch").staleness is not None


def test_after_a_move_the_old_replica_is_left_alone(
    installation: Installation, tenants: tuple[str, str], opened: Opened, pair: Pair
) -> None:
    """It still has the tenant, and is told no more of what happens to it."""
    client = opened(lag=0.5)
    by_replica(client)
    pair.pause()
    installation.flip(tenants[0], 0, 1)
    client.remember("The winch is in another cell.")
    assert [hit.body for hit in client.search("winch").hits] == ["The winch is in another cell."]
    pair.resume()
    assert [hit.body for hit in by_replica(client).hits] == ["The winch is in another cell."]


def test_running_clients_learn_of_a_replica_and_of_its_end(
    installation: Installation, opened: Opened, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet, url = installation.fleet, standbys(pair)[0]
    fleet.set_replica(0, None)
    client = opened()
    assert client.search("winch").staleness is None
    fleet.set_replica(0, url)
    monkeypatch.setattr(routes, "REPLICA_KNOWN", 0.0)
    until(lambda: client.search("winch").staleness is not None, "an answer of the new replica")
    fleet.set_replica(0, None)
    until(lambda: client.search("winch").staleness is None, "an answer of the cell")
    assert client.search("winch").skipped == ()
    fleet.set_replica(0, url)


def test_a_replica_that_fails_is_looked_up_sooner(
    installation: Installation, opened: Opened, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = opened()
    by_replica(client)
    installation.fleet.set_replica(0, None)
    pair.standby.stop()
    assert client.search("winch").skipped
    monkeypatch.setattr(routes, "REPLICA_DOUBTED", 0.0)
    until(lambda: client.search("winch").skipped == (), "a search that asks no replica")
    pair.standby.start()
    installation.fleet.set_replica(0, standbys(pair)[0])


def test_what_is_no_replica_of_a_cell(installation: Installation, pair: Pair) -> None:
    fleet = installation.fleet
    zero, one = standbys(pair)
    for url, said in (
        (installation.cells[0], r"^The server at .*/cell_zero is not a standby\."),
        (one, r"^The server at .*/cell_one is not a standby of cell 0, which is .*/cell_zero\."),
    ):
        with pytest.raises(InvalidInput, match=said):
            fleet.set_replica(0, url)
    with pytest.raises(DatabaseUnavailable, match="cannot be reached"):
        fleet.set_replica(0, "host=127.0.0.1 port=1 dbname=x connect_timeout=2")
    with pytest.raises(InvalidInput, match=r"^There is no cell 9\."):
        fleet.set_replica(9, zero)
    assert "dbname=cell_zero" in str(fleet.directory.cell(0).replica)


def test_what_check_says(installation: Installation, pair: Pair) -> None:
    fleet = installation.fleet
    pair.catch_up()
    said = [finding.message for finding in fleet.check() if finding.cell == 1]
    assert [one for one in said if "/cell_one answers searches; it has " in one]
    pair.standby.stop()
    [warned] = [found for found in fleet.check() if found.level == "warn" and found.cell == 1]
    assert warned.message.startswith("Searches go to the cell, not to its replica: Postgres cannot")
    pair.standby.start()
    assert fleet.set_replica(1, None).replica is None
    assert not [found for found in fleet.check() if found.level == "warn" and found.cell == 1]
    assert fleet.set_replica(1, standbys(pair)[1]).replica is not None


def test_a_bound_login_knows_the_replica_of_its_cell_alone(
    installation: Installation, tenants: tuple[str, str], pair: Pair
) -> None:
    role = "replica_reader"
    installation.fleet.create_role(role, may="app", tenant=tenants[1], password=None)
    pair.catch_up()
    try:
        url = make_conninfo(installation.directory, user=role)
        settings = Settings(tenant=tenants[1], embedder="hash", replica_lag=60.0)
        with Memory(cells=url, settings=settings, embedder=HashEmbedder(DIMENSIONS)) as client:
            assert [hit.body for hit in by_replica(client).hits] == ["The winch of cell 1."]
        with (
            psycopg.connect(url, autocommit=True) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute("SELECT recall_cells.replica(0)")
    finally:
        databases = (installation.directory, *installation.cells)
        for statement, where in (("DROP OWNED BY", databases), ("DROP ROLE", databases[:2])):
            for database in where:
                with psycopg.connect(database, autocommit=True) as admin:
                    admin.execute(f"{statement} {role}".encode())
