"""Everything at once: accesses, links, folds, jobs and forgetting of the same memories lose nothing."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import psycopg

from tests.databases import Query
from tests.integration.access.use_tools import (
    BIRTH,
    Use,
    as_tenant,
    fold_all,
    fold_of_log,
    folded,
    item,
    notes,
    rebuild,
    states,
    waiting,
)
from tests.waiting import PATIENCE, blocked

NOW = BIRTH + timedelta(days=100)
Connection = psycopg.Connection[Any]
Job = Callable[[Connection, random.Random], None]
RECORD = "SELECT recall.record_accesses(%s::jsonb, %s)"


def at_once(url: str, jobs: list[Job], turns: int) -> None:
    """Runs each job ``turns`` times on a connection of its own, all of them at the same time."""
    barrier = threading.Barrier(len(jobs))

    def run(worker: int) -> None:
        chance = random.Random(worker)
        with as_tenant(url) as connection:
            connection.execute("SET deadlock_timeout = '100ms'")
            barrier.wait(timeout=PATIENCE)
            for _ in range(turns):
                jobs[worker](connection, chance)

    with ThreadPoolExecutor(len(jobs)) as threads:
        list(threads.map(run, range(len(jobs))))


def some_use(chance: random.Random) -> Use:
    kind = chance.choice(["read", "used", "reference", "retrieval", "write"])
    session = chance.choice([None, "s", "t", "u"])
    return Use(chance.randrange(0, 7_200) + chance.choice([0, 0, 86_400, 40 * 86_400]), kind, session)


def using(memories: list[int]) -> Job:
    """Records a batch of uses of several memories, in any order, in sessions that others are in too."""

    def job(connection: Connection, chance: random.Random) -> None:
        items = [item(memory, some_use(chance)) for memory in chance.sample(memories, 4)]
        connection.execute(RECORD, (json.dumps(items, default=str), NOW))

    return job


def showing(memories: list[int]) -> Job:
    """Logs for the fold to come, as a search does."""

    def job(connection: Connection, chance: random.Random) -> None:
        connection.execute(
            "WITH shown AS (INSERT INTO recall.access (tenant, memory_id, kind, weight, at, recorded_at) "
            "SELECT 'acme', u, 'retrieval', 0.1, %(at)s, %(now)s FROM unnest(%(ids)s::bigint[]) u) "
            "INSERT INTO recall.access_queue (tenant, memory_ids, at) VALUES ('acme', %(ids)s, %(at)s)",
            {"ids": chance.sample(memories, 5), "at": some_use(chance).at, "now": NOW},
        )

    return job


def folding(connection: Connection, chance: random.Random) -> None:
    connection.execute("SELECT recall.fold_accesses(%s)", (chance.randint(1, 5),))


def refreshing(connection: Connection, chance: random.Random) -> None:
    connection.execute("SELECT recall.refresh_vitality(0, %s, %s)", (chance.randint(1, 100), NOW))


def linking(memories: list[int]) -> Job:
    def job(connection: Connection, chance: random.Random) -> None:
        source, target = chance.sample(memories, 2)
        relation = chance.choice(["links_to", "mentions", "next"])
        connection.execute("SELECT recall.link(%s, %s, %s, p_now => %s)", (source, target, relation, NOW))

    return job


def protecting(memories: list[int]) -> Job:
    def job(connection: Connection, chance: random.Random) -> None:
        points = chance.sample(memories, 5)
        sizes = [chance.randint(1, 6) for _ in points]
        connection.execute("SELECT recall_private.store_cut_sizes(%s, %s, %s)", (points, sizes, NOW))

    return job


def coming_and_going(memories: list[int]) -> Job:
    """Stores a memory that refers to some, uses it beside them, and forgets it, softly or not."""

    def job(connection: Connection, chance: random.Random) -> None:
        links = [{"target": f"k{chance.randrange(len(memories))}"} for _ in range(3)]
        key = f"passing {chance.random()}"
        draft = json.dumps([{"key": key, "body": "b", "links": links}])
        [row] = connection.execute(
            "SELECT id FROM recall.remember_many(%s::jsonb, p_now => %s)", (draft, BIRTH)
        ).fetchall()
        items = [item(memory, some_use(chance)) for memory in (chance.choice(memories), row[0])]
        connection.execute(RECORD, (json.dumps(items, default=str), NOW))
        connection.execute("SELECT recall.forget(%s, %s, %s)", (row[0], chance.random() < 0.5, NOW))

    return job


def in_order(query: Query, memories: list[int]) -> None:
    """Every summary is what the log says, and nothing waits."""
    fold_all(query)
    rows = states(query)
    assert [folded(rows[memory]) for memory in memories] == [
        fold_of_log(query, memory) for memory in memories
    ]
    assert waiting(query) == 0
    before = {memory: folded(row) for memory, row in rows.items()}
    rebuild(query)
    assert {memory: folded(row) for memory, row in states(query).items()} == before


def test_sixteen_at_once_never_deadlock_and_lose_nothing(database_url: str, query: Query) -> None:
    memories = notes(query, 12)
    jobs = [using(memories)] * 6 + [showing(memories)] * 2 + [folding] * 2 + [linking(memories)] * 2
    jobs += [coming_and_going(memories)] * 2 + [refreshing, protecting(memories)]
    at_once(database_url, jobs, turns=25)
    in_order(query, memories)
    counted = query(
        "SELECT a.memory_id FROM recall.activation a WHERE a.in_degree <> ("
        "SELECT count(DISTINCT l.src) FROM recall.link l JOIN recall.memory m ON m.id = l.src "
        "WHERE l.dst = a.memory_id AND recall_private.is_reference(l.relation) AND m.archived_at IS NULL)"
    )
    assert counted == []


def test_uses_that_bring_back_what_a_plan_archived_never_deadlock(database_url: str, query: Query) -> None:
    memories = notes(query, 6)

    def pruning(connection: Connection, chance: random.Random) -> None:
        """As expiry does it: passes over what is locked, rather than wait with others in its hands."""
        connection.execute(
            "SELECT recall_private.archive_memories('acme', ARRAY(SELECT m.id FROM recall.memory m "
            "WHERE m.id = ANY (%s) FOR UPDATE SKIP LOCKED), 'pruned', 1, %s)",
            (chance.sample(memories, 3), NOW),
        )

    def rewriting(connection: Connection, chance: random.Random) -> None:
        """Several known ones and some new ones, in any order, linked with each other."""
        drafts = [
            {
                "key": f"k{place}",
                "body": f"{chance.random()}",
                "links": [{"target": f"k{chance.randrange(20)}"} for _ in range(2)],
            }
            for place in chance.sample(range(20), 5)
        ]
        connection.execute("SELECT recall.remember_many(%s::jsonb, p_now => %s)", (json.dumps(drafts), BIRTH))

    jobs: list[Job] = [using(memories)] * 4 + [pruning] * 2 + [rewriting] * 3 + [linking(memories)]
    at_once(database_url, jobs, turns=25)
    in_order(query, memories)
    open_archivals = (
        "SELECT m.id FROM recall.memory m LEFT JOIN recall.archival v "
        "ON v.memory_id = m.id AND v.restored_at IS NULL WHERE (m.archived_at IS NULL) <> (v.id IS NULL)"
    )
    assert query(open_archivals) == []


def test_a_link_from_what_is_brought_back_waits(database_url: str, query: Query) -> None:
    """Or its target would be recounted unlocked: by a use that spread to it, while it is archived."""
    returning, used, target = notes(query, 3)
    query("SELECT recall.link(%s, %s, 'links_to', p_now => %s)", (used, target, BIRTH))
    prune = "SELECT recall_private.archive_memories('acme', ARRAY[%s::bigint], 'pruned', 1, %s)"
    query(prune, (returning, NOW))
    items = [item(memory, Use(86_400 * 99, "used")) for memory in (returning, used)]
    with (
        as_tenant(database_url, autocommit=False) as holding,
        as_tenant(database_url) as recording,
        as_tenant(database_url) as linking,
        as_tenant(database_url, autocommit=False) as pruning,
        ThreadPoolExecutor(3) as threads,
    ):
        holding.execute("SELECT FROM recall.activation WHERE memory_id = %s FOR UPDATE", (returning,))
        recorded = threads.submit(recording.execute, RECORD, (json.dumps(items, default=str), NOW))
        blocked(holding)
        link = "SELECT recall.link(%s, %s, 'links_to', p_now => %s)"
        linked = threads.submit(linking.execute, link, (returning, target, NOW))
        blocked(holding, 2)
        pruning.execute("SELECT FROM recall.memory WHERE id = %s FOR UPDATE", (target,))
        holding.rollback()
        pruned = threads.submit(pruning.execute, prune, (target, NOW))
        pruned.result(PATIENCE)
        pruning.commit()
        recorded.result(PATIENCE)
        linked.result(PATIENCE)
    assert query("SELECT id FROM recall.memory WHERE archived_at IS NOT NULL") == [{"id": target}]
    in_order(query, [returning, used, target])
