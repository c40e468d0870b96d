"""A schema that is newer or older than this version, or whose functions are of another."""

from __future__ import annotations

import pytest

from pgrecall import Memory, SchemaMismatch
from pgrecall.schema import installing, migrate
from pgrecall.settings import Settings
from tests.migration.catalogue import STALE, WHOLE, catalogue, fetch


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
        installing.ensure_current(newer_database, dimensions=64)
    assert catalogue(newer_database) == before


def test_a_newer_database_is_refused_by_the_client(newer_database: str) -> None:
    before = catalogue(newer_database)
    with pytest.raises(SchemaMismatch, match="schema 9999, which is newer than this pgrecall knows"):
        Memory(settings=Settings(database_url=newer_database, embedder="none"))
    assert catalogue(newer_database) == before


def test_stale_functions_are_noticed_and_applied_again(database_url: str) -> None:
    fetch(database_url, STALE)
    fetch(
        database_url,
        "CREATE OR REPLACE FUNCTION recall_private.logit(p_probability float8) RETURNS float8 "
        "LANGUAGE sql IMMUTABLE RETURN -1",
    )
    with pytest.raises(SchemaMismatch, match=r"of another version of pgrecall\. Run `pgrecall upgrade`"):
        migrate.require_current(migrate.inspect(database_url))
    with pytest.raises(SchemaMismatch, match="the functions of another version"):
        Memory(settings=Settings(database_url=database_url, embedder="none"))

    assert migrate.upgrade(database_url).changed
    migrate.require_current(migrate.inspect(database_url))
    assert fetch(database_url, "SELECT recall_private.logit(0.5)") == [(0.0,)]


@pytest.mark.parametrize(
    "change",
    [
        "CREATE OR REPLACE FUNCTION recall_private.logit(p_probability float8) RETURNS float8 "
        "LANGUAGE sql IMMUTABLE RETURN -1",
        "DROP FUNCTION recall.pin(bigint, boolean, timestamptz)",
        "DROP TRIGGER memory_vector_deleted ON recall.memory",
        "ALTER TABLE recall.memory DISABLE TRIGGER memory_vector_deleted",
        "CREATE OR REPLACE VIEW recall.health AS SELECT * FROM recall.health_report() LIMIT 0",
        "ALTER FUNCTION recall.pin SET work_mem = '64kB'",
        "DELETE FROM recall.relevance_model WHERE tenant = '*'",
    ],
)
def test_what_was_changed_by_hand_is_made_again(database_url: str, change: str) -> None:
    models = "SELECT * FROM recall.relevance_model ORDER BY 1, 2, 3"
    before = [fetch(database_url, look) for look in (WHOLE, models)]
    fetch(database_url, change)
    migrate.upgrade(database_url)
    assert [fetch(database_url, look) for look in (WHOLE, models)] == before


@pytest.mark.parametrize("owner", ["recall_owner", "CURRENT_USER"])
def test_a_function_that_no_longer_ships_is_dropped(database_url: str, owner: str) -> None:
    # Where the schema is not its owner's yet, the same upgrade hands over all that lies in it.
    fetch(database_url, f"ALTER SCHEMA recall OWNER TO {owner}")
    fetch(database_url, "GRANT USAGE ON SCHEMA recall TO recall_owner")
    fetch(database_url, "CREATE FUNCTION recall.of_old(p_x int) RETURNS int LANGUAGE sql RETURN p_x")
    fetch(database_url, "CREATE FUNCTION recall_private.logit(p_x int) RETURNS int LANGUAGE sql RETURN p_x")
    fetch(database_url, "CREATE FUNCTION public.of_others(p_x int) RETURNS int LANGUAGE sql RETURN p_x")
    migrate.upgrade(database_url)
    names = fetch(
        database_url,
        "SELECT oid::regprocedure::text FROM pg_proc "
        "WHERE proname IN ('of_old', 'logit', 'of_others', 'joined') ORDER BY 1",
    )
    assert [name for (name,) in names] == [
        "of_others(integer)", "recall_private.joined(text[])", "recall_private.logit(double precision)",
    ]  # fmt: skip


def test_a_function_with_other_argument_names_or_another_result_is_replaced(database_url: str) -> None:
    """Postgres replaces no such function, and takes neither of two for a call that fits both."""
    for statement in (
        "DROP FUNCTION recall_private.without_names(text, text[])",
        "CREATE FUNCTION recall_private.without_names(p_text text, p_taken text[]) RETURNS text "
        "LANGUAGE sql RETURN p_text",
        "DROP FUNCTION recall_private.job_census()",
        "CREATE FUNCTION recall_private.job_census() RETURNS text LANGUAGE sql RETURN 'none'",
        "CREATE FUNCTION recall_private.lock_tenant(p_old text, p_tenant text, p_salt int DEFAULT 0) "
        "RETURNS bigint "
        "LANGUAGE sql RETURN 1",
    ):
        fetch(database_url, statement)
    for changed in ("without_names(text, text[])", "job_census()", "lock_tenant(text, text, int)"):
        fetch(database_url, f"ALTER FUNCTION recall_private.{changed} OWNER TO recall_owner")
    fetch(database_url, STALE)
    assert migrate.upgrade(database_url).left == ()
    assert fetch(database_url, "SELECT recall_private.without_names('Mira sails', ARRAY['mira'])") == [
        ("sails",)
    ]
    assert fetch(database_url, "SELECT count(*) FROM pg_proc WHERE proname = 'lock_tenant'") == [(1,)]
