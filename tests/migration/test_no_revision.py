"""Databases that a development version between two revisions left: refused and not changed."""

from __future__ import annotations

import pytest

from pgrecall import Memory, SchemaMismatch
from pgrecall.faces.doctor import check_schema
from pgrecall.schema import migrate
from pgrecall.settings import Settings
from tests.acceptance.cli.command_tools import Command
from tests.acceptance.conftest import bare_pgrecall
from tests.migration.catalogue import catalogue, fetch
from tests.migration.old_schemas import fill, take_to

__all__ = ["bare_pgrecall"]

WAY_OUT = "Restore a backup of a version with a revision, or export with the version that made this one"


def refused(url: str, message: str) -> None:
    """An upgrade says so and changes nothing."""
    before = catalogue(url)
    with pytest.raises(SchemaMismatch, match=message) as caught:
        migrate.upgrade(url)
    assert caught.value.hint.startswith(WAY_OUT)
    assert caught.value.hint.endswith("nothing was changed.")
    assert catalogue(url) == before


@pytest.mark.parametrize("revision", ["0005_words", "0000", "3f2a9c1b77de", "0011b", "99999", ""])
def test_a_revision_that_never_was(revision: str, database_url: str) -> None:
    fetch(database_url, f"UPDATE recall.alembic_version SET version_num = '{revision}'")
    refused(database_url, f"has schema {revision}, which was never a revision of pgrecall")
    with pytest.raises(SchemaMismatch, match="was never a revision"):
        Memory(settings=Settings(database_url=database_url, embedder="none"))
    found = check_schema(migrate.inspect(database_url))
    assert (found.level, found.fix[: len(WAY_OUT)]) == ("fail", WAY_OUT)


@pytest.mark.parametrize(
    ("revision", "change", "what"),
    [
        ("0003", "ALTER TABLE recall.memory DROP COLUMN aliases CASCADE", "search_text"),
        ("0007", "ALTER TABLE recall.memory DROP COLUMN pinned", "pinned"),
        ("0009", "DROP TABLE recall.link CASCADE", "link"),
    ],
)
def test_objects_of_no_revision(revision: str, change: str, what: str, empty_database: str) -> None:
    take_to(empty_database, revision)
    fill(empty_database, revision)
    fetch(empty_database, change)
    refused(empty_database, f"objects of this database are not those of schema {revision}.*{what}")


def test_objects_of_a_later_revision(empty_database: str) -> None:
    """As a version leaves them that had the table of a revision to come, and not yet its number."""
    take_to(empty_database, "0012")
    fill(empty_database, "0012")
    fetch(empty_database, "UPDATE recall.alembic_version SET version_num = '0009'")
    refused(empty_database, "objects of this database are not those of schema 0009: .* already exists")


def test_tables_without_any_revision(database_url: str) -> None:
    fetch(database_url, "DELETE FROM recall.alembic_version")
    refused(database_url, "objects of this database are not those of any schema: .* already exists")


def test_the_newest_revision_with_a_column_less(database_url: str) -> None:
    fetch(database_url, "ALTER TABLE recall.job_run DROP COLUMN counts")
    refused(database_url, "job_run.counts is missing")


def test_the_command_says_it_in_a_sentence(bare_pgrecall: Command, database_url: str) -> None:
    fetch(database_url, "UPDATE recall.alembic_version SET version_num = '0011b'")
    ended = bare_pgrecall("upgrade", database_url=database_url)
    assert ended.code == 3
    assert "0011b, which was never a revision of pgrecall" in ended.err
