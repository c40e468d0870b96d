"""Moving a tenant from cell to cell: nothing is lost or doubled, whatever is going on."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest

from pgrecall import Memory
from pgrecall.cells.directory import Directory
from pgrecall.cells.moves.comparing import Comparison
from pgrecall.cells.moves.copying import Copying
from pgrecall.cells.moves.move import Mover
from pgrecall.errors import DatabaseError, InvalidInput, RecallError, TenantElsewhere
from pgrecall.nouns.keys.operations import new_token
from tests.integration.cells.conftest import Installation
from tests.waiting import PATIENCE


def digests(installation: Installation, cell: int, tenant: str = "acme") -> list[dict[str, object]]:
    return installation.ask(
        cell, f"SELECT * FROM recall_private.tenant_digests('{tenant}') ORDER BY relation"
    )


def memories(digests: list[dict[str, object]]) -> list[dict[str, object]]:
    """All but the settings, to which a move adds the era of the changes."""
    return [row for row in digests if row["relation"] != "setting"]


def held(installation: Installation, cell: int, tenant: str = "acme") -> dict[str, Any]:
    return {str(row["relation"]): row["held"] for row in digests(installation, cell, tenant) if row["held"]}


def fill(client: Memory) -> None:
    for number in range(12):
        client.remember(f"The winch number {number} needs grease.", key=f"winch-{number}", tags=["boat"])
    client.link("winch-1", "winch-2")
    client.record_access("winch-1", "used")
    found = client.search("which winch needs grease?")
    client.used(found.search_id, found.hits[0].id)
    client.settings.set("prune.max_share", 0.2)
    client.keys.create("a key")
    client.maintenance.refresh_statistics()
    client.maintenance.fold()


def clean(installation: Installation, tenant: str = "acme") -> None:
    """Nothing of the moves is left, and the data of the tenant is in order."""
    assert all(check.problems == 0 for check in installation.memory(tenant).maintenance.verify())
    for cell in (0, 1):
        name = "recall_move_%"
        assert installation.ask(cell, f"SELECT FROM pg_publication WHERE pubname LIKE '{name}'") == []
        assert installation.ask(cell, f"SELECT FROM pg_subscription WHERE subname LIKE '{name}'") == []
        slots = "SELECT FROM pg_replication_slots WHERE slot_name ~ 'recall|sync'"
        assert installation.ask(cell, slots) == []


def test_a_tenant_moves_with_everything(movable: Installation) -> None:
    movable.fleet.place("acme", 0)
    client, said = movable.memory(), []
    fill(client)
    code = new_token("c")
    assert client.keys.open_session(client.keys.create("page").secret, "cookie", 600)
    assert client.keys.open_grant("cookie", code, {}, 600)
    movable.fleet.place("beta", 0)
    movable.memory("beta").remember("The keel of beta.")
    result = client.search("grease", log=False)
    before = digests(movable, 0)
    issued = client.keys.list()
    plan = Mover(movable.fleet).plan("acme", 1)
    assert (plan.source, plan.target, plan.memories) == (0, 1, 12)
    assert movable.ask(1, "SELECT * FROM recall.resident") == []
    moved = Mover(movable.fleet, said.append).move("acme", 1)
    assert (moved.source, moved.target) == (0, 1)
    assert moved.stopped < 10
    assert memories(digests(movable, 1)) == memories(before)
    assert client.status().cell == 1
    after = client.search("grease", log=False)
    assert [(hit.id, hit.body) for hit in after.hits] == [(hit.id, hit.body) for hit in result.hits]
    assert client.keys.list() == issued
    assert (found := client.keys.grant(code)) is not None
    assert found.usable
    assert said[-1] == "Tenant acme lives in cell 1."
    with pytest.raises(TenantElsewhere, match="but in cell 1"):
        movable.direct(0).search("grease")
    client.remember("In the new cell.")
    deleted = Mover(movable.fleet).finish("acme")
    assert deleted > 12
    assert held(movable, 0) == {}
    assert held(movable, 0, "beta")["memory"] == 1
    clean(movable)
    assert {finding.level for finding in movable.fleet.check()} == {"ok"}


def test_vectors_of_their_own_move_and_can_be_searched(movable: Installation) -> None:
    movable.fleet.place("acme", 0)
    client = movable.memory()
    fill(client)
    movable.ask(0, "SELECT recall.move_vectors_to_own_table(3)", "acme")
    assert "vector_1" in held(movable, 0)
    Mover(movable.fleet).move("acme", 1)
    assert held(movable, 1)["vector_1"] == 12
    rows = movable.ask(1, "SELECT indexname FROM pg_indexes WHERE tablename = 'vector_1' ORDER BY 1")
    names = [f"vector_1_{end}" for end in ("archived_idx", "live_idx", "pkey")]
    assert [row["indexname"] for row in rows] == names
    assert client.search("grease").hits
    Mover(movable.fleet).finish("acme")
    assert movable.ask(0, "SELECT to_regclass('recall.vector_1') AS there") == [{"there": None}]
    clean(movable)


def test_writers_and_searchers_go_on(movable: Installation) -> None:
    movable.fleet.place("acme", 0)
    fill(movable.memory())
    stop, stored, failed, searches = threading.Event(), [], [], [0]
    clients = [movable.memory() for _ in range(4)]

    def write(client: Memory, writer: int) -> None:
        number = 0
        while not stop.is_set():
            try:
                stored.append(client.remember(f"Note {writer}-{number}.", compare=False).id)
            except RecallError as error:
                failed.append(error)
            number += 1

    def search(client: Memory) -> None:
        while not stop.is_set():
            try:
                searches[0] += bool(client.search("winch").hits)
            except RecallError as error:
                failed.append(error)

    threads = [threading.Thread(target=write, args=(client, n)) for n, client in enumerate(clients[:3])]
    threads.append(threading.Thread(target=search, args=(clients[3],)))
    for thread in threads:
        thread.start()
    try:
        Mover(movable.fleet).move("acme", 1)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failed == []
    assert searches[0] > 0
    rows = movable.ask(1, "SELECT id FROM recall.memory WHERE body LIKE 'Note %'")
    assert sorted(int(str(row["id"])) for row in rows) == sorted(stored)
    assert len(stored) == len(set(stored)) > 0
    Mover(movable.fleet).finish("acme")
    clean(movable)


class Killed(BaseException):
    """What a killed process would have done: nothing more."""


@pytest.mark.parametrize(
    ("where", "name"),
    [
        (Copying, "begin"), (Copying, "wait_for_copy"), (Copying, "build_indexes"),
        (Comparison, "differences"), (Copying, "hand_over"), (Directory, "flip"), (Copying, "end"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("way_out", ["again", "undo"])
def test_it_goes_on_after_a_crash(
    movable: Installation, monkeypatch: pytest.MonkeyPatch, where: type, name: str, way_out: str
) -> None:
    movable.fleet.place("acme", 0)
    client = movable.memory()
    fill(client)
    before = digests(movable, 0)
    real = getattr(where, name)

    def killed_after(*given: Any, **named: Any) -> Any:
        real(*given, **named)
        if name not in ("flip", "end") or "flipped" in steps():
            raise Killed

    def steps() -> list[str]:
        return [move.step for move in movable.fleet.directory.moves()]

    with monkeypatch.context() as patched:
        patched.setattr(where, name, killed_after)
        with pytest.raises(Killed):
            Mover(movable.fleet).move("acme", 1)
    if way_out == "again":
        Mover(movable.fleet).move("acme", 1)
        Mover(movable.fleet).finish("acme")
    else:
        Mover(movable.fleet).undo("acme")
    cell = 1 if way_out == "again" else 0
    assert memories(digests(movable, cell)) == memories(before)
    assert held(movable, 1 - cell) == {}
    assert client.status().cell == cell
    client.remember("Afterwards.")
    clean(movable)


def test_undo_after_the_flip_brings_back_what_is_new(movable: Installation) -> None:
    movable.fleet.place("acme", 0)
    client = movable.memory()
    fill(client)
    Mover(movable.fleet).move("acme", 1)
    written = client.remember("Written in cell 1.")
    mover = Mover(movable.fleet)
    assert mover.undo("acme") == 0
    with pytest.raises(InvalidInput, match="lives in cell 0, and no move of it is left to undo") as again:
        mover.undo("acme")
    assert "pgrecall tenant move acme --to CELL" in str(again.value.hint)
    assert client.status().cell == 0
    assert client.get(written.id).body == "Written in cell 1."
    assert held(movable, 1) == {}
    clean(movable)


def test_a_copy_that_differs_is_not_taken(movable: Installation) -> None:
    movable.fleet.place("acme", 0)
    client = movable.memory()
    fill(client)
    mover = Mover(movable.fleet)
    copying = Copying(*(movable.fleet.cell(entry) for entry in movable.fleet.directory.cells()), "acme")
    begun = "INSERT INTO recall_cells.move (tenant, source, target) VALUES ('acme', 0, 1)"
    movable.fleet.directory.run(begun)
    copying.begin(0, timeout=PATIENCE)
    copying.wait_for_copy(lambda *_: None, timeout=PATIENCE)
    movable.ask(1, "UPDATE recall.memory SET body = 'Another text.' WHERE key = 'winch-3'")
    with pytest.raises(DatabaseError, match="differs in memory; it stays where it is"):
        mover.move("acme", 1)
    client.remember("It goes on here.")
    with pytest.raises(InvalidInput, match="wait to be deleted: its move to cell 1 has not ended"):
        mover.finish("acme")
    assert mover.undo("acme") == 0
    clean(movable)


def test_what_cannot_be_moved(movable: Installation, two_cells: Installation) -> None:
    movable.fleet.place("acme", 0)
    movable.memory().remember("A note.")
    mover = Mover(movable.fleet)
    with pytest.raises(InvalidInput, match="No cell has a tenant nobody"):
        mover.move("nobody", 1)
    with pytest.raises(InvalidInput, match="There is no cell 9"):
        mover.move("acme", 9)
    with pytest.raises(InvalidInput, match="lives in cell 0 already"):
        mover.move("acme", 0)
    with pytest.raises(InvalidInput, match="no move of it is left to undo"):
        mover.undo("acme")
    with pytest.raises(InvalidInput, match="lives in cell 0, and no rows of it wait to be deleted"):
        mover.finish("acme")
    for ending in (mover.undo, mover.finish):
        with pytest.raises(InvalidInput, match="No cell has a tenant nobody"):
            ending("nobody")
    with (
        movable.fleet.directory.exclusive("acme"),
        pytest.raises(InvalidInput, match="Another process is moving"),
    ):
        mover.move("acme", 1)
    movable.fleet.directory.run("UPDATE recall_cells.cell SET room = 1 WHERE number = 1")
    with pytest.raises(InvalidInput, match="Cell 1 has no room"):
        mover.move("acme", 1)
    two_cells.fleet.place("acme", 0)
    two_cells.memory().remember("A note.")
    with pytest.raises(RecallError, match="moving needs logical"):
        Mover(two_cells.fleet).move("acme", 1)


def test_a_tenant_in_two_cells_is_left_alone(movable: Installation) -> None:
    movable.fleet.place("acme", 0)
    movable.memory().remember("The winch needs grease.")
    movable.ask(1, "INSERT INTO recall.resident (tenant) VALUES ('acme')")
    movable.direct(1).remember("A stray note.")
    with pytest.raises(InvalidInput, match="lives in cell 0 and in cell 1"):
        Mover(movable.fleet).move("acme", 1)
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="Tenant acme lives in this cell"):
        movable.ask(1, "SELECT recall.forget_tenant('acme')")
    movable.ask(1, "UPDATE recall.resident SET state = 'gone', cell = 0 WHERE tenant = 'acme'")
    movable.ask(1, "SELECT recall.forget_tenant('acme')")
    assert held(movable, 1) == {}
    assert {finding.level for finding in movable.fleet.check()} == {"ok"}


def test_a_long_transaction_keeps_writers_at_the_source(
    movable: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgrecall.cells.moves.move.STOP_TIMEOUT", 0.3)
    movable.fleet.place("acme", 0)
    client = movable.memory()
    fill(client)
    with psycopg.connect(movable.cells[0]) as other:
        mover, copied = Mover(movable.fleet), Copying.build_indexes

        def then_write(copying: Copying) -> None:
            copied(copying)
            other.execute("CREATE TEMPORARY TABLE long_one ()")

        with monkeypatch.context() as patched:
            patched.setattr(Copying, "build_indexes", then_write)
            with pytest.raises(DatabaseError, match=r"have run for more than 0\.3 s"):
                mover.move("acme", 1)
        client.remember("It goes on here.")
    mover.move("acme", 1)
    mover.finish("acme")
    clean(movable)
