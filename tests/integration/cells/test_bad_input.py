"""What is wrong with cells, and what is said about it; whoever is not concerned goes on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgrecall.cells.moves.copying import Copying
from pgrecall.cells.moves.move import Mover
from pgrecall.errors import CellUnavailable, DatabaseUnavailable, InvalidInput, RecallError, SchemaMismatch
from tests.integration.cells.conftest import Installation

OLDER = "UPDATE recall.alembic_version SET version_num = '0015'"


def close(url: str) -> None:
    """Makes a database refuse connections, as one that is down does."""
    name = conninfo_to_dict(url)["dbname"]
    with psycopg.connect(make_conninfo(url, dbname="postgres"), autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
        # A session that is about to end could still take a call with it.
        ended = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = %s"
        admin.execute(ended, (name,))


@pytest.mark.parametrize("call", ["place", "drain", "remove", "move"])
def test_an_unknown_cell(apart: Installation, call: str) -> None:
    calls = {
        "place": lambda: apart.fleet.place("new", 9),
        "drain": lambda: apart.fleet.drain(9),
        "remove": lambda: apart.fleet.remove(9),
        "move": lambda: Mover(apart.fleet).move("acme", 9),
    }
    with pytest.raises(InvalidInput, match=r"^There is no cell 9\.") as caught:
        calls[call]()
    assert caught.value.hint == "`pgrecall cell list` shows them."


def test_a_cell_of_another_revision(apart: Installation) -> None:
    client = apart.memory()
    assert client.search("winch").hits
    apart.ask(1, OLDER)
    with pytest.raises(SchemaMismatch, match="has schema 0015, which is not this version's"):
        Mover(apart.fleet).move("acme", 1)
    with pytest.raises(SchemaMismatch, match="has schema 0015"):
        apart.fleet.add(apart.cells[1])
    [failed] = [finding for finding in apart.fleet.check() if finding.level == "fail"]
    assert (failed.cell, failed.fix) == (1, "Run `pgrecall upgrade`.")
    assert "schema 0015" in failed.message
    assert client.search("winch").hits
    assert apart.fleet.directory.moves() == ()


def test_a_database_of_another_revision_is_not_added(installation: Installation) -> None:
    installation.add(0).ask(1, OLDER)
    with pytest.raises(SchemaMismatch, match="has schema 0015"):
        installation.fleet.add(installation.cells[1])
    assert [entry.number for entry in installation.fleet.directory.cells()] == [0]


def embedder(name: str) -> str:
    return (
        "INSERT INTO recall.setting (tenant, name, value) "
        f"VALUES ('*', 'embedding.model', to_jsonb('{name}'::text)) "
        "ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value"
    )


def test_a_database_of_another_embedder_is_not_added(installation: Installation) -> None:
    installation.add(0).ask(0, embedder("ours"))
    installation.ask(1, embedder("theirs"))
    with pytest.raises(InvalidInput, match=r"keeps embeddings of theirs, cell 0 of ours\."):
        installation.fleet.add(installation.cells[1])
    assert [entry.number for entry in installation.fleet.directory.cells()] == [0]


def test_a_tenant_does_not_move_to_another_embedder(movable: Installation) -> None:
    movable.fleet.place("acme", 0)
    movable.memory().remember("The winch needs grease.")
    movable.ask(1, embedder("theirs"))
    with pytest.raises(InvalidInput, match=r"^The source keeps embeddings of .*, the target of theirs\."):
        Mover(movable.fleet).move("acme", 1)
    assert movable.fleet.directory.moves() == ()
    assert movable.ask(1, "SELECT FROM recall.resident") == []


def test_a_tenant_moved_twice_at_once(movable: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second call waits a moment for the first, then says so, and spoils nothing."""
    movable.fleet.place("acme", 0)
    movable.memory().remember("The winch needs grease.")
    refused: list[str] = []
    copied = Copying.build_indexes

    def meanwhile(copying: Copying) -> None:
        with ThreadPoolExecutor(1) as other:
            error = other.submit(Mover(movable.fleet).move, "acme", 1).exception()
        assert isinstance(error, InvalidInput)
        refused.append(error.message)
        copied(copying)

    with monkeypatch.context() as patched:
        patched.setattr(Copying, "build_indexes", meanwhile)
        Mover(movable.fleet).move("acme", 1)
    assert refused == ["Another process is moving tenant acme."]
    assert movable.memory().status().cell == 1
    Mover(movable.fleet).finish("acme")


def test_no_room(apart: Installation) -> None:
    apart.fleet.directory.run("UPDATE recall_cells.cell SET room = 1")
    with pytest.raises(RecallError, match=r"^No cell has room for tenant late, which is new\.") as caught:
        apart.memory("late").remember("A note.")
    assert "pgrecall cell add URL" in caught.value.hint
    assert apart.memory("acme").remember("Who is there already stays.").id


def test_the_directory_is_down(apart: Installation) -> None:
    client = apart.memory()
    for tenant in ("acme", "beta"):
        assert client.for_tenant(tenant).search("winch").hits
    close(apart.directory)
    for tenant in ("acme", "beta"):
        known = client.for_tenant(tenant)
        known.remember("Written meanwhile.")
        assert known.search("winch").hits
    with pytest.raises(DatabaseUnavailable, match=r"^The directory of cells cannot be reached: ") as caught:
        client.for_tenant("unknown").remember("Nobody knows where.")
    assert "Tenants in cells that this client knows" in caught.value.hint
    with pytest.raises(DatabaseUnavailable, match=r"^The directory of cells cannot be reached: "):
        apart.fleet.list()


def test_a_cell_is_down(apart: Installation) -> None:
    client = apart.memory()
    assert client.for_tenant("beta").search("winch").hits
    close(apart.cells[1])
    for _ in range(2):  # the second call fails at once
        with pytest.raises(CellUnavailable, match=r"^Cell 1 does not answer: No connection") as caught:
            client.for_tenant("beta").remember("Not now.")
        assert caught.value.cell == 1
        assert "tenants of other cells are served" in caught.value.hint
    client.remember("The other cell goes on.")
    assert client.search("other cell").hits
    zero, one = apart.fleet.list()
    assert (zero.reachable, one.reachable) == (True, False)
    assert "not currently accepting connections" in one.problem
    levels = {finding.cell: finding.level for finding in apart.fleet.check()}
    assert levels == {0: "ok", 1: "fail"}
    sizes = {found.tenant: found.memories for found in apart.fleet.tenants()}
    assert sizes == {"acme": 2, "beta": None}
    with pytest.raises(DatabaseUnavailable):
        Mover(apart.fleet).move("acme", 1)
    assert apart.fleet.directory.moves() == ()
    with pytest.raises(InvalidInput, match=r"Cell 1 still has tenants: 1\."):
        apart.fleet.remove(1)
