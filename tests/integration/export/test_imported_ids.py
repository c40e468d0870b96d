"""An import leaves the sequences that all tenants share where they are, whether it fails or not."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import psycopg
import pytest

from pgrecall import Memory
from pgrecall.errors import RecallError

SEQUENCES = ("memory", "plan", "search_log")
ROWS = 300


@pytest.fixture
def lines(memory: Memory) -> dict[str, dict[str, object]]:
    """A row of each numbered kind, as it is exported."""
    memory.remember("The winch is oiled.")
    memory.remember("The winch is oiled!")
    memory.search("winch")
    memory.plans.prune()
    memory.maintenance.refresh_statistics()
    memory.jobs.run("dedupe")
    file = io.BytesIO()
    memory.plans.dedupe()
    memory.export.write(file, embeddings=False)
    found: dict[str, dict[str, object]] = {}
    for line in file.getvalue().decode().splitlines():
        for kind, row in json.loads(line).items():
            if kind in (*SEQUENCES, "activation"):
                found[kind] = row
    assert set(found) == {*SEQUENCES, "activation"}
    return found


def export(**rows: list[dict[str, object]]) -> bytes:
    """An export with these rows."""
    header = {
        "pgrecall": "export", "format": 1, "counts": {kind: len(held) for kind, held in rows.items()},
        "embeddings": False, "dimensions": 64, "exported_at": "2026-01-01T00:00:00Z", "language": "english",
        "embedder": None,
    }  # fmt: skip
    held = [json.dumps({kind: row}) for kind, given in rows.items() for row in given]
    return "\n".join([json.dumps(header), *held]).encode()


@pytest.fixture
def positions(database_url: str) -> Iterator[Positions]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield Positions(connection)


class Positions:
    """The next ids of the sequences."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self.connection = connection

    def __call__(self) -> dict[str, int]:
        query = "SELECT sequencename, coalesce(last_value, 0) FROM pg_sequences WHERE schemaname = 'recall'"
        return dict(self.connection.execute(query).fetchall())


def apart(row: dict[str, object], first: int) -> list[dict[str, object]]:
    """Rows whose ids lie as far apart as an import could once move a sequence."""
    return [{**row, "id": first + 1000 * place} for place in range(1, ROWS + 1)]


@pytest.mark.parametrize("kind", ["plan", "search_log"])
def test_a_failing_import_uses_no_ids(
    memory: Memory, lines: dict[str, dict[str, object]], positions: Positions, kind: str
) -> None:
    before = positions()
    wrong = {**lines["search_log"], "id": 2**52 + 1}
    rows = {kind: apart(lines[kind], before[f"{kind}_id_seq"])}
    rows["search_log"] = [*rows.get("search_log", []), wrong]
    with pytest.raises(RecallError, match="search_log with the id 4503599627370497"):
        memory.for_tenant("other").export.read(io.BytesIO(export(**rows)))
    assert positions() == before


def test_an_import_that_is_rolled_back_uses_no_more_ids_than_rows(
    lines: dict[str, dict[str, object]], positions: Positions, database_url: str
) -> None:
    before = positions()
    data = export(
        memory=[
            {**row, "key": None, "body": f"{place}"}
            for place, row in enumerate(apart(lines["memory"], before["memory_id_seq"]))
        ],
        activation=[
            {**lines["activation"], "memory_id": row["id"]}
            for row in apart(lines["memory"], before["memory_id_seq"])
        ],
    ).decode()
    header, *rest = data.splitlines()
    with psycopg.connect(database_url) as connection:
        connection.execute("SELECT set_config('recall.tenant', 'other', true)")
        connection.execute("SELECT recall.begin_import(%s, false)", (header,))
        connection.execute("SELECT recall.import_lines(%s)", (rest,))
        connection.execute("SELECT recall.end_import()")
        connection.execute("SELECT recall.remember('A new one.')")
        connection.rollback()
    used = {name: after - before[name] for name, after in positions().items()}
    assert used["memory_id_seq"] <= 2
    assert max(used.values()) <= ROWS + 1  # each row is a change


def test_a_new_memory_comes_after_the_imported_ones(
    memory: Memory, lines: dict[str, dict[str, object]], positions: Positions
) -> None:
    """It does not get the id of one that was deleted before the export."""
    first = positions()["memory_id_seq"]
    rows = [{**row, "key": None, "body": f"{row['id']}"} for row in apart(lines["memory"], first)]
    held = [{**lines["activation"], "memory_id": row["id"]} for row in rows]
    other = memory.for_tenant("other")
    other.export.read(io.BytesIO(export(memory=rows, activation=held)))
    assert other.remember("A new one.").id > first + 1000 * ROWS


def test_imports_use_a_part_of_the_ids_at_most(
    memory: Memory, lines: dict[str, dict[str, object]], positions: Positions
) -> None:
    end = 1 + (1 << 36)
    positions.connection.execute("SELECT setval('recall.memory_id_seq', %s)", (end,))
    rows = [{**row, "key": None, "body": f"{row['id']}"} for row in apart(lines["memory"], end)]
    held = [{**lines["activation"], "memory_id": row["id"]} for row in rows]
    other = memory.for_tenant("other")
    other.export.read(io.BytesIO(export(memory=rows, activation=held)))
    assert other.remember("A new one.").id == end + 1
    positions.connection.execute("SELECT setval('recall.memory_id_seq', %s)", (end + 999,))
    assert other.remember("Another new one.").id == end + 1001


def test_plans_and_searches_pass_over_imported_ones(
    memory: Memory, lines: dict[str, dict[str, object]], positions: Positions
) -> None:
    before = positions()
    kinds = ("plan", "search_log")
    rows = {kind: apart(lines[kind], before[f"{kind}_id_seq"]) for kind in kinds}
    logged = before["search_log_id_seq"]
    rows["search_log"] = [{**row, "id": logged + place} for place, row in enumerate(rows["search_log"], 1)]
    other = memory.for_tenant("other")
    other.export.read(io.BytesIO(export(**rows)))
    assert other.plans.prune().id > before["plan_id_seq"] + 1000 * ROWS
    other.remember("The winch.")
    assert other.search("winch").search_id == logged + ROWS + 1


def test_a_memory_without_its_activation_is_refused(
    memory: Memory, lines: dict[str, dict[str, object]]
) -> None:
    """No read would find it."""
    held = [{**lines["memory"], "id": number, "body": f"{number}"} for number in (4, 5, 6)]
    alive = [{**lines["activation"], "memory_id": number} for number in (4, 6)]
    other = memory.for_tenant("other")
    with pytest.raises(RecallError, match="memory 5 without its activation"):
        other.export.read(io.BytesIO(export(memory=held, activation=alive)))
    assert other.status().memories == 0
