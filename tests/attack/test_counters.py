"""What Postgres counts of an attacker's own calls: rows, index entries and blocks.

Two worlds are the same but for the words of globex, which have the same lengths in both. Calls of an attacker
must touch as many blocks in both, under several settings of the planner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.attack import world as worlds
from tests.attack.calls import Attack
from tests.attack.growth import OTHER_WORDS
from tests.attack.world import GUESSED, NOW, World, attackers, fill
from tests.databases import new_database
from tests.given_server import Server

pytestmark = pytest.mark.attack

COUNTED = (
    "SELECT c.relname, pg_stat_get_xact_numscans(c.oid), pg_stat_get_xact_tuples_returned(c.oid), "
    # Not the rows fetched for them: an index-only scan visits those of pages that VACUUM has not marked yet.
    "pg_stat_get_xact_tuples_inserted(c.oid), "
    "pg_stat_get_xact_tuples_updated(c.oid), pg_stat_get_xact_tuples_deleted(c.oid) "
    "FROM pg_class c WHERE c.relnamespace = 'recall'::regnamespace ORDER BY c.relname"
)

LOCKED = (
    "SELECT locktype, relation::regclass::text, mode, granted, count(*) FROM pg_locks "
    "WHERE pid = pg_backend_pid() AND locktype <> 'virtualxid' GROUP BY 1, 2, 3, 4 "
    "ORDER BY 1, 2, 3, 4"
)

PLANNERS = (
    (),
    ("SET enable_seqscan = off", "SET enable_indexscan = off", "SET enable_indexonlyscan = off"),
    ("SET enable_bitmapscan = off", "SET enable_seqscan = off"),
    ("SET plan_cache_mode = force_custom_plan", "SET work_mem = '64kB'", "SET enable_seqscan = off"),
)
"""Every role may set these, and so choose by which index its functions look."""


@pytest.fixture(scope="module")
def renamed(alone: Server, installed: str) -> Iterator[World]:
    """The database in which globex uses other words."""
    with pytest.MonkeyPatch.context() as patch:
        for name, word in OTHER_WORDS.items():
            assert len(word) == len(getattr(worlds, name))
            patch.setattr(worlds, name, word)
        for url in new_database(alone, installed):
            with psycopg.connect(url, autocommit=True) as admin:
                changed = World(url, admin)
                fill(changed)
                _add_names(changed)
                yield changed


@pytest.fixture(scope="module")
def original(alone: Server, installed: str) -> Iterator[World]:
    for url in new_database(alone, installed):
        with psycopg.connect(url, autocommit=True) as admin:
            same = World(url, admin)
            fill(same)
            _add_names(same)
            yield same


def _add_names(world: World) -> None:
    """Names and metadata of both tenants, so that the indexes have something to look through."""
    for tenant, word in (("acme", "harbour"), ("globex", worlds.GUESSED)):
        world.admin.execute("SELECT set_config('recall.tenant', %s, false)", (tenant,))
        world.admin.execute(
            "SELECT count(*) FROM generate_series(1, 40) n, recall.remember("
            "'a body', p_title => %s || ' ' || n, p_layer => 'entity', "
            "p_metadata => jsonb_build_object('word', %s::text), p_now => %s)",
            (word, word, NOW),
        )
        world.admin.execute("SELECT recall.refresh_statistics(%s)", (NOW,))
    world.admin.execute("SELECT set_config('recall.tenant', '', false)")
    for table in ("memory", "name", "lexeme"):
        world.admin.execute(f"VACUUM ANALYZE recall.{table}".encode())


@pytest.fixture(scope="module")
def logins(original: World, renamed: World) -> Iterator[dict[str, str]]:
    with attackers(original.url, renamed.url) as made:
        yield made


def counted(connection: psycopg.Connection[Any], attack: Attack) -> list[Any]:
    """The counters and locks of the attacker's transaction after the attack, which is undone."""
    connection.execute("BEGIN")
    try:
        # Counts of earlier transactions stay in them for up to a second.
        before = {row[0]: row[1:] for row in connection.execute(COUNTED)}
        connection.execute("SAVEPOINT before")
        try:
            connection.execute(attack.sql.encode(), attack.parameters)
        except psycopg.Error:
            connection.execute("ROLLBACK TO before")
        rows: list[Any] = [
            (name, *(n - m for n, m in zip(numbers, before.get(name, (0,) * 5), strict=True)))
            for name, *numbers in connection.execute(COUNTED).fetchall()
        ]
        return rows + connection.execute(LOCKED).fetchall()
    finally:
        connection.execute("ROLLBACK")


QUESTIONS = (GUESSED, GUESSED[:-1], f"{GUESSED} plan", "zanzibaritte", "wolframitte", "habour", "contract")
"""What the one globex says, nearly what it says, what the other says, and what acme says."""

CALLS = (
    "recall.search(%s, p_now => '2026-06-01')",
    "recall.find(jsonb_build_object('query', %s::text), p_now => '2026-06-01')",
    "recall.queries_without_names(ARRAY[%s])",
    "recall.search('contract', p_metadata => jsonb_build_object('word', %s::text), p_now => '2026-06-01')",
    "recall.search('contract', p_sources => ARRAY[%s], p_now => '2026-06-01')",
    "recall.list_memories(jsonb_build_object('metadata', jsonb_build_object('word', %s::text)))",
)


def buffers(connection: psycopg.Connection[Any], call: str, question: str) -> int:
    """The fewest blocks that one of several runs touches: the first also reads catalogues."""
    found = []
    for _ in range(6):
        [(plan,)] = connection.execute(
            f"EXPLAIN (ANALYZE, BUFFERS, FORMAT json) SELECT * FROM {call}".encode(), (question,)
        ).fetchall()
        found.append(plan[0]["Plan"]["Shared Hit Blocks"] + plan[0]["Plan"]["Shared Read Blocks"])
    return min(found)


@pytest.mark.parametrize("call", CALLS)
def test_explain_touches_as_many_blocks_whatever_others_stored(
    call: str, original: World, renamed: World, logins: dict[str, str], tried: Counter[str]
) -> None:
    for planner in PLANNERS:
        with original.log_in(logins["reader"]) as here, renamed.log_in(logins["reader"]) as there:
            for statement in planner:
                here.execute(statement.encode())
                there.execute(statement.encode())
            for question in QUESTIONS:
                tried["buffers"] += 1
                assert buffers(here, call, question) == buffers(there, call, question), (planner, question)


def with_admin(world: World, sql: str) -> int:
    row = world.admin.execute(sql.encode()).fetchone()
    assert row is not None
    return int(row[0])


def test_a_census_reads_nothing_of_other_tenants(
    original: World, logins: dict[str, str], tried: Counter[str]
) -> None:
    with original.log_in(logins["app"]) as connection:
        connection.execute("SET enable_seqscan = off")
        rows = counted(connection, Attack("census", "SELECT recall.census()", ()))
    memories = with_admin(original, "SELECT count(*) FROM recall.memory WHERE tenant = 'acme'")
    read = {row[0]: row[2] for row in rows if row[0].startswith(("activation", "memory", "access_queue"))}
    assert 0 < max(read.values()) <= memories
    tried["counters"] += 1


HIDDEN = (
    "SELECT last_value FROM pg_sequences WHERE schemaname = 'recall' AND last_value IS NOT NULL",
    "SELECT * FROM pg_stats WHERE schemaname = 'recall'",
    "SELECT * FROM pg_stats_ext WHERE schemaname = 'recall'",
)

REFUSED = (
    "SELECT lastval()",
    "SELECT currval(pg_get_serial_sequence('recall.memory', 'id'))",
    "SELECT xmin, ctid FROM recall.memory",
    "SELECT * FROM pg_ls_waldir()",
    "SELECT pg_stat_reset()",
    "SELECT * FROM pg_get_wal_records_info('0/0', 'FFFFFFFF/0')",
    "SET track_functions = 'all'",
    "SET log_executor_stats = on",
    "SET session_preload_libraries = 'auto_explain'",
)


@pytest.mark.parametrize("right", ["reader", "app", "worker"])
def test_statistics_and_sequences_are_closed(
    right: str, original: World, logins: dict[str, str], tried: Counter[str]
) -> None:
    with original.log_in(logins[right]) as connection:
        for statement in HIDDEN:
            assert connection.execute(statement.encode()).fetchall() == [], statement
            tried["counters"] += 1
        connection.execute("SELECT recall.search('contract')")
        for statement in REFUSED:
            with pytest.raises(psycopg.Error):
                connection.execute(statement.encode())
            tried["counters"] += 1
