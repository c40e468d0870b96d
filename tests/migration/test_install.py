"""Installing the schema: what is refused, what is repeated, what a broken installation leaves behind."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pgrecall import DatabaseError, InvalidInput, Memory, SchemaMismatch
from pgrecall.schema import function_replacement, installing, migrate
from pgrecall.settings import Settings
from tests.migration.catalogue import STALE, catalogue, fetch, recall_settings
from tests.waiting import PATIENCE


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
    made = catalogue(database_url)
    for dimensions in (64, None):
        done = migrate.upgrade(database_url, dimensions=dimensions)
        assert not done.changed
        assert done.before == done.after
    assert catalogue(database_url) == made
    assert fetch(database_url, "SELECT body FROM recall.memory") == [("kept",)]
    assert fetch(database_url, "SELECT metabolic_rate FROM recall.layer WHERE name = 'entity'") == [(0.2,)]


def test_ensure_current_installs_upgrades_and_otherwise_does_nothing(empty_database: str) -> None:
    installing.ensure_current(empty_database, dimensions=8)
    before = catalogue(empty_database)
    installing.ensure_current(empty_database, dimensions=99)
    assert catalogue(empty_database) == before
    fetch(empty_database, STALE)
    installing.ensure_current(empty_database, dimensions=99)
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
        "WHERE attrelid = 'recall.vector_shared'::regclass AND attname = 'embedding'",
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


@pytest.fixture
def bad_function_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "98_bad.sql"
    path.write_text("CREATE TABLE recall.half_done (); CREATE NONSENSE recall.oops;")
    shipped = migrate.function_files()
    monkeypatch.setattr(function_replacement, "function_files", lambda: [*shipped, path])


def test_an_interrupted_installation_leaves_nothing(empty_database: str, bad_function_file: None) -> None:
    before = catalogue(empty_database)
    with pytest.raises(Exception, match='syntax error at or near "NONSENSE"'):
        migrate.upgrade(empty_database, dimensions=64)
    assert catalogue(empty_database) == before
    assert fetch(empty_database, "SELECT FROM pg_namespace WHERE nspname = 'recall'") == []


def test_an_interrupted_upgrade_leaves_what_was_there(database_url: str, bad_function_file: None) -> None:
    fetch(database_url, STALE)
    before = catalogue(database_url)
    with pytest.raises(Exception, match='syntax error at or near "NONSENSE"'):
        migrate.upgrade(database_url)
    assert catalogue(database_url) == before


def test_an_interrupted_upgrade_raises_an_error_of_ours(database_url: str, bad_function_file: None) -> None:
    fetch(database_url, STALE)
    with pytest.raises(DatabaseError):
        migrate.upgrade(database_url)


def test_many_may_initialise_at_once(empty_database: str) -> None:
    barrier = threading.Barrier(3)

    def init(_: int) -> migrate.Upgrade:
        barrier.wait(timeout=PATIENCE)
        return migrate.upgrade(empty_database, dimensions=64)

    with ThreadPoolExecutor(3) as threads:
        done = list(threads.map(init, range(3)))
    assert sorted(upgrade.changed for upgrade in done) == [False, False, True]
    migrate.require_current(migrate.inspect(empty_database))
