"""Installing and upgrading the schema: what is refused, what is repeated, and what it leaves behind."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from psycopg.conninfo import make_conninfo
from sqlalchemy import create_engine, pool

from pgrecall import DatabaseError, DatabaseUnsuitable, InvalidInput, Memory, SchemaMismatch
from pgrecall.database import Extension, ServerFacts, require_suitable
from pgrecall.embedded import EmbeddedServer
from pgrecall.schema import migrate
from pgrecall.schema.tables import SCHEMA, describe
from pgrecall.search.embedding import HashEmbedder
from pgrecall.settings import Settings

Row = tuple[Any, ...]


def fetch(url: str, sql: str, parameters: Any = None) -> list[Row]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql, parameters)
        return cursor.fetchall() if cursor.description is not None else []


def catalogue(url: str) -> list[Row]:
    """Every object of schema recall and every setting: what "nothing changed" is judged by."""
    return fetch(
        url,
        "SELECT 'function', p.oid::text, p.xmin::text FROM pg_proc p "
        "JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'recall' "
        "UNION ALL SELECT 'relation', c.oid::text, c.relname FROM pg_class c "
        "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'recall' "
        "UNION ALL SELECT 'extension', extname, extversion FROM pg_extension ORDER BY 1, 2, 3",
    )


def recall_settings(url: str) -> dict[str, Any]:
    return dict(fetch(url, "SELECT name, value FROM recall.setting WHERE tenant = '*'"))


# Installing


def test_init_installs_this_version(empty_database: str) -> None:
    done = migrate.upgrade(empty_database, dimensions=64)
    assert done.changed
    assert done.before == migrate.SchemaState(None, None, None)
    assert done.after == migrate.SchemaState(migrate.head_revision(), migrate.functions_fingerprint(), 64)
    assert migrate.inspect(empty_database) == done.after
    migrate.require_current(done.after)


def test_init_twice_is_harmless(database_url: str) -> None:
    fetch(database_url, "UPDATE recall.layer SET metabolic_rate = 0.2 WHERE name = 'entity'")
    fetch(database_url, "SELECT set_config('recall.tenant', 'acme', false), recall.remember('kept')")
    for dimensions in (64, None):
        done = migrate.upgrade(database_url, dimensions=dimensions)
        assert not done.changed
        assert done.before == done.after
    assert fetch(database_url, "SELECT body FROM recall.memory") == [("kept",)]
    assert fetch(database_url, "SELECT metabolic_rate FROM recall.layer WHERE name = 'entity'") == [(0.2,)]


def test_ensure_current_installs_upgrades_and_otherwise_does_nothing(empty_database: str) -> None:
    migrate.ensure_current(empty_database, dimensions=8)
    before = catalogue(empty_database)
    migrate.ensure_current(empty_database, dimensions=99)
    assert catalogue(empty_database) == before
    fetch(empty_database, "UPDATE recall.setting SET value = '\"old\"' WHERE name = 'schema.functions'")
    migrate.ensure_current(empty_database, dimensions=99)
    assert migrate.inspect(empty_database).functions == migrate.functions_fingerprint()
    assert recall_settings(empty_database)["embedding.dimensions"] == 8


@pytest.mark.parametrize("dimensions", [0, -1, 4001])
def test_dimensions_that_cannot_be_indexed_are_refused(empty_database: str, dimensions: int) -> None:
    with pytest.raises(InvalidInput, match=f"^{dimensions} dimensions cannot be indexed. Use 1 to 4000"):
        migrate.upgrade(empty_database, dimensions=dimensions)
    assert migrate.inspect(empty_database).revision is None


@pytest.mark.parametrize("dimensions", [1, 4000])
def test_dimensions_at_the_bounds_can_be_indexed(empty_database: str, dimensions: int) -> None:
    migrate.upgrade(empty_database, dimensions=dimensions)
    [(kind,)] = fetch(
        empty_database,
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = 'recall.memory'::regclass AND attname = 'embedding'",
    )
    assert kind == f"halfvec({dimensions})"


def test_a_new_database_needs_dimensions(empty_database: str) -> None:
    with pytest.raises(InvalidInput, match="how many dimensions") as caught:
        migrate.upgrade(empty_database)
    assert "pgrecall init --dimensions 384" in caught.value.hint
    assert catalogue(empty_database) == [row for row in catalogue(empty_database) if row[0] == "extension"]


def test_other_dimensions_than_the_database_has_are_refused(database_url: str) -> None:
    before = catalogue(database_url)
    with pytest.raises(InvalidInput, match=r"^This database keeps embeddings of 64 dimensions, not 384\."):
        migrate.upgrade(database_url, dimensions=384)
    assert catalogue(database_url) == before


def test_a_database_without_pgrecall_is_named_as_such(empty_database: str) -> None:
    settings = Settings(database_url=empty_database, embedder="none")
    with pytest.raises(SchemaMismatch, match=r"^This database is not initialised\. Run `pgrecall init`\.$"):
        Memory(settings=settings)
    assert migrate.inspect(empty_database).revision is None


# Newer, older, interrupted


@pytest.fixture
def newer_database(database_url: str) -> str:
    fetch(database_url, "UPDATE recall.alembic_version SET version_num = '9999'")
    return database_url


def test_a_newer_database_is_refused_by_upgrade(newer_database: str) -> None:
    before = catalogue(newer_database)
    with pytest.raises(SchemaMismatch, match="schema 9999, which is newer") as caught:
        migrate.upgrade(newer_database)
    assert caught.value.hint == "Install the newer pgrecall; nothing was changed."
    with pytest.raises(SchemaMismatch, match="newer"):
        migrate.ensure_current(newer_database, dimensions=64)
    assert catalogue(newer_database) == before


def test_a_newer_database_is_refused_by_the_client(newer_database: str) -> None:
    before = catalogue(newer_database)
    with pytest.raises(SchemaMismatch, match="schema 9999, which is newer than this pgrecall knows"):
        Memory(settings=Settings(database_url=newer_database, embedder="none"))
    assert catalogue(newer_database) == before


def test_stale_functions_are_noticed_and_applied_again(database_url: str) -> None:
    fetch(database_url, "UPDATE recall.setting SET value = '\"old\"' WHERE name = 'schema.functions'")
    fetch(
        database_url,
        "CREATE OR REPLACE FUNCTION recall.logit(p_probability float8) RETURNS float8 "
        "LANGUAGE sql IMMUTABLE RETURN -1",
    )
    with pytest.raises(SchemaMismatch, match=r"which is not this version's\. Run `pgrecall upgrade`"):
        migrate.require_current(migrate.inspect(database_url))
    with pytest.raises(SchemaMismatch, match="not this version's"):
        Memory(settings=Settings(database_url=database_url, embedder="none"))

    assert migrate.upgrade(database_url).changed
    migrate.require_current(migrate.inspect(database_url))
    assert fetch(database_url, "SELECT recall.logit(0.5)") == [(0.0,)]


@pytest.mark.parametrize("owner", ["recall_owner", "CURRENT_USER"])
def test_a_function_that_no_longer_ships_is_dropped(database_url: str, owner: str) -> None:
    # Where the schema is not its owner's yet, the same upgrade hands over all that lies in it.
    fetch(database_url, f"ALTER SCHEMA recall OWNER TO {owner}")
    fetch(database_url, "GRANT USAGE ON SCHEMA recall TO recall_owner")
    fetch(database_url, "CREATE FUNCTION recall.of_old(p_x int) RETURNS int LANGUAGE sql RETURN p_x")
    fetch(database_url, "CREATE FUNCTION recall.logit(p_x int) RETURNS int LANGUAGE sql RETURN p_x")
    fetch(database_url, "CREATE FUNCTION public.of_others(p_x int) RETURNS int LANGUAGE sql RETURN p_x")
    migrate.upgrade(database_url)
    names = fetch(
        database_url,
        "SELECT oid::regprocedure::text FROM pg_proc "
        "WHERE proname IN ('of_old', 'logit', 'of_others', 'joined') ORDER BY 1",
    )
    assert [name for (name,) in names] == [
        "of_others(integer)", "recall.joined(text[])", "recall.logit(double precision)",
    ]  # fmt: skip


@pytest.fixture
def bad_function_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "98_bad.sql"
    path.write_text("CREATE TABLE recall.half_done (); CREATE NONSENSE recall.oops;")
    shipped = migrate.function_files()
    monkeypatch.setattr(migrate, "function_files", lambda: [*shipped, path])


def test_an_interrupted_installation_leaves_nothing(empty_database: str, bad_function_file: None) -> None:
    before = catalogue(empty_database)
    with pytest.raises(Exception, match='syntax error at or near "NONSENSE"'):
        migrate.upgrade(empty_database, dimensions=64)
    assert catalogue(empty_database) == before
    assert fetch(empty_database, "SELECT FROM pg_namespace WHERE nspname = 'recall'") == []


def test_an_interrupted_upgrade_leaves_what_was_there(database_url: str, bad_function_file: None) -> None:
    before = catalogue(database_url)
    with pytest.raises(Exception, match='syntax error at or near "NONSENSE"'):
        migrate.upgrade(database_url)
    assert catalogue(database_url) == before


def test_an_interrupted_upgrade_raises_an_error_of_ours(database_url: str, bad_function_file: None) -> None:
    with pytest.raises(DatabaseError):
        migrate.upgrade(database_url)


def test_many_may_initialise_at_once(empty_database: str) -> None:
    barrier = threading.Barrier(3)

    def init(_: int) -> migrate.Upgrade:
        barrier.wait(timeout=30)
        return migrate.upgrade(empty_database, dimensions=64)

    with ThreadPoolExecutor(3) as threads:
        done = list(threads.map(init, range(3)))
    assert sorted(upgrade.changed for upgrade in done) == [False, False, True]
    migrate.require_current(migrate.inspect(empty_database))


# The schema that comes out


def test_there_is_one_head() -> None:
    assert migrate._scripts().get_heads() == [migrate.head_revision()]


def test_the_revisions_make_the_tables_as_they_are_described(database_url: str) -> None:
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(database_url), poolclass=pool.NullPool
    )
    try:
        with engine.connect() as connection:
            context = MigrationContext.configure(
                connection,
                opts={
                    "compare_type": True,
                    "compare_server_default": True,
                    "include_schemas": True,
                    "version_table_schema": SCHEMA,
                    "include_name": lambda name, kind, _: (
                        name == SCHEMA if kind == "schema" else kind != "table" or not PARTITION.match(name)
                    ),
                    # Alembic cannot compare expressions with a collation; the next test compares them.
                    "include_object": lambda _, name, *__: name != "memory_author_idx",
                },
            )
            assert compare_metadata(context, describe(64)) == []
    finally:
        engine.dispose()


PARTITION = re.compile(r"access_(default|\d{4}_\d\d)$")
"""They come and go with the months; what they must be like, the access log says."""


def test_what_alembic_does_not_compare_is_as_described_too(database_url: str, empty_database: str) -> None:
    """Checks, generated columns, storage and index definitions, against tables made without revisions."""
    fetch(
        empty_database,
        "CREATE SCHEMA recall; CREATE EXTENSION vector; CREATE EXTENSION pg_trgm; "
        "CREATE TEXT SEARCH CONFIGURATION recall.simple (COPY = pg_catalog.simple); "
        "CREATE FUNCTION recall.joined(p_words text[]) RETURNS text LANGUAGE sql IMMUTABLE RETURN ''; "
        "CREATE FUNCTION recall.configuration(p_language text) RETURNS regconfig LANGUAGE sql IMMUTABLE "
        "RETURN 'pg_catalog.simple'::regconfig; "
        "CREATE FUNCTION recall.plain(p_text text) RETURNS text LANGUAGE sql IMMUTABLE RETURN p_text",
    )
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(empty_database), poolclass=pool.NullPool
    )
    describe(64).create_all(engine)
    engine.dispose()
    definitions = (
        "SELECT 'constraint', r.relname, conname, pg_get_constraintdef(k.oid) FROM pg_constraint k "
        "JOIN pg_class r ON r.oid = conrelid "
        "WHERE connamespace = 'recall'::regnamespace AND r.relname <> 'alembic_version' "
        "AND NOT relispartition "
        "UNION ALL SELECT 'index', tablename, indexname, indexdef FROM pg_indexes "
        "JOIN pg_class r ON r.relname = tablename AND r.relnamespace = 'recall'::regnamespace "
        "WHERE schemaname = 'recall' AND tablename <> 'alembic_version' AND NOT relispartition "
        "UNION ALL SELECT 'column', r.relname, attname, concat_ws(' ', format_type(atttypid, atttypmod), "
        "attnotnull, attgenerated, attidentity, pg_get_expr(adbin, adrelid)) "
        "FROM pg_attribute JOIN pg_class r ON r.oid = attrelid "
        "LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum "
        "WHERE relnamespace = 'recall'::regnamespace AND relkind IN ('r', 'p') AND attnum > 0 "
        "AND NOT attisdropped "
        "AND r.relname <> 'alembic_version' AND NOT relispartition "
        "UNION ALL SELECT 'storage', relname, reloptions::text, NULL FROM pg_class "
        "WHERE relnamespace = 'recall'::regnamespace AND reloptions IS NOT NULL ORDER BY 1, 2, 3, 4"
    )
    assert fetch(database_url, definitions) == fetch(empty_database, definitions)


def test_every_table_leads_its_keys_with_the_tenant(database_url: str) -> None:
    rows = fetch(
        database_url,
        "SELECT c.conname, a.attname FROM pg_constraint c "
        "JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1] "
        "WHERE c.connamespace = 'recall'::regnamespace AND c.contype IN ('p', 'u', 'f') "
        "AND c.conrelid <> 'recall.alembic_version'::regclass",
    )
    assert len(rows) > 15
    assert [row for row in rows if row[1] != "tenant"] == []


FUNCTIONS = (
    "SELECT p.proname, l.lanname, p.provolatile::text, p.proconfig, p.prosqlbody IS NOT NULL, "
    "p.prokind = 'a' FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang "
    "WHERE p.pronamespace = 'recall'::regnamespace ORDER BY 1"
)


def test_every_function_has_its_search_path_or_must_be_inlined(database_url: str) -> None:
    """A SET clause forbids inlining; a body that was parsed at creation needs no path."""
    for name, language, volatility, settings, parsed, aggregate in fetch(database_url, FUNCTIONS):
        if aggregate:  # its transition function is checked in its place
            continue
        fixed = any(setting.startswith("search_path=") for setting in settings or ())
        inlined = language == "sql" and volatility in ("i", "s") and settings is None and parsed
        assert fixed or inlined, name


def test_every_search_path_is_closed(database_url: str) -> None:
    """pg_temp comes last: whoever may make temporary objects cannot slip one in before ours."""
    for name, _, _, settings, _, _ in fetch(database_url, FUNCTIONS):
        for setting in settings or ():
            if setting.startswith("search_path="):
                assert setting.endswith("pg_temp"), name


DECLARATION = r"^CREATE (?:OR REPLACE )?(?:FUNCTION|AGGREGATE) recall\.(\w+)"


def declarations() -> Iterator[tuple[str, str, str]]:
    """Every function of the function files: its name, the comment before it, and its header."""
    for path in migrate.function_files():
        text = path.read_text()
        for match in re.finditer(DECLARATION, text, re.MULTILINE):
            header = re.split(r"\bAS \$|\bRETURN ", text[match.start() :], maxsplit=1)[0]
            yield match[1], text[: match.start()].rstrip("\n").rpartition("\n\n")[2], header


def test_every_function_of_the_database_is_in_a_file(database_url: str) -> None:
    # Those of generated columns come with the revisions that make the columns.
    in_files = {name for name, _, _ in declarations()}
    of_columns = {"joined", "configuration", "plain"}
    assert {row[0] for row in fetch(database_url, FUNCTIONS)} == in_files | of_columns


def test_every_function_opens_with_a_comment_that_names_it() -> None:
    assert [name for name, comment, _ in declarations() if not comment.startswith(f"-- {name}: ")] == []


def test_every_function_states_its_volatility() -> None:
    for name, _, header in declarations():
        # Postgres ignores the volatility of trigger functions.
        assert re.search("RETURNS trigger|IMMUTABLE|STABLE|VOLATILE|SFUNC", header), name


def test_no_function_is_open_to_a_foreign_clock() -> None:
    """The clock is an argument: now() stands in parameter defaults only."""
    for path in migrate.function_files():
        bodies = re.sub(r"p_now timestamptz DEFAULT now\(\)", "", path.read_text())
        code = re.sub(r"--.*", "", bodies)
        assert not re.search(r"\b(clock_timestamp|current_timestamp|localtimestamp)\b", code), path.name


# Servers that do not fit


@pytest.fixture
def plain_role(server: EmbeddedServer, empty_database: str) -> Iterator[str]:
    """The URL of the empty database for a role that may connect and nothing else."""
    role = f"plain_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role} LOGIN")
        try:
            yield make_conninfo(empty_database, user=role)
        finally:
            fetch(empty_database, f"DROP OWNED BY {role}")
            admin.execute(f"DROP ROLE {role}")


def test_a_role_that_may_not_create_is_told_so(plain_role: str) -> None:
    role = psycopg.conninfo.conninfo_to_dict(plain_role)["user"]
    with pytest.raises(DatabaseUnsuitable) as caught:
        migrate.upgrade(plain_role, dimensions=64)
    message = str(caught.value)
    assert f"role {role} may not create in database test_" in message
    assert "an administrator still has to run CREATE EXTENSION vector" in message
    assert "run `pgrecall init` again" in message


def test_a_role_that_may_create_needs_no_superuser(plain_role: str, empty_database: str) -> None:
    parts = psycopg.conninfo.conninfo_to_dict(plain_role)
    fetch(empty_database, f"GRANT CREATE ON DATABASE {parts['dbname']} TO {parts['user']}")
    fetch(empty_database, "CREATE EXTENSION vector; CREATE EXTENSION pg_trgm")
    migrate.upgrade(plain_role, dimensions=64)
    with Memory(plain_role, settings=Settings(embedder="none")) as memory:
        memory.remember("The harbour contract")
        assert len(memory.search("contract").hits) == 1


def test_extensions_may_live_in_another_schema(empty_database: str) -> None:
    fetch(
        empty_database,
        'CREATE SCHEMA "Ext"; CREATE EXTENSION vector SCHEMA "Ext"; CREATE EXTENSION pg_trgm SCHEMA "Ext"',
    )
    migrate.upgrade(empty_database, dimensions=64)
    settings = Settings(database_url=empty_database, embedder="hash")
    with Memory(settings=settings, embedder=HashEmbedder(64)) as memory:
        memory.remember("The harbour contract is signed on Friday", key="a")
        memory.remember("Mira Okafor", layer="entity", title="Mira Okafor", key="b")
        assert memory.search("when is the contract signed?").hits[0].key == "a"
        assert memory.search("Mira Okafr").hits[0].key == "b"
        assert memory.status().memories == 2


def test_functions_work_whatever_the_callers_search_path(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SELECT set_config('recall.tenant', 'acme', false)")
        connection.execute("SET search_path = pg_catalog")
        connection.execute("SELECT recall.remember('The harbour contract', 'Plan')")
        [hit] = connection.execute("SELECT key, body FROM recall.search('contract')").fetchall()
        assert hit == (None, "The harbour contract")


def test_an_extension_that_is_missing_is_named() -> None:
    facts = facts_with(extensions={"pg_trgm": Extension("1.6", None, True)})
    with pytest.raises(DatabaseUnsuitable, match=r"the extension vector is not installed .*pgvector 0\.8"):
        require_suitable(facts)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"version": 150004, "version_text": "15.4"}, "it is Postgres 15.4, and pgrecall needs 16 or newer"),
        ({"extensions": {"vector": Extension("0.7.4", None, True), "pg_trgm": Extension("1.6", "1.6", True)}},
         "pgvector is 0.7.4, and pgrecall needs 0.8 or newer"),
    ],
)  # fmt: skip
def test_a_server_that_is_too_old_is_told_so(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DatabaseUnsuitable, match=re.escape(sentence)):
        require_suitable(facts_with(**changes))


def facts_with(**changes: Any) -> ServerFacts:
    values: dict[str, Any] = {
        "version": 180000,
        "version_text": "18.0",
        "role": "me",
        "database": "db",
        "may_create": True,
        "extensions": {"vector": Extension("0.8.1", "0.8.1", True), "pg_trgm": Extension("1.6", "1.6", True)},
    }
    return ServerFacts(**(values | changes))
