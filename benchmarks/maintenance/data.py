"""The data for maintenance: memories with texts, links, and a log consistent with their summaries."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import psycopg

Links = list[tuple[int, int]]

TENANT = "bench"
DAYS = 365
"""The age of the oldest memories and accesses; the log has a partition for each month."""
LINKS_EACH = 3
"""Links for each memory."""
STILL_DAYS = 10
"""The last days without accesses, kept for the searches of the fold measurement."""

_MEMORIES = """
INSERT INTO recall.memory (tenant, id, layer, title, body, created_at, updated_at) OVERRIDING SYSTEM VALUE
SELECT %(tenant)s, g,
       CASE WHEN g %% 20 = 0 THEN 'entity' WHEN g %% 20 < 10 THEN 'knowledge'
            WHEN g %% 20 < 17 THEN 'episodic' ELSE 'activity' END,
       CASE WHEN g %% 20 = 0 THEN 'entity ' || g ELSE '' END,
       words.text, b.at, b.at
FROM generate_series(1, %(memories)s) g
CROSS JOIN LATERAL (SELECT %(since)s + (%(until)s - %(since)s) * random() * sign(g) AS at) b
CROSS JOIN LATERAL (
    SELECT string_agg('w' || floor(4000 * power(random(), 3) * sign(g + place))::int, ' ') AS text
    FROM generate_series(1, 12) place) words
"""

_LINKS = """
INSERT INTO recall.link (tenant, src, dst, relation, created_at)
SELECT %(tenant)s, src, dst, 'links_to', %(until)s - make_interval(days => (src %% 300)::int)
FROM wanted ORDER BY src, dst
"""

_LOG = """
INSERT INTO recall.access (tenant, memory_id, kind, weight, at, recorded_at)
SELECT m.tenant, m.id, 'write', l.birth_weight, m.created_at, m.created_at
FROM recall.memory m JOIN recall_private.effective_layers(%(tenant)s) l ON l.name = m.layer
WHERE m.tenant = %(tenant)s
UNION ALL
SELECT m.tenant, m.id, 'read', 1, e.at, e.at
FROM recall.memory m
CROSS JOIN LATERAL generate_series(2, least(200, sign(m.id) / (1 - random()))::int) reads
CROSS JOIN LATERAL (SELECT m.created_at + (%(until)s - m.created_at) * random() * sign(reads) AS at) e
WHERE m.tenant = %(tenant)s
ORDER BY 5
"""

_ACTIVATIONS = """
INSERT INTO recall.activation (
    tenant, memory_id, n, first_at, t1, t2, t3, t4, t5, t6, t7, t8, folded_until, decay, clock,
    in_degree, last_linked_at)
SELECT m.tenant, m.id, s.n, s.t[s.n], s.t[1], s.t[2], s.t[3], s.t[4], s.t[5], s.t[6], s.t[7], s.t[8],
       s.folded_until, l.decay, l.clock, coalesce(k.links, 0), k.newest
FROM recall.memory m
JOIN recall_private.effective_layers(%(tenant)s) l ON l.name = m.layer
JOIN (
    SELECT e.memory_id, count(*) AS n, max(e.at) AS folded_until,
           array_agg(recall_private.epoch(e.at) ORDER BY e.at DESC) AS t
    FROM recall.access e CROSS JOIN LATERAL generate_series(1, e.weight::int)
    WHERE e.tenant = %(tenant)s GROUP BY e.memory_id
) s ON s.memory_id = m.id
LEFT JOIN (
    SELECT dst, count(DISTINCT src) AS links, recall_private.epoch(max(created_at)) AS newest
    FROM recall.link WHERE tenant = %(tenant)s GROUP BY dst
) k ON k.dst = m.id
WHERE m.tenant = %(tenant)s
"""

_SEARCHES = """
WITH hit AS (
    SELECT DISTINCT s AS search, %(since)s + (%(until)s - %(since)s) * s / %(searches)s AS at,
           ceil(%(memories)s * power(1 - random(), 3) * sign(s + place))::bigint AS memory_id
    FROM generate_series(1, %(searches)s) s CROSS JOIN generate_series(1, 10) place
), logged AS (
    INSERT INTO recall.access (tenant, memory_id, kind, weight, at, session_id, recorded_at)
    SELECT %(tenant)s, h.memory_id, 'retrieval', 0.1, h.at,
           CASE WHEN h.search %% 2 = 0 THEN 'session ' || h.search / 20 END, h.at
    FROM hit h ORDER BY h.search, h.memory_id
)
INSERT INTO recall.access_queue (tenant, memory_ids, at)
SELECT %(tenant)s, array_agg(h.memory_id), h.at FROM hit h GROUP BY h.search, h.at ORDER BY h.search
"""


@dataclass(frozen=True, slots=True)
class Bench:
    """A filled database, an autocommitting connection of the tenant, and the time it was filled."""

    url: str
    connection: psycopg.Connection[Any]
    memories: int
    now: datetime

    def run(self, sql: str, **parameters: object) -> None:
        self.connection.execute(sql, parameters)

    def value(self, sql: str, **parameters: object) -> Any:
        """The first column of the first row."""
        row = self.connection.execute(sql, parameters).fetchone()
        return row[0] if row else None

    def settle(self, *tables: str) -> None:
        """Vacuums and checkpoints, so that the next measurement does not pay for it."""
        for table in tables:
            self.run(f"VACUUM (ANALYZE) recall.{table}")
        self.run("CHECKPOINT")


def build(url: str, memories: int) -> Bench:
    """Fills an initialised database.

    The number of accesses is random: half as many memories have 2n as n. Links prefer linked memories. There
    are no vectors: maintenance reads none, and their index would take longest to build.
    """
    connection = psycopg.connect(url, autocommit=True)
    row = connection.execute("SELECT now()").fetchone()
    assert row is not None
    bench = Bench(url, connection, memories, row[0])
    span = {"since": bench.now - timedelta(DAYS), "until": bench.now - timedelta(STILL_DAYS)}
    bench.run("SELECT set_config('recall.tenant', %(tenant)s, false), setseed(0.5)", tenant=TENANT)
    bench.run("SELECT recall.make_access_partitions(%(since)s, 15)", since=span["since"])
    bench.run(_MEMORIES, tenant=TENANT, memories=memories, **span)
    bench.run("SELECT setval(pg_get_serial_sequence('recall.memory', 'id'), %(memories)s)", memories=memories)
    bench.settle("memory")  # without statistics the planner would join this table as if it were empty
    fill_use(bench, TENANT, 1, memories)
    bench.settle("memory", "access", "activation", "link")
    return bench


def fill_use(bench: Bench, tenant: str, first: int, memories: int) -> None:
    """Links, a log, and consistent summaries, for so many ids of a tenant from ``first``."""
    fill_log(bench, tenant, first, memories)
    bench.settle("access")
    fill_summaries(bench, tenant)


def fill_log(bench: Bench, tenant: str, first: int, memories: int) -> None:
    """Links and a log, for so many ids of a tenant from ``first``."""
    until = bench.now - timedelta(STILL_DAYS)
    links = distinct_links(memories, LINKS_EACH * memories)
    _copy_links(bench, tenant, [(first - 1 + source, first - 1 + target) for source, target in links], until)
    bench.run(_LOG, tenant=tenant, until=until)


def fill_summaries(bench: Bench, tenant: str) -> None:
    """The summaries of the links and the log of a tenant."""
    bench.run(_ACTIVATIONS, tenant=tenant)


def preferential_links(nodes: int, links: int, seed: int = 1) -> Links:
    """Each link goes from a random node to an earlier one, nine times in ten in proportion to degree."""
    rng = random.Random(seed)
    ends = [0]
    made = []
    for source in sorted(rng.randrange(1, nodes) for _ in range(links)):
        target = rng.choice(ends) if rng.random() < 0.9 else rng.randrange(source)
        if target == source:
            target = rng.randrange(source)
        made.append((source, target))
        ends += (source, target)
    rng.shuffle(made)
    return made


def distinct_links(memories: int, links: int) -> Links:
    """About so many different links; fewer if the graph is too small."""
    made = preferential_links(memories, links + links // 4)
    return list(dict.fromkeys((source + 1, target + 1) for source, target in made))[:links]


def _copy_links(bench: Bench, tenant: str, links: Links, until: datetime) -> None:
    bench.run("CREATE TEMP TABLE wanted (src bigint, dst bigint)")
    with bench.connection.cursor().copy("COPY wanted FROM STDIN") as copy:
        for link in links:
            copy.write_row(link)
    bench.run(_LINKS, tenant=tenant, until=until)
    bench.run("DROP TABLE wanted")


def log_searches(bench: Bench, searches: int, part: int, parts: int) -> datetime:
    """Logs searches with ten hits each, like search_and_log, in the quiet days; returns the first time.

    An eighth of the memories gets half of the hits. Half of the searches have a session.
    """
    step = timedelta(STILL_DAYS) / parts
    since = bench.now - timedelta(STILL_DAYS) + part * step
    bench.run(
        _SEARCHES, tenant=TENANT, memories=bench.memories, searches=searches, since=since, until=since + step
    )
    bench.settle("access", "access_queue", "activation")
    return since
