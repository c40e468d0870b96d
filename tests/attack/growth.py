"""More of everything that a tenant can have, and databases that differ in it alone.

Plans depend on the size of tables and on statistics of all that they hold. So that only what a function
reads makes a difference, the planner knows the same of both databases of a pair: nothing of contents, and
as many rows and pages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.attack import world as worlds
from tests.attack.world import NOW, TABLES, World, fill, read_on
from tests.conftest import DIMENSIONS
from tests.databases import new_database
from tests.given_server import Server

OTHER_WORDS = {"GUESSED": "wolframites", "UNKNOWN": "brachiosauruses"[:14]}
"""What globex says in the second world: as long, and of other letters."""

DRAFTS = """
SELECT recall.remember_many((
    SELECT jsonb_agg(jsonb_build_object(
        'key', %(word)s::text || n, 'title', %(word)s::text || ' ' || n, 'layer', 'entity',
        'author', %(word)s::text || n,
        'body', %(word)s::text || ' and ' || translate(n::text, '0123456789', 'bcdfghjklm'),
        'tags', jsonb_build_array(%(word)s::text || n %% 5),
        'aliases', jsonb_build_array(n || %(word)s::text),
        'metadata', jsonb_build_object('word', %(word)s::text || n), 'source', %(word)s::text || '-source',
        'session_id', %(word)s::text || n / 3, 'embedding', %(vectors)s::jsonb ->> n::text,
        'occurred_at', %(now)s::timestamptz - n * interval '7 hours',
        'links', jsonb_build_array(
            jsonb_build_object('target', %(word)s::text || n / 2),
            jsonb_build_object('target', 'missing ' || n))))
    FROM generate_series(%(first)s::int, %(last)s::int) n), 'hash', p_now => %(now)s)
"""

SIZES = (
    "SELECT relname, relpages, reltuples, relallvisible FROM pg_class "
    "WHERE relnamespace = 'recall'::regnamespace"
)

CLUSTER = """
SELECT format('CLUSTER recall.%I USING %I', t.relname, k.relname)
FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid JOIN pg_class k ON k.oid = i.indexrelid
WHERE i.indisprimary AND t.relkind = 'r' AND t.relnamespace = 'recall'::regnamespace ORDER BY t.relname
"""

KEPT = (
    "SELECT t.ctid FROM (SELECT ctid, row_number() OVER (ORDER BY ctid) AS n FROM recall.{0} t {1}) t "
    "WHERE n % 4 = 0"
)
"""Rows of others: one of four, so that no page of an index becomes empty."""


FOUND = (
    "(SELECT jsonb_agg(jsonb_build_object('id', t.memory_id, 'version', t.version, 'digest', t.digest, "
    """'places', '[{"path": ["context"], "spans": [[0, 1, "Key"]]}]'::jsonb)) """
    "FROM recall.stored_texts(0, 0, 3) t WHERE t.version = 0 AND %s > 0), p_now => '2026-06-01 12:00+00'"
)
"""Secrets in a few texts, as a client finds them."""


def grow(world: World, tenant: str, word: str, first: int, last: int) -> None:
    """Adds to a tenant memories of these numbers with all that belongs to them, in this word."""

    def call(sql: str, *parameters: Any) -> Any:
        row = world.admin.execute(sql.encode(), parameters).fetchone()
        return None if row is None else row[0]

    call("SELECT set_config('recall.tenant', %s, false)", tenant)
    seed = sum(map(ord, word))
    given = {
        "word": word, "first": first, "last": last, "now": NOW,
        "vectors": json.dumps({number: vector(seed + number) for number in range(first, last + 1)}),
    }  # fmt: skip
    world.admin.execute(DRAFTS.encode(), given)
    for number in range(first, last + 1):
        name = f"{word}{number}"
        one = call("SELECT recall.id_of(%s)", name)
        call("SELECT recall.record_access(%s, 'used', %s, %s, %s, %s)", one, NOW, name, name, NOW)
        if number % 4 == 0:
            _work(call, word, number, one)
    call("SELECT recall.find_duplicates()")
    merging = call("SELECT recall.plan_dedupe(p_now => %s)", NOW)
    call("SELECT count(*) FROM recall.apply_plan(%s, p_now => %s)", merging, NOW)
    call("SELECT recall.plan_dedupe(p_now => %s)", NOW)
    call("SELECT recall.set_setting('vitality.spread_half_life_days', %s)", first + 1)
    redacting = call(f"SELECT recall.plan_redact({FOUND})", first)
    call("SELECT count(*) FROM recall.apply_plan(%s, p_now => %s)", redacting, NOW)
    call("SELECT recall.plan_prune(p_max_share => 1, p_now => '2036-06-01')")
    call("SELECT recall.plan_erasure(jsonb_build_object('tag', %s::text), %s, %s)", f"{word}1", word, NOW)
    call("SELECT recall.refresh_statistics(%s)", NOW)
    call("SELECT set_config('recall.tenant', '', false)")


def _work(call: Any, word: str, number: int, one: int) -> None:
    """A layer, a search with its verdict, a run of a job, a key, a pin, a correction, something forgotten."""
    name = f"{word}{number}"
    call("SELECT recall.set_layer(%s, p_now => %s)", name, NOW)
    found = call(
        "SELECT max(search_id) FROM recall.search_and_log("
        "jsonb_build_object('query', %s::text, 'k', 2), p_now => %s)",
        f"{word} {number}", NOW,
    )  # fmt: skip
    call("SELECT recall.rejected(%s, ARRAY[%s::bigint], %s)", found, one, NOW)
    run = call("SELECT recall.begin_job('verify', p_now => %s)", NOW)
    call("SELECT recall.end_job(%s, 'done', 0, '{}', p_now => %s)", run, NOW)
    digest = word.encode().ljust(31, b"x") + bytes([number])
    call("SELECT id FROM recall.create_key(%s, %s, %s)", name, digest, NOW)
    call("SELECT recall.pin(%s, true, %s)", one, NOW)
    call("SELECT recall.edit(%s, jsonb_build_object('author', %s::text), p_now => %s)", one, f"{word}0", NOW)
    read_on(call, one, vector(sum(map(ord, word)) - number))
    call("SELECT recall.supersede(recall.id_of(%s), %s, %s)", f"{word}{number - 1}", one, NOW)
    call("SELECT recall.forget(recall.id_of(%s), false, %s)", f"{word}{number - 2}", NOW)


def vector(seed: int) -> str:
    numbers = ((seed * 7919 + place * (seed % 13 + 3)) % 23 - 11 for place in range(DIMENSIONS))
    return f"[{','.join(map(str, numbers))}]"


def in_other_words(server: Server, template: str) -> Iterator[tuple[World, World]]:
    """Two databases: in the second, globex uses other words and other vectors."""
    for url in new_database(server, template):
        with _connected(url) as one:
            _fill_both(one)
            _settle(one)
            with pytest.MonkeyPatch.context() as patch:
                for name, word in OTHER_WORDS.items():
                    assert len(word) == len(getattr(worlds, name))
                    patch.setattr(worlds, name, word)
                for other_url in new_database(server, template):
                    with _connected(other_url) as other:
                        _fill_both(other)
                        _settle(other)
                        _keep_sizes(other, one)
                        yield one, other


def grown(server: Server, template: str) -> Iterator[tuple[World, World]]:
    """Two databases: in the second, globex and a tenant with a vector table have four times as much."""
    for url in new_database(server, template):
        with _connected(url) as made:
            _fill_both(made)
            grow(made, "globex", worlds.GUESSED, 13, 32)
            grow(made, "initech", "manganite", 1, 12)
            made.admin.execute("SELECT set_config('recall.tenant', 'initech', false)")
            made.admin.execute("SELECT recall.move_vectors_to_own_table(0)")
            _settle(made)
            _make_room(made)
        for copied_url in new_database(server, str(conninfo_to_dict(url)["dbname"])):
            with _connected(url) as much, _connected(copied_url) as little:
                for world in (much, little):
                    world.own, world.ids = made.own, made.ids
                _thin_out(little)
                _keep_sizes(little, much)
                yield little, much


@contextmanager
def _connected(url: str) -> Iterator[World]:
    with psycopg.connect(url, autocommit=True) as admin:
        yield World(url, admin)


def _fill_both(world: World) -> None:
    """Fills a database with acme and globex, whose words are those of the module ``world`` at the moment."""
    fill(world)
    grow(world, "acme", "harbour", 1, 12)
    grow(world, "globex", worlds.GUESSED, 1, 12)


def _settle(world: World) -> None:
    """Puts the rows in the order of their keys, and takes from the planner what it knows of contents."""
    for (statement,) in world.admin.execute(CLUSTER).fetchall():
        world.admin.execute(statement.encode())
    vacuum(world)


def vacuum(world: World) -> None:
    """Removes what is dead, and what the planner knows of contents."""
    world.admin.execute("VACUUM (ANALYZE, INDEX_CLEANUP ON, TRUNCATE OFF)")
    for catalogue in ("pg_statistic", "pg_statistic_ext_data"):
        world.admin.execute(f"DELETE FROM {catalogue}".encode())


def _make_room(world: World) -> None:
    """Leaves free space in every table, so that what attacks write and undo lengthens none."""
    grow(world, "leaving", "room", 1, 120)
    world.admin.execute("SELECT set_config('recall.tenant', 'leaving', false)")
    for _ in range(20):  # many attacks make plans, of which the rest makes few
        world.admin.execute("SELECT recall.plan_prune(p_now => '2036-06-01')")
    world.admin.execute("SELECT set_config('recall.tenant', '', false)")
    for table, tenants in world.admin.execute(TABLES).fetchall():
        if tenants:
            world.admin.execute(f"DELETE FROM recall.{table} WHERE tenant = 'leaving'".encode())
    vacuum(world)


def _thin_out(world: World) -> None:
    """Takes three of four rows of the others away."""
    others = "WHERE tenant IN ('globex', 'initech')"
    for table, tenants in world.admin.execute(TABLES).fetchall():
        if tenants and table not in ("tenant_role", "vector_home"):
            kept = KEPT.format(table, others)
            world.admin.execute(f"DELETE FROM recall.{table} {others} AND ctid NOT IN ({kept})".encode())
    vacuum(world)


def _keep_sizes(world: World, other: World) -> None:
    """Has the planner take all tables and indexes for as large as those of the other database."""
    sizes = other.admin.execute(SIZES).fetchall()
    for one in (world, other):
        one.admin.execute("CREATE TEMP TABLE size (name text, pages int, tuples real, visible int)")
        with one.admin.cursor() as cursor:
            cursor.executemany("INSERT INTO size VALUES (%s, %s, %s, %s)", sizes)
        restore_sizes(one)


def restore_sizes(world: World) -> None:
    """Gives the planner its sizes back after a function that analyzed tables, which cannot be undone."""
    world.admin.execute(
        "UPDATE pg_class SET relpages = s.pages, reltuples = s.tuples, relallvisible = s.visible FROM size s "
        "WHERE relnamespace = 'recall'::regnamespace AND relname = s.name "
        "AND (relpages, reltuples, relallvisible) IS DISTINCT FROM (s.pages, s.tuples, s.visible)"
    )
