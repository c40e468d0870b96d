"""recall.similarities, recall.successors and recall.log_shown as SQL."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.conftest import DIMENSIONS, NOW
from tests.databases import Query
from tests.integration.access.use_tools import note, notes


def vector(*head: float) -> str:
    return str([*head, *[0.0] * (DIMENSIONS - len(head))])


def embedded(sql: Query, key: str, *head: float, model: str = "m", **options: Any) -> int:
    """A memory with this vector, written past the functions, which refuse zero and two models."""
    one = note(sql, key, **options)
    sql("UPDATE recall.memory SET embedded_with = %s WHERE id = %s", (model, one), **options)
    tenant = options.get("tenant", "acme")
    sql(
        "SELECT recall_private.replace_vectors(%s, ARRAY[%s], ARRAY[%s::halfvec])",
        (tenant, one, vector(*head)),
        **options,
    )
    return one


def similarities(sql: Query, ids: list[int | None] | None, **options: Any) -> dict[tuple[int, int], float]:
    rows = sql("SELECT * FROM recall.similarities(%s)", (ids,), **options)
    assert [(row["a"], row["b"]) for row in rows] == sorted((row["a"], row["b"]) for row in rows)
    return {(row["a"], row["b"]): row["similarity"] for row in rows}


def test_cosines(sql: Query) -> None:
    a, b, c = embedded(sql, "a", 1, 0), embedded(sql, "b", 3, 3), embedded(sql, "c", -2, 0)
    found = similarities(sql, [c, a, b, a, None, 10**12])
    assert found == {
        (a, b): pytest.approx(math.sqrt(0.5)),
        (a, c): pytest.approx(-1),
        (b, c): pytest.approx(-math.sqrt(0.5)),
    }
    d = embedded(sql, "d", 7, 0)
    assert similarities(sql, [a, d]) == {(a, d): 1.0}


def test_only_vectors_of_one_embedder_that_have_a_direction_are_compared(sql: Query) -> None:
    a, b = embedded(sql, "a", 1), embedded(sql, "b", 1, model="other")
    zero, bare = embedded(sql, "zero", 0), note(sql, "bare")
    assert similarities(sql, [a, b, zero, bare]) == {}


def test_other_tenants_are_not_there(sql: Query) -> None:
    theirs = [embedded(sql, "a", 1, tenant="other"), embedded(sql, "b", 1, tenant="other")]
    assert similarities(sql, theirs) == {}
    assert len(similarities(sql, theirs, tenant="other")) == 1
    sql("SELECT recall.supersede(%s, %s)", theirs, tenant="other")
    assert sql("SELECT * FROM recall.successors(%s)", (theirs,)) == []
    [logged] = sql("SELECT recall.log_shown(%s, p_query => 'q') AS search_id", (theirs,))
    assert sql("SELECT id AS search_id, shown FROM recall.search_log") == [logged | {"shown": []}]
    assert sql("SELECT count(*) FROM recall.access WHERE kind = 'retrieval'") == [{"count": 0}]


@pytest.mark.parametrize("ids", [None, [], [None]])
def test_no_ids_no_rows(sql: Query, ids: Any) -> None:
    assert sql("SELECT * FROM recall.similarities(%s::bigint[])", (ids,)) == []
    assert sql("SELECT * FROM recall.successors(%s::bigint[])", (ids,)) == []
    assert sql("SELECT recall.log_shown(%s::bigint[]) AS search_id", (ids,)) == [{"search_id": None}]
    assert sql("SELECT count(*) AS queued FROM recall.access_queue") == [{"queued": 0}]


@pytest.mark.parametrize("function", ["similarities", "successors", "log_shown"])
def test_two_hundred_are_the_most(sql: Query, function: str) -> None:
    ids = [*range(1, 201)]
    sql(f"SELECT * FROM recall.{function}(%s)", (ids * 2,))
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="201 memories cannot be compared at once"):
        sql(f"SELECT * FROM recall.{function}(%s)", ([*ids, 201],))


def test_successors_at_any_remove(sql: Query) -> None:
    a, b, c, d = notes(sql, 4)
    for old, new in ((a, b), (b, c)):
        sql("SELECT recall.supersede(%s, %s)", (old, new))
    rows = sql("SELECT * FROM recall.successors(%s)", ([d, b, a],))
    assert [tuple(row.values()) for row in rows] == [(a, b, 1), (a, c, 2), (b, c, 1)]


def test_a_circle_made_by_hand_ends(sql: Query) -> None:
    a, b = notes(sql, 2)
    for old, new in ((a, b), (b, a)):
        sql("UPDATE recall.memory SET superseded_by = %s WHERE id = %s", (new, old))
    rows = sql("SELECT successor FROM recall.successors(%s)", ([a],))
    assert {row["successor"] for row in rows} == {a, b}


def test_shown_memories_are_logged_as_search_logs_them(sql: Query) -> None:
    a, b = notes(sql, 2)
    call = "SELECT recall.log_shown(%s, 's', %s, %s, 'episodic', ARRAY['x', 'y']) AS search_id"
    [logged] = sql(call, ([b, a, b, 10**12], NOW, "what?"))
    rows = sql(
        "SELECT memory_id, kind, weight, at, session_id FROM recall.access WHERE kind <> 'write' ORDER BY 1"
    )
    assert [tuple(row.values()) for row in rows] == [(one, "retrieval", 0.1, NOW, "s") for one in (a, b)]
    assert sql("SELECT memory_ids, at FROM recall.access_queue") == [{"memory_ids": [b, a], "at": NOW}]
    [search] = sql("SELECT * FROM recall.search_log")
    assert search == {
        "tenant": "acme", "id": logged["search_id"], "at": NOW, "session_id": "s", "query": "what?",
        "queries": ["x", "y"], "profile": "episodic", "shown": [b, a],
        "experiment": None, "arm": None, "arm_weight": None,
    }  # fmt: skip


def test_without_a_question_no_search_is_kept(sql: Query) -> None:
    a, b = notes(sql, 2)
    assert sql("SELECT recall.log_shown(%s) AS search_id", ([a, b],)) == [{"search_id": None}]
    assert sql("SELECT count(*) FROM recall.search_log") == [{"count": 0}]
    assert sql("SELECT count(*) FROM recall.access WHERE kind = 'retrieval'") == [{"count": 2}]
    [logged] = sql("SELECT recall.log_shown(%s, p_queries => ARRAY['x']) AS search_id", ([a],))
    assert sql("SELECT id AS search_id, query FROM recall.search_log") == [logged | {"query": ""}]


@pytest.mark.parametrize(
    ("call", "part"),
    [
        ("ARRAY[1], repeat('s', 1001)", "session id"),
        ("ARRAY[1], NULL, 'infinity'", "must be a moment"),
        ("ARRAY[1], p_query => repeat('q', 10001)", "The query has 10001 characters"),
    ],
)
def test_what_cannot_be_logged(sql: Query, call: str, part: str) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match=part):
        sql(f"SELECT recall.log_shown({call})")


@pytest.fixture
def filled(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection as tenant ``acme``, who has 3,000 memories."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SELECT set_config('recall.tenant', 'acme', false)")
        connection.execute(
            "WITH made AS (INSERT INTO recall.memory (tenant, layer, body, embedded_with) "
            "SELECT 'acme', 'knowledge', 'b', 'm' FROM generate_series(1, 3000) RETURNING id) "
            "INSERT INTO recall.vector_shared (tenant, memory_id, embedding) "
            "SELECT 'acme', id, array_fill(id::real, ARRAY[%s])::halfvec FROM made",
            (DIMENSIONS,),
        )
        connection.execute("ANALYZE recall.memory")
        yield connection


def rows_read(connection: psycopg.Connection[Any]) -> int:
    """Rows of recall.memory this connection has read and not yet reported."""
    [[read]] = connection.execute(
        "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables "
        "WHERE schemaname = 'recall' AND relname = 'memory'"
    ).fetchall()
    return int(read)


@pytest.mark.parametrize("function", ["similarities", "successors"])
def test_no_other_row_is_read(filled: psycopg.Connection[Any], function: str) -> None:
    [[ids]] = filled.execute("SELECT array_agg(id) FROM recall.memory WHERE id % 60 = 7").fetchall()
    for _ in range(7):  # past the point where a plan may become generic
        with filled.transaction():
            before = rows_read(filled)
            filled.execute(f"SELECT * FROM recall.{function}(%s)", (ids,))
            assert rows_read(filled) - before <= 50
