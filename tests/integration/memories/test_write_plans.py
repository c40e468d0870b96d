"""What writes read in a new database that was never analysed: some rows for each memory, never a table.

Rows read are those that Postgres counts for this transaction. A plan made for an empty table, kept while the
table grows, reads the table once for each draft or link.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tests.conftest import NOW
from tests.databases import new_database
from tests.given_server import Server

MANY = 3_000
BATCH = 500
LONG_AGO = NOW - timedelta(days=400)
READ = """
SELECT relname, coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) + coalesce(index_reads, 0)
FROM pg_stat_xact_user_tables t
LEFT JOIN (SELECT indrelid, sum(pg_stat_get_xact_tuples_returned(indexrelid)) AS index_reads FROM pg_index
           GROUP BY indrelid) i ON i.indrelid = t.relid
WHERE schemaname = 'recall'
"""
FILL = """
WITH stored AS (
    INSERT INTO recall.memory (tenant, key, layer, title, body, created_at, updated_at)
    SELECT 'acme', 'm' || n, 'activity', 'Title ' || n, 'text ' || n, %(at)s, %(at)s
    FROM generate_series(1, %(many)s) n
    RETURNING id
), used AS (
    INSERT INTO recall.access (tenant, memory_id, kind, weight, at, recorded_at)
    SELECT 'acme', s.id, 'write', 1, %(at)s, %(at)s FROM stored s
)
INSERT INTO recall.activation (tenant, memory_id, n, first_at, t1, folded_until, decay, clock)
SELECT 'acme', s.id, 1, recall_private.epoch(%(at)s), recall_private.epoch(%(at)s), %(at)s, 0.5, 1 FROM
stored s
"""
LINKS = """
INSERT INTO recall.link (tenant, src, dst, relation, created_at, drafted)
SELECT 'acme', m.id, h.id, 'links_to', %s, true FROM recall.memory m
JOIN recall.memory h ON h.key = 'm1' OR h.id = m.id + 1 WHERE m.id <> h.id
"""


class Writer:
    """A session of tenant ``acme`` in a database that was never analysed."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Rolls back what is written meanwhile, and what is set."""
        with self._connection.transaction(force_rollback=True):
            yield

    def run(self, sql: str, *parameters: Any) -> Any:
        cursor = self._connection.execute(sql, parameters)
        row = cursor.fetchone() if cursor.description else None
        return row[0] if row else None

    def column(self, sql: str, *parameters: Any) -> list[Any]:
        return [row[0] for row in self._connection.execute(sql, parameters).fetchall()]

    def id_of(self, key: str) -> int:
        return int(self.run("SELECT recall.id_of(%s)", key))

    def read(self, sql: str, *parameters: Any) -> dict[str, int]:
        """How many rows and index entries of each table a statement read."""
        with self._connection.transaction():
            self._connection.execute("SELECT pg_stat_force_next_flush()")
            before = dict(self._connection.execute(READ).fetchall())
            self._connection.execute(sql, parameters).fetchall()
            after = dict(self._connection.execute(READ).fetchall())
        return {name: count - before.get(name, 0) for name, count in after.items()}


def every_write(writer: Writer) -> dict[str, tuple[str, tuple[Any, ...]]]:
    """One call of each function that writes a few memories; each can be repeated."""
    some = [writer.id_of(f"m{number}") for number in range(10, 15)]
    drafts = [
        {"key": f"m{number}", "body": f"new {number}", "title": f"Title {number}",
         "links": [{"target": f"m{number + 1}"}, {"target": f"title {number + 2}"}, {"target": "to come"}]}
        for number in range(20, 25)
    ]  # fmt: skip
    uses = [{"memory_id": one, "kind": "used", "session_id": "s"} for one in some]
    return {
        "remember": (
            "SELECT recall.remember('one', p_key => 'm30', p_title => 'To come', p_now => %s)", (NOW,)
        ),
        "remember_many": ("SELECT recall.remember_many(%s::jsonb, p_now => %s)", (json.dumps(drafts), NOW)),
        "link": ("SELECT recall.link(%s, %s, 'mentions', 1, %s)", (some[0], some[1], NOW)),
        "supersede": ("SELECT recall.supersede(%s, %s, %s)", (some[2], some[3], NOW)),
        "archive": ("SELECT recall.forget(%s, false, %s)", (some[4], NOW)),
        "record_accesses": ("SELECT recall.record_accesses(%s::jsonb, %s)", (json.dumps(uses), NOW)),
        "log_shown": ("SELECT recall.log_shown(%s::bigint[], 's', %s, 'who?')", (some, NOW)),
        "fold": ("SELECT recall.fold_accesses()", ()),
        "pin": ("SELECT recall.pin(%s, true, %s)", (some[0], NOW)),
        "resolve": ("SELECT recall.resolve_pending_links()", ()),
        "expire": ("SELECT recall.expire_memories(10, %s)", (NOW,)),
        "forget": ("SELECT recall.forget(recall.remember('gone', p_now => %s), true, %s)", (NOW, NOW)),
    }  # fmt: skip


@contextmanager
def surprised(url: str, how: str) -> Iterator[Writer]:
    """A session whose plans were made when there were a few memories, and that then finds thousands.

    How many rows were inserted is reported to other sessions, or, in an open transaction, not yet. The disk
    is one where random reads are cheap, as the embedded server has it, or dear, as Postgres ships.
    """
    options = f"-c random_page_cost={4 if 'slow' in how else 1.1}"
    with psycopg.connect(url, options=options, autocommit=True) as connection:
        connection.execute("SELECT set_config('recall.tenant', 'acme', false)")
        connection.execute("SELECT recall.set_setting('prune.grace_days', 0)")
        connection.execute(FILL, {"at": LONG_AGO, "many": 40})
        made = Writer(connection)
        for _ in range(6):  # from the sixth call on, plans are kept
            for sql, parameters in every_write(made).values():
                connection.execute(sql, parameters)
        connection.execute("TRUNCATE recall.memory CASCADE")
        connection.execute("TRUNCATE recall.access, recall.access_queue, recall.search_log CASCADE")
        with connection.transaction() if how == "unreported" else nullcontext():
            connection.execute(FILL, {"at": LONG_AGO, "many": MANY})
            connection.execute("SELECT pg_stat_force_next_flush()")
            yield made


HOW = ["reported", "unreported", "reported, on a slow disk"]


@pytest.fixture(params=HOW)
def writer(database_url: str, request: pytest.FixtureRequest) -> Iterator[Writer]:
    """Such a session of the test's own."""
    with surprised(database_url, request.param) as made:
        yield made


@pytest.fixture(scope="module", params=HOW)
def session(server: Server, template: str, request: pytest.FixtureRequest) -> Iterator[Writer]:
    with contextmanager(new_database)(server, template) as url, surprised(url, request.param) as made:
        yield made


@pytest.fixture
def shared_writer(session: Writer) -> Iterator[Writer]:
    """One of several tests, for those that may read dead rows too: what they write is rolled back."""
    with session.undone():
        yield session


def test_a_rebuild_of_a_few_memories_reads_no_table_but_the_log(writer: Writer) -> None:
    some = [writer.id_of(f"m{number}") for number in range(10, 15)]
    read = writer.read("SELECT recall.rebuild(%s::bigint[])", some)
    log = sum(count for table, count in read.items() if table.startswith("access"))
    assert log <= 5 * MANY  # what was passed on to them can be in any access
    others = {table: count for table, count in read.items() if not table.startswith("access")}
    assert {table: count for table, count in others.items() if count > MANY / 2} == {}


def test_no_write_of_a_few_memories_reads_a_table(writer: Writer) -> None:
    read = {name: writer.read(sql, *parameters) for name, (sql, parameters) in every_write(writer).items()}

    much = {
        (name, table): count
        for name, tables in read.items()
        for table, count in tables.items()
        if count > MANY / 2
    }
    assert much == {}


def test_many_links_of_one_memory_are_stored_in_proportion_to_their_number(writer: Writer) -> None:
    links = [{"target": f"m{number}"} for number in range(2, MANY)]
    read = writer.read(
        "SELECT recall.remember('hub', p_key => 'm1', p_links => %s::jsonb, p_now => %s)",
        json.dumps(links),
        NOW,
    )
    assert {table: count for table, count in read.items() if count > 20 * MANY} == {}


def test_keys_are_looked_up_one_by_one(database_url: str) -> None:
    """In a new database the planner believes that a tenant has a handful of memories, and would read all."""
    keys = [f"m{number}" for number in range(10, 60)]
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(FILL, {"at": LONG_AGO, "many": MANY})
        read = Writer(connection).read("SELECT * FROM recall_private.memories_with_keys('acme', %s)", keys)
    assert len(keys) <= read["memory"] <= 4 * len(keys)


def test_what_touches_a_memory_with_many_links_reads_each_a_few_times(shared_writer: Writer) -> None:
    shared_writer.run(LINKS, LONG_AGO)
    hub, other = shared_writer.id_of("m1"), shared_writer.id_of("m2")
    calls = {
        "link": ("SELECT recall.link(%s, %s, 'mentions', 1, %s)", (other, hub, NOW)),
        "rewrite": ("SELECT recall.remember('new', p_key => 'm1', p_now => %s)", (NOW,)),
        "use": ("SELECT recall.record_access(%s, 'used', p_session_id => 's', p_now => %s)", (hub, NOW)),
        "archive": ("SELECT recall.forget(%s, false, %s)", (hub, NOW)),
        "return": ("SELECT recall.remember('newer', p_key => 'm1', p_now => %s)", (NOW,)),
        "supersede": ("SELECT recall.supersede(%s, %s, %s)", (hub, other, NOW)),
        "forget": ("SELECT recall.forget(%s, true, %s)", (hub, NOW)),
    }
    read = {name: shared_writer.read(sql, *parameters) for name, (sql, parameters) in calls.items()}

    much = {
        (name, table): count
        for name, tables in read.items()
        for table, count in tables.items()
        if count > 12 * MANY
    }
    assert much == {}


def test_a_plan_and_its_application_read_each_memory_a_few_times(shared_writer: Writer) -> None:
    number = shared_writer.run("SELECT recall.plan_prune(p_max_share => 0.5, p_now => %s)", NOW)
    read = shared_writer.read("SELECT * FROM recall.apply_plan(%s, %s)", number, NOW)
    assert {table: count for table, count in read.items() if count > 30 * MANY} == {}


def test_a_rebuild_reads_each_memory_a_few_times(shared_writer: Writer) -> None:
    shared_writer.run(LINKS, LONG_AGO)
    read = shared_writer.read("SELECT recall.rebuild()")
    assert {table: count for table, count in read.items() if count > 30 * MANY} == {}


def test_an_import_reads_each_row_a_few_times(shared_writer: Writer) -> None:
    shared_writer.run(LINKS, LONG_AGO)
    lines = shared_writer.column("SELECT recall.export_lines(p_now => %s)", NOW)
    rows = Counter(next(iter(json.loads(line))) for line in lines[1:])
    assert rows["memory"] == rows["activation"] == MANY
    shared_writer.run("SELECT set_config('recall.tenant', 'another', false)")
    shared_writer.run("SELECT recall.begin_import(%s)", lines[0])
    read: Counter[str] = Counter()
    for start in range(1, len(lines), BATCH):
        read.update(shared_writer.read("SELECT recall.import_lines(%s)", lines[start : start + BATCH]))
    read.update(shared_writer.read("SELECT recall.end_import()"))
    assert {table: count for table, count in read.items() if count > 20 * rows.total()} == {}
