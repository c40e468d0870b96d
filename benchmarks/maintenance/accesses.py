"""The cost of use: recording an access, and a search that logs its hits."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any

import psycopg

from benchmarks.harness import Goal, Row, interleaved
from benchmarks.maintenance.data import STILL_DAYS, TENANT, Bench
from benchmarks.speed.search import Values, asking, asking_apart

HOT_READS = 5000
LINKS = 10
CLIENTS, TURNS = 8, 15
SESSION = 5
"""Accesses of one session; each is associated with those before it."""

_BARE_USE = """
WITH logged AS (
    INSERT INTO maintenance_access (tenant, id, memory_id, kind, weight, at, recorded_at)
    VALUES (%(tenant)s, nextval('recall.access_id_seq'), %(id)s, 'used', 1, now(), now())
)
UPDATE recall.activation SET n = n + 1, t1 = recall_private.epoch(now())
WHERE tenant = %(tenant)s AND memory_id = %(id)s
"""
_READ_OFTEN = """
INSERT INTO recall.access (tenant, memory_id, kind, weight, at, recorded_at)
SELECT %(tenant)s, %(id)s, 'read', 1, a.at, a.at
FROM generate_series(%(now)s - interval '5 days', %(now)s, interval '5 days' / %(reads)s) a(at)
"""
_LINK = """
INSERT INTO recall.link (tenant, src, dst, relation) SELECT %(tenant)s, i, %(id)s, 'links_to'
FROM generate_series(1, %(links)s) i
"""
_REQUEST = "jsonb_build_object('query', %(text)s::text, 'explain', false)"
BY_WORDS = f"SELECT * FROM recall.{{}}({_REQUEST})"
BY_MEANING_TOO = f"SELECT * FROM recall.{{}}({_REQUEST}, %(vector)s::halfvec)"
"""A search; the placeholder is the function."""
_SEARCHES = ("find", "search_and_log")


def accesses(bench: Bench, calls: int) -> Iterator[Row]:
    """One access to a memory, committed durably, compared with two writes of a minimal log."""
    bare, lonely, linked, hot, *together = (_remember(bench, name) for name in _names())
    bench.run(_LINK, tenant=TENANT, id=linked, links=LINKS)
    bench.run(_READ_OFTEN, tenant=TENANT, id=hot, now=bench.now, reads=HOT_READS)
    bench.run("SELECT recall.rebuild(ARRAY[%(linked)s, %(hot)s]::bigint[])", linked=linked, hot=hot)
    bench.run("CREATE TABLE maintenance_access (LIKE recall.access INCLUDING ALL)")
    turns = count()

    def in_session() -> None:
        turn = next(turns)
        _use(bench, together[turn % SESSION], f"session of uses {turn // SESSION}")

    medians = interleaved(
        [
            lambda: bench.run(_BARE_USE, tenant=TENANT, id=bare),
            partial(_use, bench, lonely),
            partial(_use, bench, linked),
            partial(_use, bench, hot),
            in_session,
        ],
        calls,
    )
    bench.run("DROP TABLE maintenance_access")
    bare_ms, lonely_ms, linked_ms, hot_ms, session_ms = (1e3 * median for median in medians)
    plain = "one use without"
    yield Row("one use", "bare INSERT and HOT UPDATE", lonely_ms, bare_ms, "ms", Goal(5))
    yield Row(f"one use with {LINKS} links", plain, linked_ms, lonely_ms, "ms", Goal(3))
    yield Row(f"one use after {HOT_READS:,} others", plain, hot_ms, lonely_ms, "ms", Goal(1.2))
    yield Row("one use in a session", plain, session_ms, lonely_ms, "ms", Goal(3))


def _names() -> tuple[str, ...]:
    return ("bare", "lonely", "linked", "hot", *(f"used together {number}" for number in range(SESSION)))


def _remember(bench: Bench, name: str) -> int:
    return int(
        bench.value(
            "SELECT recall.remember(%(name)s, p_occurred_at => %(at)s)",
            name=name,
            at=bench.now - timedelta(STILL_DAYS),
        )
    )


def _use(bench: Bench, memory: int, session: str | None = None) -> None:
    bench.run(
        "SELECT recall.record_access(%(id)s, 'used', p_session_id => %(session)s)", id=memory, session=session
    )


def some_questions() -> list[dict[str, str]]:
    """Queries of three words from the memories."""
    generator = random.Random(1)
    return [{"text": " ".join(f"w{generator.randrange(4000)}" for _ in range(3))} for _ in range(100)]


def searches(bench: Bench, calls: int, questions: Sequence[Values], sql: str = BY_WORDS) -> Iterator[Row]:
    """A search that logs its hits, committed as by the client, compared with one that does not."""
    bench.run(
        "SELECT set_config('recall.tenant', %(tenant)s, false), recall.refresh_lexemes()", tenant=TENANT
    )
    bench.settle("memory", "lexeme")
    bench.run("SET synchronous_commit = off")

    plain, logging = interleaved(
        asking_apart(bench.connection, [(sql.format(name), questions) for name in _SEARCHES]), calls
    )
    bench.run("RESET synchronous_commit")
    told = "search by words" if sql == BY_WORDS else "search"
    yield Row(f"{told} that logs its hits", "one that does not", logging * 1e3, plain * 1e3, "ms", Goal(1.05))
    with ExitStack() as stack:
        clients = [stack.enter_context(_client(bench)) for _ in range(CLIENTS)]
        pool = stack.enter_context(ThreadPoolExecutor(CLIENTS))
        each = max(1, calls // CLIENTS)

        def crowd(function: str) -> Callable[[], object]:
            asks = [asking(client, sql.format(function), questions) for client in clients]
            return lambda: list(pool.map(lambda ask: [ask() for _ in range(each)], asks))

        without, within = interleaved(list(map(crowd, _SEARCHES)), TURNS)
    asked = CLIENTS * each
    yield Row(
        f"the same, {CLIENTS} clients", "one that does not", asked / within, asked / without, "/s",
        Goal(0.95, least=True),
    )  # fmt: skip


def _client(bench: Bench) -> psycopg.Connection[Any]:
    client = psycopg.connect(bench.url, autocommit=True)
    client.execute("SELECT set_config('recall.tenant', %s, false)", (TENANT,))
    client.execute("SET synchronous_commit = off")
    return client
