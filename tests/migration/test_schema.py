"""The schema that comes out is the one described, and every function in it keeps the house rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, pool

from pgrecall.schema import migrate, state
from pgrecall.schema.function_replacement import DEFAULTS
from pgrecall.schema.tables.metadata import SCHEMA, describe
from tests.databases import new_database
from tests.given_server import Server
from tests.migration.catalogue import DEFINITIONS, WHOLE, fetch
from tests.migration.old_schemas import take_to


def test_there_is_one_head() -> None:
    later = ScriptDirectory(str(state.migrations()))
    assert (later.get_bases(), later.get_heads()) == ([state.BASELINE], [migrate.head_revision()])
    earlier = ScriptDirectory(str(state.migrations() / "earlier"))
    assert (earlier.get_bases(), earlier.get_heads()) == (["0001"], [state.BASELINE])


@pytest.mark.parametrize(
    ("function", "table", "constraint"),
    [
        ("roles", "memory", "role_check"),
        ("roles", "memory_version", "role_check"),
        ("speech_acts", "memory", "act_check"),
        ("access_kinds", "access", "kind_check"),
    ],
)
def test_a_table_holds_what_the_functions_know(
    function: str, table: str, constraint: str, shared_url: str
) -> None:
    [(known, demanded)] = fetch(
        shared_url,
        f"SELECT recall_private.{function}(), pg_get_constraintdef(oid) FROM pg_constraint "
        f"WHERE conrelid = 'recall.{table}'::regclass AND conname = '{table}_{constraint}'",
    )
    assert known == re.findall(r"'(\w+)'", demanded)


@pytest.mark.parametrize("dimensions", [64, 1251])
def test_the_baseline_is_what_the_earlier_revisions_make(
    dimensions: int, server: Server, empty_database: str
) -> None:
    take_to(empty_database, state.BASELINE, dimensions)
    for upgraded in new_database(server, "template1"):
        take_to(upgraded, "0001", dimensions)
        take_to(upgraded, state.BASELINE, dimensions)
        assert fetch(empty_database, WHOLE) == fetch(upgraded, WHOLE)
        for (table,) in fetch(upgraded, TABLES):
            # The first era of the log of changes is told from others by the moment it began.
            rows = f"SELECT to_jsonb(t) #- '{{value,server}}' FROM {table} t ORDER BY 1"
            assert fetch(empty_database, rows) == fetch(upgraded, rows), table


TABLES = (
    "SELECT oid::regclass::text FROM pg_class "
    "WHERE relnamespace = 'recall'::regnamespace AND relkind IN ('r', 'p') ORDER BY 1"
)


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
    "SELECT n.nspname, p.proname, l.lanname, p.prorettype::regtype::text, p.proconfig, "
    "p.prosqlbody IS NOT NULL, p.prokind = 'a', p.proretset "
    "FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang "
    "JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname IN ('recall', 'recall_private') ORDER BY 2"
)
RELATIONS = (
    "SELECT relname FROM pg_class WHERE relnamespace = 'recall'::regnamespace AND relkind IN ('r', 'p', 'v')"
)
OF_TABLES = {
    "joined", "configuration", "plain", "tenant_mark", "tenant_words", "tenant_trigrams", "trigram_signature",
    "folded", "unspaced_letters", "unchained", "spaced", "compounds", "compound_parts", "text_words",
    "body_words",
}  # fmt: skip
"""Functions that a column or an index is made with; they come with its revision."""


def test_every_entry_has_its_search_path_and_all_others_inherit_it(shared_url: str) -> None:
    """A body that was parsed at creation needs none.

    SQL functions that return rows keep it, because Postgres would write them out in the statements that read
    from them, and nest loops for a tenant that the statistics do not know.
    """
    package = files("pgrecall")
    outside = [path for path in Path(str(package)).rglob("*.*") if path.suffix in (".py", ".sql")]
    called = {
        name
        for path in set(outside) - set(migrate.function_files())
        for name in re.findall(r"recall_private\.(\w+)\(", path.read_text(encoding="utf-8"))
    }
    assert len(called) > 20
    for schema, name, language, result, settings, parsed, aggregate, rows in fetch(shared_url, FUNCTIONS):
        fixed = any(setting.startswith("search_path=") for setting in settings or ())
        if aggregate or (language == "sql" and parsed):  # of an aggregate, its transition function is checked
            continue
        entry = schema == "recall" or result == "trigger" or name in called | OF_TABLES
        assert fixed == (entry or (language == "sql" and rows)), name


def test_no_function_depends_on_the_search_path_to_find_ours(shared_url: str) -> None:
    """Tables and functions of ours are named with their schemas; the path is for what extensions have."""
    objects = {name for (name,) in fetch(shared_url, RELATIONS)}
    functions = {row[1] for row in fetch(shared_url, FUNCTIONS)}
    table = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE|TABLE)\s+(?:ONLY\s+)?(\w+)\b(?![.(])")
    call = re.compile(r"(?<![.\w%])(\w+)\(")
    for path in migrate.function_files():
        text = re.sub(r"--.*|'(?:[^']|'')*'", "''", path.read_text())
        own = set(re.findall(r"(\w+)(?:\([\w, ]*\))?\s+AS\s+(?:NOT\s+)?(?:MATERIALIZED\s*)?\(", text))
        assert set(table.findall(text)) & objects - own == set(), path.name
        assert set(call.findall(text)) & functions - own == set(), path.name


def test_a_body_that_is_parsed_for_its_callers_has_no_backslash(shared_url: str) -> None:
    """A caller without standard strings would be warned of it when others cause a plan to be made anew."""
    asked = (
        "SELECT p.proname FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang AND l.lanname = 'sql' "
        "WHERE p.pronamespace = 'recall_private'::regnamespace AND p.prosqlbody IS NULL "
        "AND p.proconfig IS NULL AND p.provolatile <> 'v' AND position(chr(92) IN p.prosrc) > 0"
    )
    assert fetch(shared_url, asked) == []


def test_every_search_path_is_closed(shared_url: str) -> None:
    """pg_temp comes last: whoever may make temporary objects cannot slip one in before ours."""
    for _, name, _, _, settings, *_ in fetch(shared_url, FUNCTIONS):
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
    in_files = {name for name, _, _ in declarations()} | {"in_cells"}  # switch_residence_check makes it
    assert {row[1] for row in fetch(shared_url, FUNCTIONS)} == in_files | OF_TABLES


def test_only_the_defaults_change_rows() -> None:
    """Of the other files an upgrade applies none if their functions are there as they should be."""
    statement = re.compile(r"^(?:INSERT|UPDATE|DELETE|DO|SELECT recall)\b", re.MULTILINE)
    found = {path for path in migrate.function_files() if statement.search(path.read_text())}
    # Of cells: what a revision that adds a sequence needs, and a database in which a function is missing.
    assert {path.parent.name for path in found if path.name != "09_cells.sql"} == {DEFAULTS}


def test_every_function_opens_with_a_comment_that_names_it() -> None:
    """What stands in brackets after the name of a public one is read by scripts/sql_declarations.py."""
    opened = [(name, re.match(r"-- (\w+)(?: \(.+?\))?: ", comment)) for name, comment, _ in declarations()]
    unnamed = [name for name, found in opened if not found or found[1] != name]
    assert unnamed == []


def test_settings_of_the_planner_are_of_two_kinds_or_have_their_reason() -> None:
    """CONTRIBUTING.md says what the two are for. ``find`` and others say theirs above it."""
    kinds = ({"enable_nestloop = off"}, {"enable_seqscan = off"})
    for name, _, header in declarations():
        found = set(re.findall(r"^SET (enable_\w+ = \w+)", header, re.MULTILINE))
        assert not found or found in kinds or "\n-- " in header, name


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
