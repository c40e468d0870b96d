"""From revision 0001 with data: the log survives, keys refuse repeats, and the fold counts bursts once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pytest
from psycopg.conninfo import conninfo_to_dict

from pgrecall.database.connections import connect
from pgrecall.database.server import server_facts
from pgrecall.schema import migrate
from pgrecall.schema.revisions import run_revisions
from tests.databases import Query, new_database
from tests.given_server import Server
from tests.integration.access.use_tools import fold_all, fold_of_log, folded, rebuild, record, states
from tests.migration.catalogue import statements

BIRTH = datetime(2026, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 6, 1, tzinfo=UTC)
SETTINGS = (
    "INSERT INTO recall.setting (tenant, name, value) VALUES "
    "('*', 'embedding.dimensions', '64'), ('*', 'schema.functions', '\"of 0001\"')"
)
LAYERS = (
    "INSERT INTO recall.layer (tenant, name, metabolic_rate, birth_weight) VALUES "
    "('*', 'entity', 0.1, 2), ('*', 'knowledge', 1, 1), ('acme', 'half', 1, 2.5)"
)
OF_OLD = (
    "CREATE FUNCTION recall_private.zone_of(p_retention double precision) RETURNS text LANGUAGE sql "
    "RETURN 'old'",
    "CREATE FUNCTION recall_private.activation_sum(a recall.activation, p_now double precision) "
    "RETURNS double precision LANGUAGE sql RETURN a.n",
    "CREATE FUNCTION recall.layers_of(p_tenant text) RETURNS TABLE (name text) LANGUAGE sql RETURN p_tenant",
)
"""Functions whose results or arguments have changed since."""


def install_0001(url: str) -> None:
    with connect(url) as connection:
        facts = server_facts(connection)
    with migrate._locked(url) as driver:
        migrate._prepare(driver, facts)
        run_revisions(driver, 64, None, "0001")
        for statement in (SETTINGS, LAYERS, *OF_OLD):
            driver.execute(statement.encode())


def remember(
    old: Query, key: str, *, tenant: str = "acme", layer: str = "knowledge", birth: float = 1
) -> int:
    """A memory as 0001 stored it: its row, its activation, its first access."""
    stored = "INSERT INTO recall.memory (tenant, key, layer, body, created_at) VALUES (%s, %s, %s, 'b', %s) "
    [row] = old(stored + "RETURNING id", (tenant, key, layer, BIRTH))
    born = BIRTH.timestamp()
    times = [born] * int(birth) + [None] * (8 - int(birth))
    old(
        "INSERT INTO recall.activation (tenant, memory_id, n, first_at, t1, t2, t3, t4, t5, t6, t7, t8, "
        "credit, decay, clock) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, 0.5, 1)",
        (tenant, row["id"], int(birth), born, *times, birth % 1),
    )
    log(old, row["id"], "write", 0, tenant=tenant, weight=birth)
    return int(row["id"])


def log(
    old: Query,
    memory: int,
    kind: str,
    seconds: float,
    *,
    session: str | None = None,
    key: str | None = None,
    tenant: str = "acme",
    weight: float | None = None,
) -> None:
    """An access as 0001 logged and summed it: each whole weight at once, parts as credit."""
    weight = weight if weight is not None else 0.1 if kind == "retrieval" else 1.0
    at = BIRTH + timedelta(seconds=seconds)
    old(
        "INSERT INTO recall.access "
        "(tenant, memory_id, kind, weight, at, session_id, idempotency_key, recorded_at) "
        "VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
        (tenant, memory, kind, weight, at, session, key, at),
    )
    if seconds and weight >= 1:
        old(
            "UPDATE recall.activation SET n = n + 1, t8 = t7, t7 = t6, t6 = t5, t5 = t4, t4 = t3, t3 = t2, "
            "t2 = t1, t1 = %s WHERE memory_id = %s",
            (at.timestamp(), memory),
        )
    elif seconds:
        old("UPDATE recall.activation SET credit = credit + %s WHERE memory_id = %s", (weight, memory))


def remember_all(old: Query) -> dict[str, int]:
    """What has a past: uses, bursts, retrievals after the last use, keys, a birth of two and a half."""
    ids = {key: remember(old, key) for key in ("idle", "used", "burst", "shown", "gone", "pinned")}
    ids["person"] = remember(old, "person", layer="entity", birth=2)
    ids["half"] = remember(old, "half", layer="half", birth=2.5)
    ids["theirs"] = remember(old, "theirs", tenant="other")
    for day in range(1, 13):
        log(old, ids["used"], "used", day * 86_400, key=f"turn {day}")
    for second in (60, 61, 62, 900):
        log(old, ids["burst"], "read", second, session="s")
    log(old, ids["shown"], "read", 3600)
    for second in range(7200, 7207):
        log(old, ids["shown"], "retrieval", second)
    log(old, ids["half"], "retrieval", 60, weight=0.25)
    log(old, ids["theirs"], "read", 60, tenant="other", key="turn 1")
    old("UPDATE recall.memory SET archived_at = %s WHERE key = 'gone'", (BIRTH + timedelta(days=3),))
    old("UPDATE recall.memory SET pinned = true WHERE key = 'pinned'")
    return ids


LOGGED = (
    "SELECT tenant, memory_id, kind, weight, at, session_id, recorded_at FROM recall.access "
    "ORDER BY tenant, at, memory_id, kind"
)


class Upgraded(NamedTuple):
    """A database of 0001 that came up to this version: its name, what it had logged, its memories."""

    name: str
    logged: list[dict[str, Any]]
    memories: dict[str, int]


@pytest.fixture(scope="module")
def upgraded(server: Server) -> Iterator[Upgraded]:
    for url in new_database(server, "template1"):
        install_0001(url)
        with statements(url) as old:
            memories = remember_all(old)
            logged = old(LOGGED)
        assert migrate.upgrade(url).after.revision == migrate.head_revision()
        yield Upgraded(str(conninfo_to_dict(url)["dbname"]), logged, memories)


@pytest.fixture
def memories(upgraded: Upgraded) -> dict[str, int]:
    return upgraded.memories


@pytest.fixture
def old(server: Server, upgraded: Upgraded) -> Iterator[Query]:
    """A copy of the upgraded database; statements run in it, committed, as tenant ``acme``."""
    for url in new_database(server, upgraded.name):
        with statements(url) as run:
            yield run


def test_the_log_survives_and_the_fold_brings_every_summary_up_to_it(
    old: Query, upgraded: Upgraded, memories: dict[str, int]
) -> None:
    assert old(LOGGED) == upgraded.logged
    assert fold_all(old) > 0
    assert [row["count"] for row in old("SELECT count(*) FROM recall.access_queue", tenant="acme")] == [1]
    old("SELECT recall.fold_accesses()", tenant="other")
    rows = states(old)
    assert {memory: folded(row) for memory, row in rows.items()} == {
        memory: fold_of_log(old, memory) for memory in rows
    }
    assert rebuild(old) == 0
    assert {key: rows[memory]["n"] for key, memory in memories.items()} == {
        "idle": 1, "used": 13, "burst": 3, "shown": 2, "gone": 1, "pinned": 1, "person": 2, "half": 2,
        "theirs": 2,
    }  # fmt: skip
    assert round(rows[memories["shown"]]["credit"], 9) == 0.7


def test_keys_of_old_still_refuse_repeats(old: Query, memories: dict[str, int]) -> None:
    fold_all(old)
    items = [{"memory_id": memories["used"], "idempotency_key": f"turn {turn}"} for turn in range(1, 14)]
    assert record(old, items, NOW) == 1
    assert states(old)[memories["used"]]["n"] == 14


def test_a_use_before_the_first_fold_is_not_lost(old: Query, memories: dict[str, int]) -> None:
    record(old, [{"memory_id": memory} for key, memory in memories.items() if key != "theirs"], NOW)
    fold_all(old)
    rows = states(old)
    assert {memory: folded(row) for memory, row in rows.items() if memory != memories["theirs"]} == {
        memory: fold_of_log(old, memory) for memory in rows if memory != memories["theirs"]
    }
    assert rebuild(old) == 0


def test_what_was_archived_or_pinned_has_a_past_that_says_so(old: Query, memories: dict[str, int]) -> None:
    assert old("SELECT memory_id, archived_at, reason, restored_at FROM recall.archival") == [
        {"memory_id": memories["gone"], "archived_at": BIRTH + timedelta(days=3), "reason": "forgotten",
         "restored_at": None},
    ]  # fmt: skip
    assert old("SELECT memory_id, at, floored FROM recall.floor_change") == [
        {"memory_id": memories["pinned"], "at": BIRTH, "floored": True},
    ]  # fmt: skip
    live = [
        sum(
            row["memories"]
            for row in old("SELECT * FROM recall.zones_as_of(%s)", (BIRTH + timedelta(days=day),))
        )
        for day in (-1, 2, 4)
    ]
    assert live == [0, 8, 7]


def test_an_empty_database_of_old_is_upgraded_as_well(empty_database: str) -> None:
    install_0001(empty_database)
    migrate.upgrade(empty_database)
    migrate.require_current(migrate.inspect(empty_database))
    with statements(empty_database) as run:
        [row] = run("SELECT recall.remember('b', p_layer => 'half') AS id")
        assert run("SELECT n, credit FROM recall.activation") == [{"n": 2, "credit": 0.5}]
        assert record(run, [{"memory_id": row["id"]}], NOW + timedelta(days=3650)) == 1
        assert (fold_all(run), rebuild(run)) == (0, 0)
