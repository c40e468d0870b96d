"""Where vectors are: in a table that small tenants share, or in one of a large tenant's own."""

from __future__ import annotations

import random
import threading
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from pgrecall import Memory
from pgrecall.nouns.memories.models import Draft
from tests.conftest import DIMENSIONS
from tests.databases import Query
from tests.waiting import PATIENCE, until

SOME = 40


def vector(seed: int) -> str:
    dice = random.Random(seed)
    return str([round(dice.gauss(0, 1), 3) for _ in range(DIMENSIONS)])


def remember(query: Query, body: str, seed: int, key: str | None = None, tenant: str = "acme") -> int:
    [row] = query(
        "SELECT recall.remember(%s, p_key => %s, p_embedding => %s::halfvec, p_embedded_with => 'm') AS id",
        (body, key, vector(seed)), tenant=tenant,
    )  # fmt: skip
    return int(row["id"])


def fill(query: Query, tenant: str = "acme", count: int = SOME) -> list[int]:
    return [remember(query, f"memory number {n}", n, f"k{n}", tenant) for n in range(count)]


def house(query: Query, least: int = SOME - 1, tenant: str = "acme") -> int:
    return int(
        query("SELECT recall.move_vectors_to_own_table(%s) AS moved", (least,), tenant=tenant)[0]["moved"]
    )


def moved_between_writes(query: Query) -> int:
    """How many have moved; 0 where each writer of a busy machine took longer than the mover waits for it."""
    with suppress(psycopg.errors.LockNotAvailable):
        return house(query, 10)
    return 0


def nearest(query: Query, seed: int, tenant: str = "acme", **options: Any) -> list[tuple[int, float]]:
    given = {"embedding": vector(seed), "k": 10, "vitality_mode": "off", **options}
    asked = ", ".join(f"p_{name} => %({name})s" for name in given)
    rows = query(f"SELECT id, relevance FROM recall.search('number', {asked})", given, tenant=tenant)
    return [(row["id"], row["relevance"]) for row in rows]


def table_of(query: Query, tenant: str = "acme") -> str:
    return str(query("SELECT recall_private.vector_table(%s) AS name", (tenant,))[0]["name"])


def wrong(query: Query, tenant: str = "acme") -> int:
    """How many vectors verification finds fault with."""
    [row] = query("SELECT recall.verify() AS found", tenant=tenant)
    return next(int(check["problems"]) for check in row["found"]["checks"] if check["name"] == "vectors")


def test_a_tenant_that_has_grown_moves_and_is_found_as_before(sql: Query) -> None:
    fill(sql), fill(sql, tenant="globex")
    sql("SELECT recall.forget(recall.id_of('k3')), recall.forget(recall.id_of('k4'), true)")
    before = {tenant: [nearest(sql, seed, tenant) for seed in range(5)] for tenant in ("acme", "globex")}
    hidden = nearest(sql, 3, include_archived=True)

    assert house(sql, SOME) == 0
    assert table_of(sql) == "vector_shared"
    assert house(sql, SOME - 2) == SOME - 1
    assert house(sql, 0) == 0

    assert table_of(sql).removeprefix("vector_").isdigit()
    assert table_of(sql, "globex") == "vector_shared"
    assert before == {
        tenant: [nearest(sql, seed, tenant) for seed in range(5)] for tenant in ("acme", "globex")
    }
    assert nearest(sql, 3, include_archived=True) == hidden
    assert sql("SELECT DISTINCT tenant FROM recall.vector_shared") == [{"tenant": "globex"}]
    assert (wrong(sql), wrong(sql, "globex")) == (0, 0)


@pytest.mark.parametrize("housed", [False, True])
def test_a_vector_goes_where_its_memory_goes(sql: Query, housed: bool) -> None:
    ids = fill(sql)
    if housed:
        house(sql)
    table = table_of(sql)

    def flags() -> dict[int, bool]:
        return {row["memory_id"]: row["archived"] for row in sql(f"SELECT * FROM recall.{table}")}

    sql("SELECT recall.forget(%s)", (ids[0],))
    assert flags()[ids[0]] is True
    sql("SELECT recall.remember('memory number 0', p_key => 'k0')")  # comes back with the vector it had
    assert flags()[ids[0]] is False
    sql("SELECT recall.remember('another text', p_key => 'k1')")
    sql("SELECT recall.forget(%s, true)", (ids[2],))
    sql("DELETE FROM recall.memory WHERE id = %s", (ids[3],))  # an administrator, past all functions
    remember(sql, "yet another", 99, "k4")
    assert set(ids) - set(flags()) == {ids[1], ids[2], ids[3]}
    assert nearest(sql, 99)[0][0] == ids[4]
    assert wrong(sql) == 0


WRITTEN = """
SELECT string_agg(concat_ws(' ', c.relname, obj_description(c.oid), pg_get_expr(c.relpartbound, c.oid),
           (SELECT string_agg(pg_get_constraintdef(k.oid), ' ') FROM pg_constraint k
            WHERE k.conrelid = c.oid),
           (SELECT string_agg(i.indexdef, ' ') FROM pg_indexes i WHERE i.tablename = c.relname)), ' ') AS text
FROM pg_class c WHERE c.relnamespace = 'recall'::regnamespace
"""
"""What everybody can read of our tables."""


def test_the_catalogue_does_not_reveal_the_tenant_of_a_table(sql: Query) -> None:
    fill(sql, tenant="globex")
    house(sql, tenant="globex")
    [written] = sql(WRITTEN)
    assert f"{table_of(sql, 'globex')}_live_idx" in written["text"]
    assert "globex" not in written["text"]
    assert sql("SELECT * FROM recall.access_problems()") == []


def test_the_job_leaves_small_tenants_where_they_are(memory: Memory, query: Query) -> None:
    memory.remember_many([Draft(f"note {n} about tides", key=f"n{n}") for n in range(SOME)])
    [outcome] = memory.jobs.run("vectors")
    assert (outcome.state, outcome.counts) == ("done", {"moved": 0})
    assert table_of(query) == "vector_shared"


def test_no_vector_is_lost_while_a_tenant_moves(database_url: str, query: Query) -> None:
    """Writers go on while the indexes are built; what they write is there, whichever table it went to."""
    fill(query, count=300)
    stop, written = threading.Event(), []

    def write(part: int) -> None:
        with psycopg.connect(database_url, autocommit=True, row_factory=dict_row) as connection:
            connection.execute("SELECT set_config('recall.tenant', 'acme', false)")
            while not stop.is_set():
                n = 1000 * part + len(written)
                connection.execute(
                    "SELECT recall.remember(%s, p_embedding => %s::halfvec, p_embedded_with => 'm')",
                    (f"written meanwhile {n}", vector(n)),
                )
                written.append(n)

    threads = [threading.Thread(target=write, args=(part,)) for part in (1, 2)]
    for thread in threads:
        thread.start()
    try:
        until(lambda: written, "a write")
        moved = until(lambda: moved_between_writes(query), "a moment between two writes")
    finally:
        stop.set()
        for thread in threads:
            thread.join(timeout=PATIENCE)
    assert moved >= 300
    assert written
    assert wrong(query) == 0
    table = table_of(query)
    assert query(f"SELECT count(*) AS n FROM recall.{table}") == [{"n": 300 + len(written)}]
    assert query("SELECT count(*) AS n FROM recall.vector_shared") == [{"n": 0}]


def test_a_mover_gives_way_to_a_writer_who_does_not_end(database_url: str, query: Query) -> None:
    fill(query)
    with psycopg.connect(database_url) as writer:
        writer.execute("SELECT set_config('recall.tenant', 'acme', false)")
        writer.execute(
            "SELECT recall.remember('x', p_embedding => %s::halfvec, p_embedded_with => 'm')", (vector(7),)
        )
        with pytest.raises(psycopg.errors.LockNotAvailable, match="are busy"):
            query("SELECT recall.move_vectors_to_own_table(1)")
        # Whoever comes in between is served.
        remember(query, "another", 8)
    assert house(query, 1) == SOME + 2
