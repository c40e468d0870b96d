"""Clients find the cell of their tenant: by the directory, from the cache, and again after a move."""

from __future__ import annotations

import asyncio
from threading import Timer

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgrecall import AsyncMemory, Memory
from pgrecall.errors import (
    DatabaseUnavailable,
    DatabaseUnsuitable,
    InvalidInput,
    SchemaMismatch,
    TenantElsewhere,
)
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.integration.cells.conftest import Installation


def test_one_client_serves_tenants_of_all_cells(apart: Installation) -> None:
    client = apart.memory()
    assert client.get("winch").body == "The winch of acme."
    assert client.for_tenant("beta").get("winch").body == "The winch of beta."
    assert [client.for_tenant(name).status().cell for name in ("acme", "beta")] == [0, 1]
    assert client.pool_stats()["pool_max"] == 16


def test_the_asynchronous_client_does_too(apart: Installation) -> None:
    async def bodies() -> list[str]:
        settings = Settings(tenant="acme", embedder="hash")
        async with AsyncMemory(
            cells=apart.directory, settings=settings, embedder=HashEmbedder(DIMENSIONS)
        ) as client:
            both = (client, client.for_tenant("beta"))
            return [found.body for found in await asyncio.gather(*(one.get("winch") for one in both))]

    assert asyncio.run(bodies()) == ["The winch of acme.", "The winch of beta."]


def test_a_new_tenant_is_placed(two_cells: Installation) -> None:
    client = two_cells.memory()
    for number in range(4):
        client.for_tenant(f"t{number}").remember("A note.")
    places = {place.tenant: place.cell for place in two_cells.fleet.directory.places()}
    assert sorted(places.values()) == [0, 0, 1, 1]


def test_a_search_in_a_cell_that_has_nothing_of_the_tenant_says_so(apart: Installation) -> None:
    """The entry of the directory may be wrong, and the tenant begin anew in another cell."""
    apart.fleet.directory.run("UPDATE recall_cells.place SET cell = 1 WHERE tenant = 'acme'")
    for _ in range(2):
        result = apart.memory().search("winch")
        assert not result.hits
        assert result.skipped == (
            "memories: tenant acme has none in cell 1, where the directory places it; "
            "if it should have some, `pgrecall cell check` says where they are",
        )
    assert not apart.memory("beta").search("nothing like it", layers=["episodic"]).skipped


def test_after_a_move_the_client_looks_again(apart: Installation) -> None:
    client = apart.memory()
    assert client.status().cell == 0
    apart.flip("acme", 0, 1)
    assert client.status().cell == 1
    client.remember("After the move.")
    assert apart.ask(1, "SELECT tenant FROM recall.memory ORDER BY 1") == [
        {"tenant": "acme"}, {"tenant": "beta"},
    ]  # fmt: skip


def test_a_write_waits_while_its_tenant_leaves(apart: Installation) -> None:
    client = apart.memory()
    client.status()
    apart.ask(0, "UPDATE recall.resident SET state = 'moving'")
    timer = Timer(0.3, apart.flip, ["acme", 0, 1])
    timer.start()
    stored = client.remember("During the move.")
    timer.join()
    assert stored.id >= 1 << 40


def test_it_gives_up_in_the_end(apart: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgrecall.client._sync.tenant_finder.MOVE_SECONDS", 0.2)
    client = apart.memory()
    apart.ask(0, "UPDATE recall.resident SET state = 'gone', cell = 1")
    with pytest.raises(TenantElsewhere, match="but in cell 1"):
        client.remember("Where to?")


def test_known_tenants_go_on_without_the_directory(apart: Installation) -> None:
    client = apart.memory()
    client.status()
    name = psycopg.conninfo.conninfo_to_dict(apart.directory)["dbname"]
    with psycopg.connect(make_conninfo(apart.directory, dbname="postgres"), autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
    assert client.search("winch").hits
    with pytest.raises(DatabaseUnavailable, match="The directory of cells cannot be reached"):
        client.for_tenant("unknown").status()
    with pytest.raises(DatabaseUnavailable, match="The directory of cells cannot be reached"):
        apart.memory()


def test_a_cell_that_is_down_does_not_stop_the_other(apart: Installation) -> None:
    client = apart.memory()
    apart.fleet.directory.run(
        "UPDATE recall_cells.cell SET address = 'host=/nowhere dbname=gone' WHERE number = 1"
    )
    with pytest.raises(DatabaseUnavailable):
        client.for_tenant("beta").status()
    assert client.search("winch").hits


def test_keys_work_in_whichever_cell(apart: Installation) -> None:
    client = apart.memory()
    issued = client.for_tenant("beta").keys.create("beta's")
    for _ in range(2):
        holder = client.keys.holder(issued.secret)
        assert holder is not None
        assert holder.tenant == "beta"
    assert client.keys.any()
    assert client.keys.holder("pgr_unknown") is None
    assert client.keys.open_session(issued.secret, "cookie", 60)
    assert client.keys.session_tenant("cookie") == "beta"
    assert client.keys.close_session("cookie")
    assert client.keys.session_tenant("cookie") is None


@pytest.fixture
def bound(apart: Installation, bound_role: str) -> str:
    assert apart.cells
    return bound_role


def test_a_bound_login_acts_for_its_tenant_alone(apart: Installation, bound: str) -> None:
    url = make_conninfo(apart.directory, user=bound)
    settings = Settings(tenant="beta", embedder="hash")
    with Memory(cells=url, settings=settings, embedder=HashEmbedder(DIMENSIONS)) as client:
        assert client.get("winch").body == "The winch of beta."
        with pytest.raises(DatabaseUnsuitable, match="may not ask the directory of cells for tenant acme"):
            client.for_tenant("acme").get("winch")
        with pytest.raises(DatabaseUnsuitable, match="for all cells"):
            client.keys.any()


def test_a_bound_login_admits_nobody(apart: Installation, bound: str) -> None:
    for cell in (0, 1):
        url = make_conninfo(apart.cells[cell], user=bound)
        with psycopg.connect(url) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT recall.admit_tenant()")


def test_a_role_is_bound_with_its_tenant(two_cells: Installation, bound_role: str) -> None:
    url = make_conninfo(two_cells.directory, user=bound_role)
    with Memory(cells=url, settings=Settings(tenant="beta", embedder="none")) as client:
        client.remember("The first note of a new tenant.")
        assert client.status().memories == 1


def test_what_does_not_go_together(two_cells: Installation, empty_database: str) -> None:
    with pytest.raises(InvalidInput, match="a database or cells, not both"):
        Memory(two_cells.cells[0], cells=two_cells.directory)
    with pytest.raises(InvalidInput, match="both a database and a directory"):
        Memory(settings=Settings(database_url=two_cells.cells[0], cells=two_cells.directory))
    with pytest.raises(SchemaMismatch, match="has no directory of cells"):
        Memory(cells=empty_database)
    with pytest.raises(InvalidInput, match="works on one database"):
        two_cells.memory().jobs.runner()


def test_an_export_and_a_job_run_in_the_cell_of_the_tenant(apart: Installation) -> None:
    from io import BytesIO

    beta = apart.memory("beta")
    assert beta.export.write(BytesIO()).tenant == "beta"
    [outcome] = beta.jobs.run("statistics")
    assert (outcome.tenant, outcome.state) == ("beta", "done")
