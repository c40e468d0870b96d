"""Sixteen clients at once, in threads and processes, who do everything there is to the same few memories.

At the end every summary is what the pure mathematics makes of the acknowledged operations, each there once.
"""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from tests.concurrency.client import BIRTH, GROUP, MEMORIES, REPLACED, Told, run
from tests.concurrency.crowd import connected, deadlocks, in_processes
from tests.conftest import NOW
from tests.databases import Query
from tests.integration.access.use_tools import KIND_WEIGHTS, states, summary_of
from tests.model.access_log import LoggedAccess, fold
from tests.scale import SCALE, tell

THREADS, PROCESSES = 13, 3
SECONDS = 4.0


def remembered(query: Query, drafts: list[dict[str, str]]) -> list[int]:
    rows = query("SELECT id FROM recall.remember_many(%s::jsonb, p_now => %s)", (json.dumps(drafts), BIRTH))
    return [row["id"] for row in rows]


def world(query: Query) -> list[int]:
    """What all clients work on; the ids of the memories that are used and changed."""
    query("SELECT recall.set_layer('group', 3, p_now => %s)", (BIRTH,))
    query("SELECT recall.set_setting('prune.grace_days', 0)")
    layers = ["knowledge", "activity", "episodic"]
    # Ids in another order than keys: rows are locked in both orders.
    places = [(7 * place) % MEMORIES for place in range(MEMORIES)]
    drafts = [{"key": f"n{place}", "body": f"note {place}", "layer": layers[place % 3]} for place in places]
    ids = dict(zip(places, remembered(query, drafts), strict=True))
    remembered(query, [{"body": f"version{place}"} for place in range(REPLACED)])
    remembered(query, [{"body": "grouped", "layer": "group"} for _ in range(GROUP)])
    return [ids[place] for place in range(MEMORIES)]


def work(url: str, memories: list[int], seconds: float) -> list[Told]:
    numbers = range(THREADS + PROCESSES)
    with ThreadPoolExecutor(THREADS + 1) as threads:
        apart = [(url, number, memories, seconds) for number in numbers[THREADS:]]
        elsewhere = threads.submit(in_processes, run, apart)
        here = [threads.submit(run, url, number, memories, seconds) for number in numbers[:THREADS]]
        return [done.result() for done in here] + elsewhere.result()


@pytest.mark.timeout(600 * SCALE)
def test_sixteen_clients_lose_nothing_and_never_see_half(database_url: str, query: Query) -> None:
    memories = world(query)
    told = work(database_url, memories, SECONDS * SCALE)
    with connected(database_url) as connection:
        assert (deadlocks(connection), sum(one.deadlocks for one in told)) == (0, 0)
    assert [half for one in told for half in one.halves] == []
    keys_count_once(told)
    links_are_new_once(query, told)
    nothing_is_lost(query, memories, told)
    assert query("SELECT recall.rebuild() AS changed") == [{"changed": 0}]
    [row] = query("SELECT recall.verify(%s) AS found", (NOW + timedelta(days=1),))
    assert [check for check in row["found"]["checks"] if check["problems"]] == []
    counts = sum((Counter(one.counts) for one in told), Counter())
    assert min(counts.values()) > 0
    tell(
        f"{len(told)} clients for {SECONDS * SCALE:g} s: {sum(counts.values())} operations, "
        f"no deadlock: {counts}"
    )


def keys_count_once(told: list[Told]) -> None:
    """Of all who told a use with the same key, one was told that it is new."""
    new: Counter[str] = Counter()
    for one in told:
        for key, fresh in one.keys:
            new[key] += fresh
    assert set(new.values()) == {1}


def links_are_new_once(query: Query, told: list[Told]) -> None:
    made = Counter((one, two, relation) for each in told for one, two, relation, new in each.links if new)
    assert set(made.values()) <= {1}
    stored = {(row["src"], row["dst"], row["relation"]) for row in query("SELECT * FROM recall.link")}
    assert set(made) <= stored


def nothing_is_lost(query: Query, memories: list[int], told: list[Told]) -> None:
    """The log is what was acknowledged, the summaries are what it comes to, the texts are somebody's."""
    while query("SELECT recall.fold_accesses() AS folded")[0]["folded"]:
        pass
    query("SELECT recall.resolve_pending_links()")
    acknowledged = Counter(access for one in told for access in one.accesses if access[0] in set(memories))
    logged = Counter(
        (row["memory_id"], row["kind"], row["at"], row["session_id"])
        for row in query(
            "SELECT * FROM recall.access WHERE memory_id = ANY (%s) AND at <> %s", (memories, BIRTH)
        )
    )
    assert logged == acknowledged
    rows = states(query)
    for memory in memories:
        births = [LoggedAccess(BIRTH.timestamp(), 1.0, "write")]
        uses = [LoggedAccess(at.timestamp(), KIND_WEIGHTS[kind], kind, session)
                for one, kind, at, session in acknowledged.elements() if one == memory]  # fmt: skip
        assert summary_of(rows[memory]) == fold(births + uses).summary, memory
    texts = {row["id"]: row["body"] for row in query("SELECT id, body FROM recall.memory")}
    for memory in memories:
        written = [body for one in told for body in one.bodies.get(memory, ())]
        assert texts[memory] in written or not written
