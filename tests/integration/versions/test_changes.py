"""What changed is told in order, from a cursor on, each change once."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from pgrecall import Draft, Memory
from pgrecall.errors import InvalidInput
from tests.conftest import NOW
from tests.databases import Query
from tests.integration.versions.settled import all_changes, settle

pytestmark = pytest.mark.in_turns

DAY = timedelta(days=1)


def changes_since(memory: Memory, query: Query, since: str | None = None) -> list[tuple[str, str | None]]:
    settle(query)
    return [(change.kind, change.key) for change in all_changes(memory, since, limit=2)]


def test_every_kind_in_order(memory: Memory, query: Query) -> None:
    memory.remember_many([Draft("The harbour", key="a"), Draft("The harbour opens", key="b")], now=NOW)
    memory.edit("a", body="The old harbour")
    memory.edit("b", layer="episodic")
    memory.forget("a")
    memory.remember("The old harbour", key="a")
    memory.supersede("a", "b")
    memory.supersede("a", "b")  # known
    number = memory.get("b").id
    memory.forget("b", hard=True)
    assert changes_since(memory, query) == [
        ("deleted", None), ("new", "a"), ("rewritten", "a"), ("archived", "a"), ("restored", "a"),
        ("superseded", "a"), ("restored", "a"),
    ] or changes_since(memory, query) == [
        ("new", "a"), ("rewritten", "a"), ("archived", "a"), ("restored", "a"), ("superseded", "a"),
        ("deleted", None), ("restored", "a"),
    ]  # fmt: skip
    changes = all_changes(memory)
    [superseded] = [one for one in changes if one.kind == "superseded"]
    assert superseded.other_id == number
    [deleted] = [one for one in changes if one.kind == "deleted"]
    assert (deleted.id, deleted.key, deleted.layer, deleted.title) == (number, None, None, None)


def test_calls_that_change_nothing_are_not_logged(memory: Memory, query: Query) -> None:
    memory.remember("The harbour", key="a")
    settle(query)
    cursor = memory.history.cursor()
    memory.remember("The harbour", key="a")
    memory.edit("a", body="The harbour")
    memory.search("harbour")
    memory.record_access("a", "used")
    memory.pin("a")
    memory.jobs.run("embed")
    assert changes_since(memory, query, cursor) == []


def test_a_cursor_continues(memory: Memory, query: Query) -> None:
    assert memory.history.changes() == ()
    start = memory.history.cursor()
    for key in "abc":
        memory.remember(f"The harbour {key}", key=key, title=key)
    settle(query)
    first = memory.history.changes(start, limit=2)
    assert [change.title for change in first] == ["a", "b"]
    rest = memory.history.changes(first[-1].cursor)
    assert [change.title for change in rest] == ["c"]
    assert memory.history.changes(rest[-1].cursor) == ()
    assert memory.history.changes(memory.history.cursor()) == ()
    assert [c.key for c in memory.history.changes(kinds=("new",))] == ["a", "b", "c"]
    assert memory.history.changes(kinds=("archived",)) == ()


def test_what_is_not_committed_waits_and_comes_in_order(
    memory: Memory, query: Query, database_url: str
) -> None:
    with psycopg.connect(database_url) as slow:
        slow.execute("SELECT set_config('recall.tenant', 'acme', false)")
        slow.execute("SELECT recall.remember('The slow one', p_key => 'slow')")
        memory.remember("The fast one", key="fast")
        assert memory.history.changes() == ()  # what began later waits for what began before
        slow.commit()
    assert changes_since(memory, query) == [("new", "slow"), ("new", "fast")]


def test_a_rolled_back_change_is_none(memory: Memory, query: Query, database_url: str) -> None:
    with psycopg.connect(database_url) as undone:
        undone.execute("SELECT set_config('recall.tenant', 'acme', false)")
        undone.execute("SELECT recall.remember('Never was', p_key => 'never')")
        undone.rollback()
    memory.remember("Is there", key="there")
    assert changes_since(memory, query) == [("new", "there")]


def test_rising_and_fading_as_the_job_sees_it(memory: Memory, query: Query) -> None:
    memory.remember_many([Draft("The harbour", key="a")], now=NOW)
    memory.jobs.run("vitality", now=NOW)
    settle(query)
    cursor = memory.history.cursor()
    memory.jobs.run("vitality", now=NOW + DAY / 24)
    memory.jobs.run("vitality", now=NOW + 4000 * DAY)
    for _ in range(10):
        memory.record_access("a", "used", at=NOW + 4000 * DAY, now=NOW + 4000 * DAY, idempotency_key=str(_))
    memory.pin("a")
    memory.jobs.run("vitality", now=NOW + 4000 * DAY)
    settle(query)
    [faded, risen] = memory.history.changes(cursor)
    assert (faded.kind, risen.kind, faded.id) == ("faded", "risen", risen.id)
    order = ["active", "stale", "fading", "dormant"]
    assert order.index(str(risen.zone)) < order.index(str(faded.zone))
    memory.forget("a")
    memory.jobs.run("vitality", now=NOW + 8000 * DAY)  # of the archived nothing is told
    assert [kind for kind, _ in changes_since(memory, query, risen.cursor)] == ["archived"]


def test_old_changes_are_deleted_and_late_readers_refused(memory: Memory, query: Query) -> None:
    memory.remember_many([Draft("One", key="a")], now=NOW)
    settle(query)
    start = memory.history.changes()[-1].cursor
    memory.remember_many([Draft("Two", key="b")], now=NOW + DAY)
    memory.remember_many([Draft("Three", key="c")], now=NOW + 80 * DAY)
    settle(query)
    behind = memory.history.changes()[1].cursor
    ran = memory.jobs.run("expire", now=NOW + 100 * DAY)
    assert ran[0].counts["changes"] == 2
    assert [change.key for change in memory.history.changes()] == ["c"]
    assert [change.key for change in memory.history.changes(behind)] == ["c"]
    with pytest.raises(InvalidInput, match="not kept any more"):
        memory.history.changes(start)
    memory.jobs.run("expire", now=NOW + 1000 * DAY)
    with pytest.raises(InvalidInput, match="not kept any more"):
        memory.history.changes(behind)
    assert query("SELECT kind FROM recall.memory_change") == [{"kind": "expired"}]


@pytest.mark.parametrize(
    "cursor",
    ["", "1", "1-2", "a-b-c", "1-2-3-4", "99999999999-1-1", "1-99999999999999999999-1", "1-2-3 ", "-1-2-3"],
)
def test_what_is_no_cursor_is_refused(memory: Memory, cursor: str) -> None:
    with pytest.raises(InvalidInput, match="is not a cursor of changes"):
        memory.history.changes(cursor)


def test_a_cursor_of_another_database_is_refused(memory: Memory) -> None:
    for cursor in ("999-1-1", "1-999999999999999-1"):
        with pytest.raises(InvalidInput, match="lies ahead"):
            memory.history.changes(cursor)
    with pytest.raises(InvalidInput, match="no kind of change"):
        memory.history.changes(kinds=("melted",))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="p_limit is 0"):
        memory.history.changes(limit=0)


def test_a_restored_dump_goes_on_in_a_new_era(memory: Memory, query: Query) -> None:
    """On another server the numbers of transactions begin anew, here below those that the dump brought."""
    memory.remember("Before", key="before")
    query("UPDATE recall.memory_change SET xid = xid + 1000000000")
    elsewhere = '{"server": "12345 00000001"}'
    query("UPDATE recall.setting SET value = value || %s::jsonb WHERE name = 'changes.era'", (elsewhere,))
    [before] = memory.history.changes()  # nothing of that server is under way here
    assert (before.key, memory.history.changes(before.cursor)) == ("before", ())
    cursor = memory.history.cursor()
    memory.remember("After", key="after")
    settle(query)
    assert [change.key for change in memory.history.changes(before.cursor)] == ["after"]
    assert [change.key for change in memory.history.changes(cursor)] == ["after"]
    assert [change.key for change in memory.history.changes()] == ["before", "after"]


def test_who_writes_first_after_a_failover_makes_no_other_tenant_wait(
    memory: Memory, query: Query, database_url: str
) -> None:
    elsewhere = '{"server": "12345 00000001"}'
    query("UPDATE recall.setting SET value = value || %s::jsonb WHERE name = 'changes.era'", (elsewhere,))
    with psycopg.connect(database_url) as one, psycopg.connect(database_url) as another:
        for connection, tenant in ((one, "other"), (another, "acme")):
            connection.execute("SELECT set_config('recall.tenant', %s, true)", (tenant,))
            connection.execute("SET LOCAL lock_timeout = '1s'")
            connection.execute("SELECT recall.remember('Another note', p_key => 'own')")
        another.commit()
    settle(query)
    assert [change.key for change in memory.history.changes()] == ["own"]
    assert [check.name for check in memory.maintenance.verify() if check.problems] == []


def test_an_import_is_new(memory: Memory, query: Query, tmp_path) -> None:  # type: ignore[no-untyped-def]
    memory.remember("The harbour", key="a")
    memory.export.write(tmp_path / "all.jsonl")
    other = memory.for_tenant("other")
    other.export.read(tmp_path / "all.jsonl")
    assert changes_since(other, query) == [("new", "a")]


def test_tenants_see_their_own(memory: Memory, query: Query) -> None:
    memory.remember("The harbour", key="a")
    settle(query)
    assert memory.for_tenant("other").history.changes() == ()
