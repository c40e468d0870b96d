"""recall.remember: one memory of typed arguments means what a draft of the same words means."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from pgrecall import Memory
from tests.databases import Query

pytestmark = pytest.mark.in_turns


@pytest.mark.parametrize(
    ("said", "clause"),
    [
        ("p_body => ' '", "it has neither a title nor a body"),
        ("p_body => 'b', p_tags => ARRAY['a', NULL]", "its tags are not a JSON array of texts"),
        ("p_body => 'b', p_aliases => ARRAY[['a'], ['b']]", "its aliases are not a JSON array of texts"),
        ("p_body => 'b', p_metadata => '[1]'", "its metadata is not a JSON object"),
        ("p_body => 'b', p_links => '{}'", "its links are not a JSON array of objects"),
        ("p_body => 'b', p_links => '[{}]'", "a link of it has no target of 1 to 1,000 characters"),
        ("p_body => 'b', p_key => ''", "its key has 0 characters; a key has 1 to 1,000"),
        ("p_body => 'b', p_title => repeat('x', 1001)", "its title has 1001 characters, more than 1,000"),
        ("p_body => 'b', p_author => repeat('x', 2001)", "its author has 2001 bytes, more than 2000"),
        ("p_body => 'b', p_tags => ARRAY[repeat('x', 19997)]", "its tags have 20001 bytes, more than 20000"),
        (
            "p_body => 'b', p_metadata => jsonb_build_object('a', repeat('x', 1000000))",
            "its metadata has 1000017 bytes, more than 1,000,000",
        ),
        (
            "p_body => 'b', p_metadata => (repeat('{\"a\":', 101) || '1' || repeat('}', 101))::jsonb",
            "its metadata is nested more than 100 levels deep",
        ),
        (
            "p_body => 'b', p_layer => 'dreams'",
            "its layer 'dreams' is unknown; there are activity, entity, episodic, knowledge",
        ),
        ("p_body => 'b', p_role => 'robot'", "its role 'robot' is none of user, assistant, system, tool"),
        ("p_body => 'b', p_occurred_at => 'infinity'", "one of its times lies outside the years 1 to 9999"),
        (
            "p_body => 'b', p_embedding => '[1,2,3]'",
            "its embedding has 3 dimensions, this database 64; embed with the model it was made for",
        ),
    ],
)
def test_what_is_refused_is_refused_as_a_draft_is(sql: Query, said: str, clause: str) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue) as caught:
        sql(f"SELECT recall.remember({said})")
    assert caught.value.diag.message_primary == f"The draft cannot be stored: {clause}."
    assert sql("SELECT count(*) FROM recall.memory") == [{"count": 0}]


def test_a_text_that_lies_compressed_in_a_table_is_as_long_as_it_reads(sql: Query) -> None:
    sql("CREATE TEMPORARY TABLE held (title text)")
    sql("INSERT INTO held VALUES (repeat('x', 3000))")
    [stored] = sql("SELECT pg_column_size(title) AS size FROM held")
    assert stored["size"] < 1000
    with pytest.raises(psycopg.errors.InvalidParameterValue) as caught:
        sql("SELECT recall.remember('b', title) FROM held")
    sentence = "The draft cannot be stored: its title has 3000 characters, more than 1,000."
    assert caught.value.diag.message_primary == sentence


def test_null_says_nothing(sql: Query) -> None:
    unsaid = ", ".join(
        f"p_{name} => NULL"
        for name in ("title", "layer", "context", "tags", "aliases", "metadata", "links", "embedded_with")
    )
    assert _row(sql, f"p_body => 'b', {unsaid}") == _row(sql, "p_body => 'b'")
    assert _row(sql, "p_body => 'b', p_metadata => 'null', p_links => 'null'") == _row(sql, "p_body => 'b'")


def _row(sql: Query, said: str) -> dict[str, Any]:
    """What is stored of it, but for its id."""
    [made] = sql(f"SELECT recall.remember({said}) AS id")
    [row] = sql(
        "SELECT to_jsonb(m) - 'id' - 'created_at' - 'updated_at' - 'happened_at' AS stored "
        "FROM recall.memory m WHERE m.id = %s",
        (made["id"],),
    )
    return dict(row["stored"])


@pytest.mark.parametrize("before", ["", "remember('b', p_links => '[{\"target\": \"elsewhere\"}]')"])
def test_a_transaction_that_writes_a_memory_again_and_again_needs_none_within(
    shared_connection: psycopg.Connection[Any], before: str
) -> None:
    """With one for each call, each version has a lock of its own, which later reads of the memory decode."""
    with shared_connection.transaction(force_rollback=True):
        shared_connection.execute("SELECT set_config('recall.tenant', 'acme', true)")
        if before:
            shared_connection.execute(f"SELECT recall.{before}".encode())
        for text in ("first", "second", "third"):
            shared_connection.execute("SELECT recall.remember(%s, p_key => 'k')", (text,))
        [row] = shared_connection.execute(
            "SELECT m.xmin::text AS written, pg_current_xact_id()::xid::text AS own "
            "FROM recall.memory m WHERE m.key = 'k'"
        ).fetchall()
    assert row["written"] == row["own"]


def test_a_memory_that_was_there_before_is_locked_in_one_within_once(
    memory: Memory, database_url: str
) -> None:
    """The first call may have to give up its lock; all later ones have it."""
    memory.remember("long ago", key="k")
    with psycopg.connect(database_url) as connection:
        connection.execute("SELECT set_config('recall.tenant', 'acme', true)")
        connection.execute("SELECT pg_current_xact_id()")
        written = []
        for text in ("first", "second", "third"):
            connection.execute("SELECT recall.remember(%s, p_key => 'k')", (text,))
            written += connection.execute(
                "SELECT m.xmin = pg_current_xact_id()::xid FROM recall.memory m WHERE m.key = 'k'"
            ).fetchall()
    assert written == [(False,), (True,), (True,)]


@pytest.mark.parametrize(("ahead", "own"), [(0, True), (1000, False), (2**31 - 1, False)])
def test_a_row_of_2_to_the_31_transactions_ago_is_not_of_this_one(
    shared_connection: psycopg.Connection[Any], ahead: int, own: bool
) -> None:
    """A frozen row keeps its number, which then lies ahead of all transactions."""
    number = f"((pg_current_xact_id()::text::bigint + {ahead}) % 4294967296)::text::xid"
    with shared_connection.transaction(force_rollback=True):
        [row] = shared_connection.execute(
            f"SELECT recall_private.is_written_here({number}) AS own"
        ).fetchall()
    assert row["own"] is own


def test_a_link_that_waits_for_a_memory_is_made_once_it_has_that_name(sql: Query) -> None:
    """Also where a transaction has written the memory before."""
    sql("SELECT recall.remember('b', p_key => 'k')")
    sql("""SELECT recall.remember('b', p_key => 'source', p_links => '[{"target": "Later"}]')""")
    sql("SELECT recall.remember('b', 'later', p_key => 'k')")
    linked = (
        "SELECT s.key AS src, d.key AS dst FROM recall.link l "
        "JOIN recall.memory s ON s.id = l.src JOIN recall.memory d ON d.id = l.dst"
    )
    assert sql(linked) == [{"src": "source", "dst": "k"}]
