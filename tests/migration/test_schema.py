"""The schema that comes out is the one described, and every function in it keeps the house rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files

import psycopg
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, pool

from pgrecall.schema import migrate
from pgrecall.schema.tables.metadata import SCHEMA, describe
from tests.migration.catalogue import DEFINITIONS, fetch


def test_there_is_one_head() -> None:
    scripts = ScriptDirectory(str(files("pgrecall.schema") / "migrations"))
    assert scripts.get_heads() == [migrate.head_revision()]


def test_the_revisions_make_the_tables_as_they_are_described(shared_url: str) -> None:
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(shared_url), poolclass=pool.NullPool
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


def test_what_alembic_does_not_compare_is_as_described_too(shared_url: str, empty_database: str) -> None:
    """Checks, generated columns, storage and index definitions, against tables made without revisions."""
    fetch(
        empty_database,
        "CREATE SCHEMA recall; CREATE SCHEMA recall_private; "
        "CREATE EXTENSION vector; CREATE EXTENSION pg_trgm; "
        "CREATE TEXT SEARCH CONFIGURATION recall.simple (COPY = pg_catalog.simple); "
        "CREATE FUNCTION recall_private.text_words(p_configuration regconfig, p_text text) RETURNS tsvector "
        "LANGUAGE sql IMMUTABLE RETURN ''::tsvector; "
        "CREATE FUNCTION recall_private.body_words(p_configuration regconfig, p_text text) RETURNS tsvector "
        "LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN NULL; END'; "
        "CREATE FUNCTION recall_private.joined(p_words text[]) RETURNS text LANGUAGE sql IMMUTABLE "
        "RETURN ''; "
        "CREATE FUNCTION recall_private.configuration(p_language text) RETURNS regconfig LANGUAGE sql "
        "IMMUTABLE "
        "RETURN 'pg_catalog.simple'::regconfig; "
        "CREATE FUNCTION recall_private.plain(p_text text) RETURNS text LANGUAGE sql IMMUTABLE RETURN "
        "p_text; "
        # In PL/pgSQL as ours are, for another is written out in the definition of the index.
        "CREATE FUNCTION recall_private.tenant_trigrams(p_tenant text, p_text text) RETURNS tsvector "
        "LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN NULL; END'; "
        "CREATE FUNCTION recall_private.trigram_signature(p_name text) RETURNS bit(256) "
        "LANGUAGE sql IMMUTABLE RETURN NULL::bit(256); "
        "CREATE FUNCTION recall_private.tenant_words(p_tenant text, p_text tsvector) RETURNS tsvector "
        "LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN p_text; END'",
    )
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(empty_database), poolclass=pool.NullPool
    )
    describe(64).create_all(engine)
    engine.dispose()
    assert fetch(shared_url, DEFINITIONS) == fetch(empty_database, DEFINITIONS)


def test_every_table_leads_its_keys_with_the_tenant(shared_url: str) -> None:
    rows = fetch(
        shared_url,
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
    "WHERE p.pronamespace IN ('recall'::regnamespace, 'recall_private'::regnamespace) ORDER BY 1"
)


def test_every_function_has_its_search_path_or_must_be_inlined(shared_url: str) -> None:
    """A SET clause forbids inlining; a body that was parsed at creation needs no path."""
    for name, language, volatility, settings, parsed, aggregate in fetch(shared_url, FUNCTIONS):
        if aggregate:  # its transition function is checked in its place
            continue
        fixed = any(setting.startswith("search_path=") for setting in settings or ())
        inlined = language == "sql" and volatility in ("i", "s") and settings is None and parsed
        assert fixed or inlined, name


def test_every_search_path_is_closed(shared_url: str) -> None:
    """pg_temp comes last: whoever may make temporary objects cannot slip one in before ours."""
    for name, _, _, settings, _, _ in fetch(shared_url, FUNCTIONS):
        for setting in settings or ():
            if setting.startswith("search_path="):
                assert setting.endswith("pg_temp"), name


DECLARATION = r"^CREATE (?:OR REPLACE )?(?:FUNCTION|AGGREGATE) (?:recall|recall_private)\.(\w+)"


def declarations() -> Iterator[tuple[str, str, str]]:
    """Every function of the function files: its name, the comment before it, and its header."""
    for path in migrate.function_files():
        text = path.read_text()
        for match in re.finditer(DECLARATION, text, re.MULTILINE):
            header = re.split(r"\bAS \$|\bRETURN ", text[match.start() :], maxsplit=1)[0]
            yield match[1], text[: match.start()].rstrip("\n").rpartition("\n\n")[2], header


def test_every_function_of_the_database_is_in_a_file(shared_url: str) -> None:
    # Those that a column or an index is made with come with its revision.
    in_files = {name for name, _, _ in declarations()}
    of_tables = {"joined", "configuration", "plain", "tenant_mark", "tenant_words"}
    of_tables |= {"tenant_trigrams", "trigram_signature", "folded"}
    of_tables |= {"unspaced_letters", "spaced", "compounds", "compound_parts", "text_words", "body_words"}
    of_tables |= {"in_cells"}  # switch_residence_check makes it
    assert {row[0] for row in fetch(shared_url, FUNCTIONS)} == in_files | of_tables


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
        # How long something took is no moment.
        code = re.sub(r"v_began timestamptz := clock_timestamp\(\)|clock_timestamp\(\) - v_began", "", code)
        assert not re.search(r"\b(clock_timestamp|current_timestamp|localtimestamp)\b", code), path.name
