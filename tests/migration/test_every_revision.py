"""From every revision, filled, through every later one to this version: nothing lost, all answers the same.

A database goes up step by step. What came with a revision is stored once it is reached, and goes through all
later ones. Where a revision can be filled as the steps cannot leave it, a second database goes up from there
at once. The fills tell one life of tenant ``acme`` in the tables of each revision, so what it is asked
afterwards must be answered as in a database that was never upgraded, to the last digit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.schema import migrate
from pgrecall.schema.state import BASELINE
from tests.databases import new_database
from tests.migration.catalogue import WHOLE, fetch
from tests.migration.old_schemas import REVISIONS, add, fill, install, landed, take_to
from tests.scale import SCALE
from tests.tenant_world import all_answers

LANDED = {revision: commit for revision, commit in landed().items() if revision >= "0030"}
"""Few are tried, all with a larger PGRECALL_TEST_SCALE, none where git has no history. Some before 0030 were
written anew after they had landed, so that they cannot be filled."""
WORN = ("schema", "order of indexes", "status")
"""What may differ then: how rights of the owner are written, indexes of the first baseline, and when words
were counted."""

KEPT = {
    "memory": "SELECT tenant, id, key, layer, title, body, role, author, context, source, session_id, tags, "
    "aliases, metadata, happened_at, valid_from, valid_until, superseded_by, expires_at, pinned, "
    "archived_at, created_at, updated_at, content_hash, embedded_with FROM recall.memory ORDER BY 1, 2",
    "access": "SELECT tenant, memory_id, kind, weight, at, session_id, recorded_at FROM recall.access "
    "ORDER BY 1, 2, at, kind",
    "link": "SELECT tenant, src, dst, relation, weight, created_at, drafted FROM recall.link "
    "ORDER BY 1, 2, 3, 4",
    "pending": "SELECT * FROM recall.pending_link ORDER BY 1, 2, 3, 4",
    "name": "SELECT tenant, name, memory_id, entity FROM recall.name ORDER BY 1, 2, 3",
    "layer": "SELECT tenant, name, metabolic_rate, reading, base_decay, birth_weight, profile "
    "FROM recall.layer ORDER BY 1, 2",
    "median": "SELECT * FROM recall.layer_median ORDER BY 1, 2",
    "setting": "SELECT * FROM recall.setting WHERE tenant <> '*' ORDER BY 1, 2",
    "activation": "SELECT tenant, memory_id, n, t1, t8, credit, decay, clock, in_degree, spread, spread_at, "
    "last_linked_at FROM recall.activation ORDER BY 1, 2",
}
"""What every revision has. Names get their accents taken off beside them, words are counted anew."""

VECTORS = {
    "0001": "SELECT tenant, id, archived_at IS NOT NULL, embedding::text FROM recall.memory "
    "WHERE embedding IS NOT NULL ORDER BY 1, 2",
    "0006": "SELECT tenant, memory_id, archived, embedding::text FROM recall.vector_shared ORDER BY 1, 2",
}
"""Where they are since which revision."""

SINCE = {
    "0002": ("access_key", "archival", "link_history", "floor_change"),
    "0004": ("judgement", "rerank_model"),
    "0005": ("tenant_role",),
    "0006": ("vector_home",),
}
"""Tables that came with a revision, and have had the same columns since."""

PLANS = {
    "prune_plan": "id, state, created_at, applied_at, undone_at, options, report",
    "prune_item": "plan_id, memory_id, place, vitality, terms, reason, impact - 'content_hash', outcome, "
    "note",
}
"""In tables of their own until 0031."""


UNWANTED_SAMPLES = (
    "SELECT s.tablename, s.attname FROM pg_stats s JOIN pg_attribute a "
    "ON a.attrelid = format('%I.%I', s.schemaname, s.tablename)::regclass AND a.attname = s.attname "
    "WHERE s.schemaname = 'recall' AND a.attstattarget = 0"
)
"""Of columns of which the planner is to keep none."""


def rows(url: str, since: str) -> dict[str, list[Any]]:
    tables = [table for revision, tables in SINCE.items() if revision <= since for table in tables]
    with psycopg.connect(url, autocommit=True) as connection:

        def read(sql: str) -> list[Any]:
            return connection.execute(sql.encode()).fetchall()

        kept = {name: read(sql) for name, sql in KEPT.items()}
        [(apart,)] = read("SELECT to_regclass('recall.vector_shared') IS NOT NULL")
        kept["vector"] = read(VECTORS["0006" if apart else "0001"])
        if since >= "0003":
            kept["job_run"] = read(
                "SELECT to_jsonb(r) - '{holder_pid,holder_role,holder_key}'::text[] FROM recall.job_run r "
                "WHERE r.tenant <> '*' ORDER BY r.tenant, r.id"
            )
            [(one,)] = read("SELECT to_regclass('recall.plan') IS NOT NULL")
            plans = {"prune_plan": ("plan", "kind = 'prune'"), "prune_item": ("plan_item", "keeper IS NULL")}
            for table, columns in PLANS.items():
                name, where = plans[table] if one else (table, "true")
                kept[table] = read(
                    f"SELECT tenant, {columns} FROM recall.{name} WHERE {where} ORDER BY 1, 2, 3"
                )
        if since >= "0004":
            kept["api_key"] = read(
                "SELECT to_jsonb(k) - '{read_only,also_reads}'::text[] FROM recall.api_key k "
                "ORDER BY k.tenant, k.id"
            )
            kept["search_log"] = read(
                "SELECT to_jsonb(s) - '{experiment,arm,arm_weight}'::text[] FROM recall.search_log s "
                "ORDER BY s.tenant, s.id"
            )
        if since >= "0040":
            kept["reader"] = read("SELECT tenant, reader, since FROM recall.reader ORDER BY 1, 2")
        return kept | {
            table: read(f"SELECT * FROM recall.{table} WHERE tenant <> '*' ORDER BY 1, 2") for table in tables
        }


def settled(url: str) -> list[Any]:
    """What jobs find to do after the upgrade is done; then what is not in order, for each tenant."""
    found: list[Any] = []
    with psycopg.connect(url, autocommit=True) as connection:
        for tenant in ("acme", "other"):
            connection.execute("SELECT set_config('recall.tenant', %s, false)", (tenant,))
            connection.execute("SELECT recall.fold_accesses()")
            found += connection.execute(
                "SELECT c ->> 'name', c -> 'examples' "
                "FROM jsonb_array_elements(recall.verify() -> 'checks') c WHERE (c ->> 'problems')::int > 0"
            ).fetchall()
            found += connection.execute("SELECT 'rebuilt' FROM recall.rebuild() r WHERE r > 0").fetchall()
    return found


@pytest.fixture(scope="module")
def fresh(server: EmbeddedServer, template: str) -> Iterator[str]:
    """This version, never upgraded, filled as the newest revision is."""
    for url in new_database(server, template):
        fill(url, REVISIONS[-1])
        fetch(url, "SELECT recall_private.count_lexemes('acme')")
        yield url


@pytest.fixture(scope="module")
def answers(fresh: str) -> dict[str, list[Any]]:
    assert settled(fresh) == []
    return all_answers(fresh, "acme")


def test_every_revision_has_a_fill() -> None:
    """A new one needs `fills/000N.sql`, and its tables named here."""
    assert REVISIONS[-1] == migrate.head_revision()


def test_what_each_revision_stored_comes_through_every_later_one(
    empty_database: str, fresh: str, answers: dict[str, list[Any]]
) -> None:
    url = empty_database
    take_to(url, "0002")
    fill(url, "0002")
    for revision, later in pairwise(REVISIONS[1:]):
        before = rows(url, revision)
        take_to(url, later)
        assert rows(url, revision) == before, later
        if later != "0006":  # its tables hold this already
            add(url, later)
    comes_up_to_this_version(url, REVISIONS[-1], fresh, answers)


# 0001 has other uses than 0002, and vectors have tables of their own since 0006; most upgrade from the last.
# New schemas do not go through the chain that ends with the one before the baseline.
BEFORE_BASELINE = REVISIONS[REVISIONS.index(BASELINE) - 1]


@pytest.mark.parametrize("revision", sorted({"0001", "0006", BEFORE_BASELINE, REVISIONS[-2]}))
def test_all_revisions_at_once(
    revision: str, empty_database: str, fresh: str, answers: dict[str, list[Any]]
) -> None:
    take_to(empty_database, revision)
    fill(empty_database, revision)
    comes_up_to_this_version(empty_database, revision, fresh, answers)


@pytest.mark.parametrize("revision", sorted(LANDED)[:: 1 if SCALE > 1 else 3])
def test_what_was_installed_of_a_revision_with_its_functions(
    revision: str, empty_database: str, fresh: str, answers: dict[str, list[Any]], tmp_path: Path
) -> None:
    install(empty_database, LANDED[revision], tmp_path)
    fill(empty_database, revision)
    fetch(empty_database, "SELECT set_config('recall.tenant', 'acme', false), recall.refresh_lexemes()")
    comes_up_to_this_version(empty_database, revision, fresh, answers, but=WORN)


def comes_up_to_this_version(
    url: str, since: str, fresh: str, answers: dict[str, list[Any]], but: Collection[str] = ()
) -> None:
    """The whole upgrade keeps the rows of a revision; then all is as if there had never been another."""
    before = rows(url, since)
    done = migrate.upgrade(url)
    assert done.after == migrate.inspect(fresh)
    assert done.left == ()
    assert rows(url, since) == before
    assert fetch(url, UNWANTED_SAMPLES) == []
    now, wanted = ([row for row in fetch(one, WHOLE) if row[0] not in but] for one in (url, fresh))
    assert now == wanted
    assert settled(url) == []
    after = all_answers(url, "acme")
    assert [name for name in answers if after[name] != answers[name] and name not in but] == []
    assert not migrate.upgrade(url).changed


def test_plans_of_old_can_be_applied_and_undone(empty_database: str) -> None:
    take_to(empty_database, "0003")
    fill(empty_database, "0003")
    migrate.upgrade(empty_database)
    with psycopg.connect(empty_database) as connection:
        connection.execute("SELECT set_config('recall.tenant', 'other', false)")
        applied = connection.execute("SELECT * FROM recall.apply_plan(2, '2026-06-01 12:00+00')").fetchall()
        assert [row[0] for row in applied] == [30]
        assert connection.execute("SELECT recall.undo_plan(1, '2026-06-01 12:00+00')").fetchone() == (1,)
    assert settled(empty_database) == []


def test_dedupe_plans_are_numbered_after_the_prune_plans_of_their_tenant(empty_database: str) -> None:
    take_to(empty_database, "0030")
    fill(empty_database, "0030")
    with psycopg.connect(empty_database) as connection:
        connection.execute(
            "UPDATE recall.dedupe_plan SET state = 'applied', applied_at = now() WHERE state = 'planned'; "
            "UPDATE recall.dedupe_item SET outcome = CASE WHEN keeper THEN 'kept' ELSE 'merged' END; "
            "INSERT INTO recall.archival (tenant, memory_id, reason, plan_id, archived_at) "
            "SELECT i.tenant, i.memory_id, 'merged', i.plan_id, now() FROM recall.dedupe_item i "
            "WHERE NOT keeper; "
            "INSERT INTO recall.dedupe_plan (tenant, created_at, options, report) "
            "VALUES ('alone', now(), '{}', '{}')"
        )
    migrate.upgrade(empty_database, dimensions=64)
    assert fetch(empty_database, "SELECT tenant, id, kind FROM recall.plan ORDER BY 1, 2") == [
        ("alone", 3, "dedupe"),
        *(
            ("other", number, kind)
            for number, kind in enumerate(("prune", "prune", "dedupe", "dedupe"), start=1)
        ),
    ]
    items = fetch(
        empty_database, "SELECT plan_id, place, keeper FROM recall.plan_item WHERE keeper IS NOT NULL"
    )
    assert sorted(items) == [(4, 1, False), (4, 1, True)]
    assert fetch(empty_database, "SELECT plan_id FROM recall.archival WHERE reason = 'merged'") == [(4,)]
    with psycopg.connect(empty_database) as connection:
        connection.execute("SELECT set_config('recall.tenant', 'other', false)")
        assert connection.execute("SELECT recall.plan_prune()").fetchone() == (5,)


def test_a_name_that_said_read_only_becomes_a_mark(empty_database: str) -> None:
    take_to(empty_database, "0022")
    with psycopg.connect(empty_database) as connection:
        connection.execute(
            "INSERT INTO recall.api_key (tenant, name, hash, created_at) "
            "SELECT 'acme', n, sha256(n::bytea), '2026-05-01' "
            "FROM unnest('{reader (read-only),writer, (read-only)}'::text[]) n"
        )
    migrate.upgrade(empty_database, dimensions=64)
    assert fetch(empty_database, "SELECT name, read_only FROM recall.api_key ORDER BY id") == [
        ("reader", True),
        ("writer", False),
        ("(read-only)", False),
    ]


@pytest.mark.parametrize("revision", ["0004", "0011"])
def test_what_earlier_imports_left_wrong_is_repaired(empty_database: str, revision: str) -> None:
    take_to(empty_database, revision)
    fill(empty_database, revision)
    with psycopg.connect(empty_database) as connection:
        connection.execute(
            "INSERT INTO recall.setting (tenant, name, value) VALUES "
            "('spoiled', 'job.fold.minutes', '\"5\"'), ('spoiled', 'graph.min_cut', '\"-0.5\"'), "
            "('spoiled', 'spread.hops', 'true'), ('spoiled', 'language', '\"german\"'); "
            "UPDATE recall.activation SET in_degree = -100 WHERE tenant = 'acme'; "
            "INSERT INTO recall.lexeme (tenant, word, documents) VALUES ('spoiled', 'x', -5); "
            "SELECT setval('recall.memory_id_seq', 4503599627370496), "
            "setval('recall.search_log_id_seq', 4503599627370496)"
        )
    migrate.upgrade(empty_database)
    assert fetch(
        empty_database, "SELECT name, value FROM recall.setting WHERE tenant = 'spoiled' ORDER BY 1"
    ) == [("graph.min_cut", -0.5), ("job.fold.minutes", 5), ("language", "german")]
    assert fetch(empty_database, "SELECT FROM recall.activation WHERE in_degree < 0") == []
    with psycopg.connect(empty_database) as connection:
        connection.execute("SELECT set_config('recall.tenant', 'acme', false)")
        [before] = fetch(empty_database, "SELECT max(id) FROM recall.memory")
        assert connection.execute("SELECT recall.remember('new')").fetchone() == (before[0] + 1,)
        connection.execute('SELECT recall.search_and_log(\'{"query": "new"}\')')
        [logged] = connection.execute("SELECT last_value < 1000000 FROM recall.search_log_id_seq").fetchall()
        assert logged == (True,)
