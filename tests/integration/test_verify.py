"""Verification: silent about a database in order, however it was used, and precise about every damage."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from pgrecall import Memory
from pgrecall.flows import refresh_graph
from tests.conftest import NOW, Query
from tests.integration.prune_tools import LONG_AGO, apply, drive, note, plan, undo
from tests.integration.use_tools import fold_all, rebuild, record

DAY = timedelta(days=1)
CHECKS = (
    "summaries", "spreading", "links", "counters", "layers", "accesses", "idempotency keys",
    "floors", "feedback", "archivals", "statistics", "plans",
)  # fmt: skip


def verify(sql: Query, *, tenant: str = "acme") -> dict[str, Any]:
    document: dict[str, Any] = sql("SELECT recall.verify(%s) AS found", (NOW,), tenant=tenant)[0]["found"]
    return document


def problems(sql: Query, *, tenant: str = "acme") -> dict[str, list[str]]:
    """The examples of each check that something breaks."""
    found = {check["name"]: check for check in verify(sql, tenant=tenant)["checks"]}
    assert tuple(found) == CHECKS
    assert all(len(check["examples"]) == min(check["problems"], 5) for check in found.values())
    return {name: check["examples"] for name, check in found.items() if check["problems"]}


def use(
    sql: Query, *memories: int, at: Any = NOW, session: str | None = None, key: str | None = None
) -> None:
    items = [
        {"memory_id": memory, "at": at, "session_id": session, "kind": "used", "idempotency_key": key}
        for memory in memories
    ]
    record(sql, items, at)


def busy(sql: Query, *, tenant: str = "acme") -> dict[str, int]:
    """A tenant's database after everything that can happen to it; ids by key."""

    def ours(text: str, parameters: Any = None, **_: str) -> list[dict[str, Any]]:
        return sql(text, parameters, tenant=tenant)

    ids = {key: note(ours, key, layer="knowledge", at=LONG_AGO) for key in ("hub", "pin", "old", "new")}
    ids |= {f"leaf{place}": note(ours, f"leaf{place}", "hub", layer="entity") for place in range(8)}
    ids |= {key: note(ours, key) for key in ("pruned", "undone", "revived", "forgotten", "expired")}
    ids["spare"] = note(ours, "spare", "hub", layer="episodic")
    for far in range(2):
        ids[f"far{far}"] = note(ours, f"far{far}", f"leaf{far}", layer="entity")
    ours("SELECT recall.set_layer('activity', 4, p_base_decay => 0.6)")
    ours("SELECT recall.configure('prune.max_share', 0.9)")

    for day in range(1, 14):
        use(ours, ids["hub"], ids["leaf1"], at=LONG_AGO + day * DAY, session=f"s{day}")
    use(ours, ids["hub"], at=LONG_AGO + DAY / 2, key="late")
    ours("SELECT recall.search_and_log('about hub leaf1 leaf2', p_now => %s)", (NOW - 2 * DAY,))
    call = "SELECT recall.log_shown(%s, p_now => %s, p_query => 'who?') AS id"
    [search] = ours(call, ([ids["spare"], ids["leaf2"]], NOW - 2 * DAY))
    ours("SELECT recall.rejected(%s, %s, %s)", (search["id"], [ids["leaf2"], ids["spare"]], NOW - DAY))
    fold_all(ours)
    drive(ours, refresh_graph())
    ours("SELECT recall.pin(%s, p_now => now())", (ids["pin"],))
    ours("SELECT recall.pin(%s, p_now => now() + interval '1 second')", (ids["new"],))
    ours("SELECT recall.pin(%s, false, p_now => now() + interval '2 seconds')", (ids["new"],))
    ours("SELECT recall.supersede(%s, %s)", (ids["old"], ids["new"]))
    ours("SELECT recall.forget(%s, p_now => %s)", (ids["forgotten"], NOW - DAY))
    ours("SELECT recall.forget(%s, true)", (ids["spare"],))
    ours("UPDATE recall.memory SET expires_at = %s WHERE id = %s", (NOW - DAY, ids["expired"]))
    ours("SELECT recall.expire_memories(p_now => %s)", (NOW - DAY,))
    first = plan(ours, now=NOW - DAY, p_layers=["activity"])
    assert set(apply(ours, first, now=NOW - DAY).values()) == {"archived"}
    use(ours, ids["revived"])
    assert undo(ours, first) == 2
    assert "archived" in apply(ours, plan(ours, p_layers=["activity"])).values()
    plan(ours)
    ours("SELECT recall.refresh_statistics(%s)", (NOW,))
    ours("SELECT recall.refresh_vitality(p_now => %s)", (NOW,))
    ours("SELECT recall.search_and_log('about hub leaf1 leaf2', p_now => %s)", (NOW,))
    del ids["spare"]
    return ids


@pytest.fixture
def ids(sql: Query) -> dict[str, int]:
    return busy(sql)


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


def test_the_client_tells_each_check(memory: Memory, query: Query) -> None:
    stored = memory.remember("b", key="k")
    assert [(check.name, check.problems, check.examples) for check in memory.verify()] == [
        (name, 0, ()) for name in CHECKS
    ]
    query("UPDATE recall.activation SET n = 7")
    wrong = memory.verify()[0]
    assert (wrong.name, wrong.problems, wrong.examples) == ("summaries", 1, (str(stored.id),))
    assert "rebuild" in wrong.about
    assert memory.rebuild([stored.id]) == 1
    assert memory.verify()[0].problems == 0


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
    found = [row["id"] for row in sql("SELECT * FROM recall.wrong_summaries('acme', 3) AS id")]
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
    "a count of sessions that is none": (ACTIVATION.format("sessions = 'NaN'"), of("counters", "hub")),
    "sessions at no time": (ACTIVATION.format("sessions_at = NULL"), of("counters", "hub")),
    "a vitality that cannot be": (ACTIVATION.format("vitality = 1.5"), of("counters", "hub")),
    "a zone that is none": (ACTIVATION.format("zone = 'asleep'"), of("counters", "hub")),
    "a cached vitality without its moment": (ACTIVATION.format("computed_at = NULL"), of("counters", "hub")),
    "a negative cut": (ACTIVATION.format("cut_size = -1"), of("counters", "hub")),
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
    "a median that is none": (
        "UPDATE recall.layer_median SET base = 'NaN' WHERE layer = 'entity'",
        exactly("statistics", "median of layer 'entity'")),
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
    "a setting nobody knows": (
        "INSERT INTO recall.setting VALUES ('acme', 'prune.mercy', '1')",
        exactly("statistics", "setting 'prune.mercy'")),
}  # fmt: skip


@pytest.mark.parametrize("damage", OTHER_DAMAGE)
def test_damage_is_named_and_nothing_else(sql: Query, ids: dict[str, int], damage: str) -> None:
    statement, expected = OTHER_DAMAGE[damage]
    sql(statement, ids)
    assert problems(sql) == expected(ids)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE recall.prune_item SET outcome = NULL WHERE plan_id = %(plan)s",
        "UPDATE recall.prune_item SET outcome = 'skipped', note = 'x' WHERE plan_id = %(plan)s",
        "DELETE FROM recall.prune_item WHERE plan_id = %(plan)s",
        "UPDATE recall.prune_plan SET state = 'planned', applied_at = NULL WHERE id = %(plan)s",
        "UPDATE recall.prune_plan SET state = 'undone', undone_at = now() WHERE id = %(plan)s",
        "UPDATE recall.archival SET reason = 'expired', plan_id = NULL WHERE plan_id = %(plan)s",
    ],
)
def test_a_plan_that_its_items_or_the_archivals_contradict_is_named(
    sql: Query, ids: dict[str, int], damage: str
) -> None:
    [row] = sql("SELECT max(id) AS plan FROM recall.prune_plan WHERE state = 'applied'")
    sql(damage, row)
    assert problems(sql) == {"plans": [str(row["plan"])]}


def test_damage_to_one_tenant_is_not_told_to_another(sql: Query, ids: dict[str, int]) -> None:
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
