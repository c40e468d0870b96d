"""To revision 0047, which adds rules: rows that break one are named in a sentence, and nothing is changed."""

from __future__ import annotations

import re

import psycopg
import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import create_engine, exc, pool

from pgrecall.errors import SchemaMismatch
from pgrecall.schema import migrate, state
from pgrecall.schema.added_rules import add_rules
from tests.migration.old_schemas import fill, take_to

ADDED = (state.migrations() / "versions/0047_rules.sql").read_text()


@pytest.mark.parametrize(
    ("breaking", "table", "sentence", "condition"),
    [
        (
            "UPDATE recall.search_log SET query = repeat('x', 10001)",
            "search_log",
            "its query has more than 10,000 characters, or its profile more than 100",
            "length(query) <= 10000 AND length(profile) <= 100",
        ),
        (
            "UPDATE recall.access SET merged_from = memory_id",
            "access",
            "it was merged from its own memory",
            "merged_from <> memory_id",
        ),
    ],
)
def test_rows_that_break_a_rule_are_counted_and_found(
    empty_database: str, breaking: str, table: str, sentence: str, condition: str
) -> None:
    take_to(empty_database, "0046")
    fill(empty_database, "0046")
    with psycopg.connect(empty_database) as connection:
        broken = connection.execute(breaking.encode()).rowcount
    assert broken > 0
    with pytest.raises(SchemaMismatch) as caught:
        migrate.upgrade(empty_database)
    assert caught.value.message == (
        f"Rows of recall.{table} break a rule of this version ({broken}): {sentence}. Nothing was changed."
    )
    found = f"SELECT * FROM recall.{table} WHERE NOT ({condition})"
    assert f"then upgrade: {found}." in caught.value.hint
    with psycopg.connect(empty_database) as connection:
        assert len(connection.execute(found.encode()).fetchall()) == broken
        connection.execute(found.replace("SELECT *", "DELETE").encode())
    assert migrate.upgrade(empty_database).before.revision == "0046"


def test_an_error_of_an_older_rule_is_let_through(empty_database: str) -> None:
    with psycopg.connect(empty_database) as connection:
        connection.execute("CREATE TABLE kept (number int CONSTRAINT older CHECK (number > 0))")
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(empty_database), poolclass=pool.NullPool
    )
    with (
        engine.connect() as connection,
        Operations.context(MigrationContext.configure(connection)),
        pytest.raises(exc.IntegrityError, match='violates check constraint "older"'),
    ):
        add_rules("INSERT INTO kept VALUES (0);")


def test_every_rule_has_its_condition_and_its_sentence() -> None:
    rules = re.findall(r"ADD CONSTRAINT (\w+)", ADDED)
    assert re.findall(r"ADD CONSTRAINT (\w+) CHECK \([^;]*?\)[,;]\n", ADDED) == rules
    assert re.findall(r"COMMENT ON CONSTRAINT (\w+) ON \S+ IS '.*';\n", ADDED) == rules
