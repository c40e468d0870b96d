"""Locks that somebody else holds: a bound reader sees them in pg_locks, and cannot take them."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import errors
from psycopg.conninfo import make_conninfo

from pgrecall.schema import migrate
from tests.attack.calls import Attack, attacks_on, functions_of
from tests.attack.world import GUESSED, NOW, RIGHTS, World

pytestmark = pytest.mark.attack

ADVISORY = (
    "SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks WHERE locktype = 'advisory' "
    "AND objsubid = 1 AND pid <> pg_backend_pid() "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) ORDER BY 1"
)

WRITES = (
    "SELECT recall.remember('anew')",
    "SELECT recall.remember('anew', p_key => 'globex-plan', p_links => '[{\"target\": \"globex-mira\"}]')",
    'SELECT * FROM recall.remember_many(\'[{"body": "anew"}]\')',
    "SELECT recall.supersede(recall.id_of('globex-plan'), recall.id_of('globex-mira'))",
    "SELECT recall.forget(recall.id_of('globex-old'))",
    "SELECT recall.forget(recall.id_of('globex-old'), true)",
    f"SELECT recall.set_layer('{GUESSED}-layer', p_now => '{NOW}')",
    "SELECT recall.drop_layer('knowledge')",
    "SELECT recall.use_preset('default')",
    "SELECT recall.set_language('german')",
    "SELECT recall.refresh_lexemes()",
    "SELECT recall.move_vectors_to_own_table(0)",
    "SELECT recall.apply_plan(max(id), '2036-06-01') FROM recall.plans(p_kind => 'prune')",
    "SELECT recall.begin_job('fold')",
    "SELECT recall.make_access_partitions('2031-01-01')",
    "SELECT recall.begin_job('partitions', true)",
)
"""Of globex and of the whole database: everything that waits for a lock."""


@pytest.fixture
def globex(with_globex: World) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(with_globex.url) as connection:
        connection.execute("SELECT set_config('recall.tenant', 'globex', false)")
        connection.commit()
        yield connection
        connection.rollback()


@pytest.fixture
def reader(with_globex: World, logins: dict[str, str]) -> Iterator[psycopg.Connection[Any]]:
    with with_globex.log_in(logins["reader"]) as connection:
        yield connection


@pytest.mark.parametrize("write", WRITES)
def test_no_lock_of_a_write_can_be_taken_by_others(
    write: str,
    globex: psycopg.Connection[Any],
    reader: psycopg.Connection[Any],
    tried: Counter[str],
) -> None:
    globex.execute(write.encode())
    seen = [key for (key,) in reader.execute(ADVISORY).fetchall()]
    globex.rollback()
    for key in seen:
        reader.execute("SELECT pg_try_advisory_lock(%s), pg_try_advisory_lock_shared(%s)", (key, key))
    tried["locks"] += 1
    globex.execute("SET LOCAL lock_timeout = '2s'")
    globex.execute(write.encode())


def test_a_run_that_ended_is_not_kept_alive_by_others(
    globex: psycopg.Connection[Any],
    reader: psycopg.Connection[Any],
    with_globex: World,
    tried: Counter[str],
) -> None:
    with psycopg.connect(with_globex.url, autocommit=True) as worker:
        worker.execute("SELECT set_config('recall.tenant', 'globex', false)")
        [(run,)] = worker.execute("SELECT recall.begin_job('graph')").fetchall()
        assert run is not None
        keys = [key for (key,) in reader.execute(ADVISORY).fetchall()]
        assert keys
        # Nobody takes it meanwhile, and others may wait for it.
        for key in keys:
            assert reader.execute("SELECT pg_try_advisory_lock(%s)", (key,)).fetchone() == (False,)
            tried["locks"] += 1
        worker.execute("SELECT recall.end_job(%s, 'done', 0, '{}')", (run,))
        for key in keys:
            reader.execute("SELECT pg_try_advisory_lock(%s)", (key,))
        worker.execute(
            "UPDATE recall.job_run SET state = 'running', finished_at = NULL WHERE id = %s", (run,)
        )
        assert worker.execute("SELECT state FROM recall.job_runs('graph')").fetchone() == ("abandoned",)
        assert globex.execute("SELECT recall.begin_job('graph')").fetchone() != (None,)


def test_no_lock_that_functions_need_can_be_taken_on_tables(
    reader: psycopg.Connection[Any], with_globex: World, tried: Counter[str]
) -> None:
    tables = with_globex.admin.execute(
        "SELECT c.oid::regclass::text FROM pg_class c WHERE c.relnamespace = 'recall'::regnamespace "
        "AND c.relkind IN ('r', 'p')"
    ).fetchall()
    for (table,) in tables:
        for mode in ("ACCESS SHARE", "ROW SHARE", "EXCLUSIVE", "ACCESS EXCLUSIVE"):
            with pytest.raises(errors.InsufficientPrivilege), reader.transaction():
                reader.execute(f"LOCK TABLE {table} IN {mode} MODE NOWAIT".encode())
            tried["locks"] += 1


def test_an_upgrade_waits_for_no_outsider(
    reader: psycopg.Connection[Any], with_globex: World, tried: Counter[str]
) -> None:
    reader.execute("SELECT pg_advisory_lock(7310554032001817600)")  # the key that upgrades once took
    with pytest.raises(errors.InsufficientPrivilege):
        reader.execute("COMMENT ON SCHEMA recall IS 'mine'")
    tried["locks"] += 2
    url = make_conninfo(with_globex.url, options="-c lock_timeout=5s")
    assert not migrate.upgrade(url).changed


BOUNDED = ("make_access_partitions", "run_due_job")
"""These serve the whole database: they wait for others, but not for long, and isolation.md says so."""


@pytest.mark.parametrize("victim", ["globex", "newcomer"])
@pytest.mark.parametrize("right", RIGHTS)
def test_nobody_waits_for_what_others_hold_open(
    right: str, victim: str, with_globex: World, logins: dict[str, str], tried: Counter[str]
) -> None:
    """The attacker calls all functions in one transaction that never ends; another tenant calls them too."""
    functions = functions_of(with_globex.admin)
    with (
        with_globex.log_in(logins[right]) as attacker,
        psycopg.connect(with_globex.url, autocommit=True) as other,
    ):
        other.execute("SELECT set_config('recall.tenant', %s, false)", (victim,))
        attacker.execute("BEGIN")
        held = sum(_succeeds(attacker, next(attacks_on(one, {}, with_globex.own))) for one in functions)
        assert held > 20
        other.execute("SET lock_timeout = '20s'")
        waits: list[str] = []
        for function in functions:
            if function.name in BOUNDED:
                continue
            tried["locks"] += 1
            attack = next(attacks_on(function, {}, with_globex.ids))
            if function.name == "create_key":
                attack = attack._replace(parameters=(attack.parameters[0], secrets.token_bytes(32), NOW))
            try:
                with other.transaction(force_rollback=True):
                    other.execute(attack.sql.encode(), attack.parameters)
            except errors.LockNotAvailable:
                waits.append(function.name)
            except psycopg.Error:
                continue
        attacker.execute("ROLLBACK")
    assert waits == []


def _succeeds(connection: psycopg.Connection[Any], attack: Attack) -> bool:
    try:
        with connection.transaction():
            connection.execute(attack.sql.encode(), attack.parameters)
    except psycopg.Error:
        return False
    return True
