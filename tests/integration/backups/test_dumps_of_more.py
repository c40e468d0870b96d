"""Dumps of whole databases, and what other schemas have: nothing of it comes, stays or goes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import psycopg
import pytest

from pgrecall import Memory
from pgrecall.errors import DatabaseError, InvalidInput
from pgrecall.schema import migrate
from pgrecall.schema.backups.programs import find_program
from pgrecall.schema.backups.restoring import restore_backup

OTHERS = (
    "CREATE TABLE public.users (a int); CREATE SCHEMA app; CREATE TABLE app.recall (a int); "
    "CREATE PUBLICATION shown FOR TABLE recall.memory"
)
CALLS_ANOTHER = (
    "CREATE FUNCTION public.own() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END'; "
    "CREATE TRIGGER own BEFORE INSERT ON recall.memory FOR EACH ROW EXECUTE FUNCTION public.own()"
)
CANNOT_BE_UPGRADED = (
    "CREATE FUNCTION recall.own() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END'; "
    "CREATE TRIGGER own BEFORE INSERT ON recall.memory FOR EACH ROW EXECUTE FUNCTION recall.own()"
)


def dumped(url: str, path: Path, added: str) -> Path:
    """A dump of the whole database, to which something is added before."""
    with psycopg.connect(url) as connection:
        connection.execute(added.encode())
        version = connection.info.server_version
    try:
        program = find_program("pg_dump", version)
    except InvalidInput as error:
        pytest.skip(error.message)
    subprocess.run([program, "--format=custom", f"--file={path}", f"--dbname={url}"], check=True)
    return path


def tables(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT schemaname || '.' || tablename FROM pg_tables "
            "WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        )
        return {name for (name,) in rows}


def test_only_memories_are_restored(
    memory: Memory, database_url: str, empty_database: str, tmp_path: Path
) -> None:
    memory.remember("The winch.", key="winch")
    dump = dumped(database_url, tmp_path / "whole.dump", OTHERS)
    restore_backup(empty_database, dump)
    assert not tables(empty_database) & {"public.users", "app.recall"}
    with psycopg.connect(empty_database) as connection:
        assert connection.execute("SELECT key FROM recall.memory").fetchall() == [("winch",)]


def test_an_upgrade_that_fails_after_the_restore_leaves_nothing(
    memory: Memory, database_url: str, empty_database: str, tmp_path: Path
) -> None:
    dump = dumped(database_url, tmp_path / "whole.dump", f"{OTHERS}; {CANNOT_BE_UPGRADED}")
    for _ in range(2):
        with pytest.raises(DatabaseError, match="cannot drop function"):
            restore_backup(empty_database, dump)
        assert tables(empty_database) == set()
    assert migrate.inspect(empty_database).revision is None


def test_what_a_dump_needs_from_outside_is_named(
    memory: Memory, database_url: str, empty_database: str, tmp_path: Path
) -> None:
    dump = dumped(database_url, tmp_path / "whole.dump", CALLS_ANOTHER)
    with pytest.raises(
        InvalidInput, match=r"outside of pgrecall: function public\.own\(\) does not exist\. "
    ):
        restore_backup(empty_database, dump)
    assert tables(empty_database) == set()


def test_what_depends_on_the_memories_is_not_dropped_unasked(
    memory: Memory, database_url: str, tmp_path: Path
) -> None:
    dump = dumped(database_url, tmp_path / "whole.dump", "SELECT")
    memory.remember("The winch.", key="winch")
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE VIEW public.mine AS SELECT key FROM recall.memory")
        connection.execute("CREATE TABLE public.notes (tenant text, id bigint)")
        connection.execute("ALTER TABLE public.notes ADD FOREIGN KEY (tenant, id) REFERENCES recall.memory")
        connection.execute(
            "CREATE PUBLICATION shown FOR TABLE recall.memory, TABLES IN SCHEMA recall_private"
        )
        connection.execute(CALLS_ANOTHER)
        named = (
            "memories here, 5 in all: publication of schema recall_private in publication shown, "
            "publication of table recall.memory in publication shown, table notes, "
            "trigger own on table recall.memory, view mine"
        )
        with pytest.raises(InvalidInput, match=named):
            restore_backup(database_url, dump, replace=True)
        assert connection.execute("SELECT key FROM public.mine").fetchall() == [("winch",)]
        connection.execute(
            "DROP VIEW public.mine; DROP TABLE public.notes; DROP FUNCTION public.own() CASCADE; "
            "DROP PUBLICATION shown"
        )
    restore_backup(database_url, dump, replace=True)
