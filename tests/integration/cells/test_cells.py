"""Cells: numbers and ranges of ids, who lives where, and what is refused."""

from __future__ import annotations

import psycopg
import pytest

from pgrecall.cells.addresses import address_of, shown, url_at
from pgrecall.errors import DatabaseError, DatabaseUnavailable, InvalidInput, SchemaMismatch, TenantElsewhere
from pgrecall.schema import migrate
from tests.conftest import DIMENSIONS
from tests.integration.cells.conftest import Installation


def test_ranges_of_ids_are_apart(two_cells: Installation) -> None:
    two_cells.fleet.place("beta", 1)
    first = two_cells.memory("acme").remember("The winch needs grease.")
    second = two_cells.memory("beta").remember("The winch needs grease.")
    assert first.id < 1 << 40 <= second.id < 2 << 40
    for number in (0, 1):
        low, high = max(number << 40, 1), ((number + 1) << 40) - 1
        rows = two_cells.ask(number, "SELECT * FROM pg_sequences WHERE schemaname = 'recall'")
        assert {(row["min_value"], row["max_value"]) for row in rows} == {(low, high)}


def test_an_installation_that_is_there_becomes_cell_0(installation: Installation) -> None:
    before = installation.direct(0).remember("The winch needs grease.", key="winch")
    installation.add(0)
    alone = installation.direct(0)
    assert alone.search("winch").hits[0].id == before.id
    assert installation.ask(0, "SELECT recall_private.in_cells() AS on") == [{"on": False}]
    assert installation.ask(0, "SELECT * FROM recall.resident") == []
    installation.add(1)
    after = installation.memory().remember("The keel needs paint.")
    assert before.id < after.id < 1 << 40
    assert installation.memory().status().cell == 0
    assert [place.tenant for place in installation.fleet.directory.places()] == ["acme"]
    [row] = installation.ask(0, "SELECT tenant, state, cell FROM recall.resident")
    assert row == {"tenant": "acme", "state": "here", "cell": None}


def test_every_function_refuses_who_lives_elsewhere(two_cells: Installation) -> None:
    two_cells.fleet.place("beta", 1)
    two_cells.memory("beta").remember("The winch needs grease.", key="winch")
    refused = two_cells.direct(0, "beta")
    for call in (
        lambda: refused.search("winch"),
        lambda: refused.remember("More."),
        lambda: refused.get("winch"),
        lambda: refused.record_access("winch"),
        lambda: refused.status(),
    ):
        with pytest.raises(TenantElsewhere, match=r"^Tenant beta does not live in cell 0\.") as caught:
            call()
        assert "PGRECALL_CELLS" in caught.value.hint
        assert caught.value.sqlstate == "RC001"


def test_the_error_names_the_cell_of_a_moved_tenant(two_cells: Installation) -> None:
    two_cells.memory().remember("The winch needs grease.")
    two_cells.ask(0, "UPDATE recall.resident SET state = 'gone', cell = 1")
    with pytest.raises(TenantElsewhere, match="does not live in cell 0, but in cell 1"):
        two_cells.direct(0).search("winch")
    assert two_cells.ask(0, "SELECT * FROM recall.tenants()") == []


def test_one_that_leaves_can_be_read(two_cells: Installation) -> None:
    two_cells.memory().remember("The winch needs grease.", key="winch")
    two_cells.ask(0, "UPDATE recall.resident SET state = 'moving'")
    client = two_cells.direct(0)
    result = client.search("winch")
    assert (len(result.hits), result.search_id) == (1, None)
    assert any("log" in skipped for skipped in result.skipped)
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        two_cells.ask(0, "SELECT recall.remember('More.')", "acme")


def test_a_stranger_is_admitted_by_the_directory_alone(two_cells: Installation) -> None:
    with pytest.raises(TenantElsewhere):
        two_cells.direct(1, "new").remember("A stray note.")
    two_cells.fleet.place("new", 1)
    two_cells.memory("new").remember("A note.")
    assert two_cells.direct(1, "new").search("note").hits


@pytest.mark.parametrize("number", [-1, 4_000_001])
def test_there_is_no_such_cell(installation: Installation, number: int) -> None:
    with pytest.raises(InvalidInput, match="cannot be the number of a cell"):
        installation.fleet.add(installation.cells[0], number=number)


def test_what_cannot_be_a_cell(installation: Installation, empty_database: str) -> None:
    fleet = installation.fleet
    with pytest.raises(SchemaMismatch, match="not initialised"):
        fleet.add(empty_database)
    with pytest.raises(InvalidInput, match="cannot be read"):
        fleet.add("nowhere=else")
    with pytest.raises(InvalidInput, match="must name its database"):
        fleet.add("host=nowhere")
    with pytest.raises(DatabaseUnavailable):
        fleet.add("host=/nowhere dbname=nothing")
    installation.direct(1).remember("The winch needs grease.")
    installation.add(0)
    with pytest.raises(InvalidInput, match="has tenants already, so it can only be cell 0"):
        fleet.add(installation.cells[1])
    migrate.upgrade(empty_database, dimensions=DIMENSIONS + 1)
    with pytest.raises(InvalidInput, match="embeddings of 65 dimensions, cell 0 of 64"):
        fleet.add(empty_database)
    with pytest.raises(InvalidInput, match=r"Cell 0 is .* already"):
        fleet.add(installation.cells[0], number=3)
    assert [entry.number for entry in fleet.directory.cells()] == [0]


def test_adding_twice_is_harmless(two_cells: Installation) -> None:
    two_cells.memory().remember("The winch needs grease.")
    before = two_cells.fleet.directory.cells()
    two_cells.add(0, 1)
    assert two_cells.fleet.directory.cells() == before
    assert two_cells.memory().search("winch").hits


def test_a_cell_of_another_installation_is_refused(two_cells: Installation, empty_database: str) -> None:
    from pgrecall.cells.fleet import Fleet

    with pytest.raises(InvalidInput, match="is cell 1 of another installation"):
        Fleet(empty_database).add(two_cells.cells[1])


def test_an_upgrade_keeps_the_check_and_the_ranges(two_cells: Installation) -> None:
    two_cells.ask(1, "ALTER SEQUENCE recall.memory_id_seq MINVALUE 1")
    migrate.upgrade(two_cells.cells[1])
    assert two_cells.ask(1, "SELECT recall_private.in_cells() AS on") == [{"on": True}]
    [row] = two_cells.ask(1, "SELECT min_value FROM pg_sequences WHERE sequencename = 'memory_id_seq'")
    assert row == {"min_value": 1 << 40}


def test_check_finds_what_is_wrong(two_cells: Installation) -> None:
    two_cells.memory().remember("The winch needs grease.")
    assert {finding.level for finding in two_cells.fleet.check()} == {"ok"}
    two_cells.ask(1, "INSERT INTO recall.resident (tenant) VALUES ('stray')")
    two_cells.ask(1, "ALTER SEQUENCE recall.memory_id_seq MINVALUE 1")
    found = [finding for finding in two_cells.fleet.check() if finding.level == "fail"]
    assert [finding.cell for finding in found] == [1, 1]
    assert found[0].message == "1 sequences are not in the range of cell 1."
    assert found[1].message == "Tenant stray lives here, but the directory does not list it."


def test_drain_and_remove(two_cells: Installation) -> None:
    fleet = two_cells.fleet
    two_cells.memory().remember("The winch needs grease.")
    with pytest.raises(InvalidInput, match="Cell 0 still has tenants: 1"):
        fleet.remove(0)
    with pytest.raises(InvalidInput, match="There is no cell 7"):
        fleet.drain(7)
    assert fleet.drain(1)[0].draining
    assert {fleet.directory.place(f"t{n}").cell for n in range(5)} == {0}
    fleet.remove(1)
    assert two_cells.ask(0, "SELECT recall_private.in_cells() AS on") == [{"on": False}]
    assert two_cells.ask(1, "SELECT recall_private.cell_number() AS number") == [{"number": None}]
    assert two_cells.direct(0).search("winch").hits
    assert two_cells.direct(0, "anybody").search("winch").hits == ()


def test_a_tenant_goes_where_most_room_is(installation: Installation) -> None:
    fleet = installation.add(0, 1).fleet
    assert {fleet.directory.place(f"t{n}").cell for n in range(4)} == {0, 1}
    fleet.directory.run("UPDATE recall_cells.cell SET bytes = 1000000000000 WHERE number = 0")
    assert fleet.directory.place("next").cell == 1
    fleet.directory.run("UPDATE recall_cells.cell SET room = 1")
    with pytest.raises(DatabaseError, match="No cell has room for tenant late"):
        fleet.directory.place("late")
    assert fleet.place("late", 1).cell == 1
    with pytest.raises(InvalidInput, match="Tenant late lives in cell 1"):
        fleet.place("late", 0)


def test_addresses_have_no_password() -> None:
    address = address_of("postgresql://ann:secret@db.example:5433/recall?sslmode=require")
    assert "secret" not in address
    assert "ann" not in address
    assert shown(address) == "db.example:5433/recall"
    joined = url_at(address, "postgresql://bob:other@directory/cells?sslmode=disable&application_name=x")
    parts = "user=bob password=other dbname=recall sslmode=require application_name=x port=5433"
    assert sorted(joined.split()) == sorted([*parts.split(), "host=db.example"])
