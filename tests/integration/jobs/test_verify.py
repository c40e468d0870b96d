"""Verification: silent about a database in order, however it was used, and precise about every damage."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from pgrecall import Memory
from tests.databases import Query, runner
from tests.integration.access.use_tools import fold_all, rebuild
from tests.integration.client.busy_tenant import CHECKS, busy, problems, verify


@pytest.fixture(scope="module")
def ids(shared_connection: psycopg.Connection[Any]) -> Iterator[dict[str, int]]:
    """One busy tenant for the file; ``sql`` takes back what a test did to it."""
    with shared_connection.transaction(force_rollback=True):
        yield busy(runner(shared_connection))


# In order


def test_a_database_in_order_has_no_problems(sql: Query, ids: dict[str, int]) -> None:
    [row] = sql(
        "SELECT count(*) FILTER (WHERE protected) AS protected, "
        "count(*) FILTER (WHERE spread > 0) AS boosted, count(*) FILTER (WHERE n > 8) AS tailed, "
        "count(*) FILTER (WHERE credit > 0) AS owing, "
        "(SELECT count(*) FROM recall.access_queue) AS waiting, "
        "(SELECT count(*) FROM recall.archival WHERE restored_at IS NULL) AS archived FROM recall.activation"
    )
    assert min(row.values()) > 0, "the database was not used as it should be"
    assert problems(sql) == {}
    assert verify(sql)["problems"] == 0
    assert problems(sql, tenant="nobody") == {}


def test_it_changes_nothing_and_says_when(sql: Query, ids: dict[str, int]) -> None:
    before = sql("SELECT * FROM recall.activation ORDER BY memory_id")
    sql("SET LOCAL timezone = 'UTC'")
    assert verify(sql)["verified_at"] == "2026-06-01T12:00:00+00:00"
    sql("SET LOCAL transaction_read_only = on")
    verify(sql)
    assert sql("SELECT * FROM recall.activation ORDER BY memory_id") == before


def test_the_client_returns_each_check(memory: Memory, query: Query) -> None:
    stored = memory.remember("b", key="k")
    assert [(check.name, check.problems, check.examples) for check in memory.maintenance.verify()] == [
        (name, 0, ()) for name in CHECKS
    ]
    query("UPDATE recall.activation SET n = 7")
    wrong = memory.maintenance.verify()[0]
    assert (wrong.name, wrong.problems, wrong.examples) == ("summaries", 1, (str(stored.id),))
    assert "rebuild" in wrong.about
    assert memory.maintenance.rebuild([stored.id]) == 1
    assert memory.maintenance.verify()[0].problems == 0


# Damaged


ACTIVATION = "UPDATE recall.activation SET {} WHERE memory_id = %(hub)s"


@pytest.mark.parametrize(
    "damage",
    [
        "n = n + 1", "first_at = first_at + 1", "t1 = t1 + 0.001", "t8 = t8 - 1", "credit = credit + 0.1",
        "t4 = NULL", "folded_until = folded_until - interval '400 days'",
    ],
)  # fmt: skip
def test_a_summary_that_is_not_what_the_log_says_is_named(
    sql: Query, ids: dict[str, int], damage: str
) -> None:
    fold_all(sql)
    sql(ACTIVATION.format(damage), ids)
    assert problems(sql) == {"summaries": [str(ids["hub"])]}
    assert rebuild(sql) == 1
    assert problems(sql) == {}


def test_an_access_that_no_fold_has_seen_and_that_does_not_wait_is_named(
    sql: Query, ids: dict[str, int]
) -> None:
    sql("DELETE FROM recall.access_queue")
    assert str(ids["hub"]) in problems(sql)["summaries"]


def test_a_log_that_lost_accesses_is_named(sql: Query, ids: dict[str, int]) -> None:
    sql("DELETE FROM recall.access WHERE memory_id = %(leaf2)s", ids)
    fold_all(sql)
    assert problems(sql) == {"summaries": [str(ids["leaf2"])]}


def test_summaries_are_verified_in_batches(sql: Query, ids: dict[str, int]) -> None:
    fold_all(sql)
    sql("UPDATE recall.activation SET n = n + 1")
    found = [row["id"] for row in sql("SELECT * FROM recall_private.wrong_summaries('acme', 3) AS id")]
    assert sorted(found) == sorted(ids.values())


Damage = tuple[str, Callable[[dict[str, int]], dict[str, list[str]]]]


def of(check: str, *keys: str) -> Callable[[dict[str, int]], dict[str, list[str]]]:
    return lambda ids: {check: [str(ids[key]) for key in keys]}


def exactly(check: str, *subjects: str) -> Callable[[dict[str, int]], dict[str, list[str]]]:
    return lambda _: {check: list(subjects)}


OTHER_DAMAGE: dict[str, Damage] = {
    "a boost that nothing spread": (ACTIVATION.format("spread = 0.9"), of("spreading", "hub")),
    "a boost at another time": (ACTIVATION.format("spread_at = spread_at + 1"), of("spreading", "hub")),
    "a boost that was lost": (ACTIVATION.format("spread = 0, spread_at = NULL"), of("spreading", "hub")),
    "an in-degree too high": (ACTIVATION.format("in_degree = in_degree + 1"), of("links", "hub")),
    "an in-degree of nothing": ("UPDATE recall.activation SET in_degree = 1 WHERE memory_id = %(far0)s",
                                of("links", "far0")),
    "a newest link too new": (ACTIVATION.format("last_linked_at = last_linked_at + 1"), of("links", "hub")),
    "a link that went behind our back": ("DELETE FROM recall.link WHERE src = %(leaf3)s", of("links", "hub")),
    "a clock of another layer": (ACTIVATION.format("clock = 3"), of("layers", "hub")),
    "a decay of another layer": (ACTIVATION.format("decay = 0.7"), of("layers", "hub")),
    "a layer that is gone": (
        "UPDATE recall.memory SET layer = 'gone' WHERE id = %(leaf4)s", of("layers", "leaf4")),
    "a memory without activation": (
        "DELETE FROM recall.activation WHERE memory_id = %(far0)s", of("layers", "far0")),
    "accesses of nobody": (
        "INSERT INTO recall.access (tenant, memory_id, kind, weight, at) "
        "VALUES ('acme', 4711, 'read', 1, now()), ('acme', 4711, 'read', 1, now())",
        exactly("accesses", "4711")),
    "an idempotency key of nobody": (
        "INSERT INTO recall.access_key VALUES ('acme', 'turn-1', 4711)",
        exactly("idempotency keys", "turn-1")),
    "a floor of nobody": (
        "INSERT INTO recall.floor_change (tenant, memory_id, at, floored) VALUES ('acme', 4711, now(), true)",
        exactly("floors", "4711")),
    "a search that showed nobody": (
        "INSERT INTO recall.search_log (tenant, id, at, query, profile, shown) "
        "OVERRIDING SYSTEM VALUE VALUES ('acme', 4711, now(), 'q', 'balanced', '{0}')",
        exactly("feedback", "4711")),
    "a verdict on what was not shown": (
        "WITH search AS (INSERT INTO recall.search_log (tenant, id, at, query, profile, shown) "
        "OVERRIDING SYSTEM VALUE VALUES ('acme', 4711, now(), 'q', 'balanced', '{NULL}') RETURNING id) "
        "INSERT INTO recall.judgement SELECT 'acme', id, %(hub)s, 'used', now() FROM search",
        exactly("feedback", "4711")),
    "a pin nobody noted": (
        "UPDATE recall.memory SET pinned = true WHERE id = %(leaf5)s", of("floors", "leaf5")),
    "protection nobody noted": (ACTIVATION.format("protected = false"), of("floors", "hub")),
    "a floor that is not there": (
        "INSERT INTO recall.floor_change (tenant, memory_id, at, floored) "
        "VALUES ('acme', %(far1)s, now(), true)", of("floors", "far1")),
    "an archival that nobody carried out": (
        "INSERT INTO recall.archival (tenant, memory_id, archived_at, reason) "
        "VALUES ('acme', %(far0)s, now(), 'forgotten')", of("archivals", "far0")),
    "an archived memory without a reason": (
        "UPDATE recall.memory SET archived_at = now() WHERE id = %(far0)s AND archived_at IS NULL",
        lambda ids: {"archivals": [str(ids["far0"])], "links": [str(ids["leaf0"])]}),
    "a memory that came back unseen": (
        "UPDATE recall.memory SET archived_at = NULL WHERE id = %(forgotten)s", of("archivals", "forgotten")),
    "an archival at another time": (
        "UPDATE recall.memory SET archived_at = archived_at + interval '1 hour' WHERE id = %(expired)s",
        of("archivals", "expired")),
    "a version that is gone": (
        "DELETE FROM recall.memory_version WHERE memory_id = %(leaf6)s AND number = 2",
        of("versions", "leaf6")),
    "a version that began before the one before it ended": (
        "UPDATE recall.memory_version SET written_at = written_at - interval '1 second' "
        "WHERE memory_id = %(leaf6)s AND number = 3", of("versions", "leaf6")),
    "a version that somebody else wrote": (
        "UPDATE recall.memory_version SET written_by = 'mallory' WHERE memory_id = %(leaf6)s AND number = 2",
        of("versions", "leaf6")),
    "a word in no memory": (
        "UPDATE recall.lexeme SET documents = 0 WHERE word = 'hub'", exactly("statistics", "word 'hub'")),
    "a word in more memories than there are": (
        "UPDATE recall.lexeme SET documents = 1000 WHERE word = 'hub'", exactly("statistics", "word 'hub'")),
    "a setting out of bounds": (
        "UPDATE recall.setting SET value = '2' WHERE name = 'prune.max_share'",
        exactly("statistics", "setting 'prune.max_share'")),
    "a setting that is no number": (
        "UPDATE recall.setting SET value = '\"much\"' WHERE name = 'prune.max_share'",
        exactly("statistics", "setting 'prune.max_share'")),
    "a name that was lost": ("DELETE FROM recall.name WHERE memory_id = %(hub)s", of("names", "hub")),
    "a name of nobody's": (
        "INSERT INTO recall.name (tenant, name, memory_id, entity) VALUES ('acme', 'alias', %(far0)s, true)",
        of("names", "far0")),
    "a name of another layer": (
        "UPDATE recall.name SET entity = NOT entity WHERE memory_id = %(hub)s", of("names", "hub")),
    "a link that waits for what is there": (
        "INSERT INTO recall.pending_link (tenant, src, target, relation) "
        "VALUES ('acme', %(far0)s, 'hub', 'links_to')", exactly("waiting links", "hub")),
    "two that replace each other": (
        "UPDATE recall.memory SET superseded_by = %(old)s WHERE id = %(new)s",
        of("successions", "old", "new")),
    "a vector without direction": (
        "WITH one AS (UPDATE recall.memory SET embedded_with = 'm' WHERE id = %(far0)s RETURNING id) "
        "INSERT INTO recall.vector_shared "
        "SELECT 'acme', id, false, array_fill(0, ARRAY[64])::vector::halfvec FROM one",
        of("vectors", "far0")),
    "a vector that is not there": (
        "UPDATE recall.memory SET embedded_with = 'm' WHERE id = %(far0)s", of("vectors", "far0")),
    "a vector of nothing": (
        "INSERT INTO recall.vector_shared "
        "VALUES ('acme', 999, false, array_fill(1, ARRAY[64])::vector::halfvec)",
        exactly("vectors", "999")),
    "a passage of nothing": (
        "INSERT INTO recall.vector_shared "
        "VALUES ('acme', 999, false, array_fill(1, ARRAY[64])::vector::halfvec, 1, 0, 1)",
        exactly("passages", "999")),
    "a passage that is not there": (
        "UPDATE recall.memory SET passage_count = 1 WHERE id = %(far0)s", of("passages", "far0")),
    "a passage beyond the text": (
        "WITH one AS (UPDATE recall.memory SET embedded_with = 'm', passage_count = 1 "
        "WHERE id = %(far0)s RETURNING id) INSERT INTO recall.vector_shared "
        "SELECT 'acme', id, false, array_fill(1, ARRAY[64])::vector::halfvec, part, "
        "CASE WHEN part > 0 THEN 0 END, CASE WHEN part > 0 THEN 9999 END "
        "FROM one, generate_series(0, 1) part",
        of("passages", "far0")),
    "token signs without a vector": (
        "INSERT INTO recall.token_signs VALUES ('acme', %(far0)s, 'm', '{1010}')", of("token signs", "far0")),
    "token signs of two lengths": (
        "WITH one AS (UPDATE recall.memory SET embedded_with = 'm' WHERE id = %(far0)s RETURNING id), "
        "two AS (INSERT INTO recall.vector_shared "
        "SELECT 'acme', id, false, array_fill(1, ARRAY[64])::vector::halfvec FROM one) "
        "INSERT INTO recall.token_signs SELECT 'acme', id, 'm', '{1010,10}' FROM one",
        of("token signs", "far0")),
    "a setting nobody knows": (
        "INSERT INTO recall.setting VALUES ('acme', 'prune.mercy', '1')",
        exactly("statistics", "setting 'prune.mercy'")),
}  # fmt: skip


@pytest.mark.parametrize(
    "damage",
    [
        *(ACTIVATION.format(change) for change in (
            "sessions = 'NaN'", "sessions_at = NULL", "vitality = 1.5", "computed_at = NULL",
            "cut_size = -1")),
        "UPDATE recall.layer_median SET base = 'NaN'", "UPDATE recall.access SET merged_from = memory_id",
        "UPDATE recall.lexeme SET documents = -1",
    ],
)  # fmt: skip
def test_what_no_row_can_be_is_not_stored(sql: Query, ids: dict[str, int], damage: str) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        sql(damage, ids)


@pytest.mark.parametrize("damage", OTHER_DAMAGE)
def test_damage_is_named_and_nothing_else(sql: Query, ids: dict[str, int], damage: str) -> None:
    statement, expected = OTHER_DAMAGE[damage]
    sql(statement, ids)
    assert problems(sql) == expected(ids)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE recall.plan_item SET outcome = NULL WHERE plan_id = %(plan)s",
        "UPDATE recall.plan_item SET outcome = 'skipped', note = 'x' WHERE plan_id = %(plan)s",
        "DELETE FROM recall.plan_item WHERE plan_id = %(plan)s",
        "UPDATE recall.plan SET state = 'planned', applied_at = NULL WHERE id = %(plan)s",
        "UPDATE recall.plan SET state = 'undone', undone_at = now() WHERE id = %(plan)s",
        "UPDATE recall.archival SET reason = 'expired', plan_id = NULL WHERE plan_id = %(plan)s",
    ],
)
def test_a_plan_that_its_items_or_the_archivals_contradict_is_named(
    sql: Query, ids: dict[str, int], damage: str
) -> None:
    [row] = sql("SELECT max(id) AS plan FROM recall.plan WHERE state = 'applied'")
    sql(damage, row)
    assert problems(sql) == {"plans": [str(row["plan"])]}


def test_damage_to_one_tenant_is_not_reported_to_another(sql: Query, ids: dict[str, int]) -> None:
    busy(sql, tenant="other")
    sql("UPDATE recall.activation SET n = n + 1, in_degree = 9, decay = 0.9 WHERE tenant = 'acme'")
    sql("INSERT INTO recall.access (tenant, memory_id, kind, weight, at) "
        "SELECT 'acme', id, 'read', 1, now() FROM recall.memory WHERE tenant = 'other'")  # fmt: skip
    assert problems(sql, tenant="other") == {}
    assert {"links", "layers", "accesses"} <= set(problems(sql))


def test_examples_are_the_first_five(sql: Query, ids: dict[str, int]) -> None:
    sql("UPDATE recall.activation SET decay = 0.9")
    found = next(check for check in verify(sql)["checks"] if check["name"] == "layers")
    assert found["problems"] == len(ids)
    assert found["examples"] == [str(memory) for memory in sorted(ids.values())[:5]]
    assert json.loads(json.dumps(found)) == found
