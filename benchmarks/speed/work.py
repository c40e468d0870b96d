"""The work of a search in rows and blocks, which other load does not change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import mean, median

from benchmarks.harness import KNOWN, Row
from benchmarks.speed.search import NEAREST, SEARCH, Connect, Values, act_for, home_of, values_of
from benchmarks.speed.world import Question, Tenant

COUNTED = {
    "memory": "memories read",
    "activation": "vitalities computed",
    "link": "links read",
    "lexeme": "word counts read",
    "name": "names read",
}
"""Tables that a search reads, and the meaning of a row of each."""
ASKED, USED = 100, 300
_FETCHED = """
SELECT relname, coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables
WHERE schemaname = 'recall'
"""
_EXPLAIN = "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, SUMMARY, FORMAT JSON) "
_SPREAD = """
SELECT count(*) FROM recall_private.spread_targets(%(tenant)s, %(id)s, 1, now())
"""


def work(connection: Connect, asked: Sequence[Question], tenant: Tenant) -> Iterator[Row]:
    """The mean work of a search, compared with a scan of the vector index."""
    act_for(connection, tenant.name)
    some = values_of(asked[:ASKED], tenant)
    read = [_read(connection, value) for value in some]
    for table, told in COUNTED.items():
        yield _count(f"{told} by a search", mean(one[table] for one in read))
    bare = NEAREST.format(home_of(connection, tenant.name))
    searches, looks = ([_explained(connection, sql, value) for value in some] for sql in (SEARCH, bare))
    yield Row(
        "blocks touched by a search", "bare look into the vector index",
        mean(one["blocks"] for one in searches), mean(one["blocks"] for one in looks), "blocks", KNOWN,
    )  # fmt: skip
    yield Row(
        "planning the look into the vector index", "all of the look",
        median(one["planning"] for one in looks), median(one["all"] for one in looks), "ms", KNOWN,
    )  # fmt: skip
    ids = range(tenant.first, tenant.first + tenant.size, max(tenant.size // USED, 1))
    reached = [_number(connection, _SPREAD, {"tenant": tenant.name, "id": one}) for one in ids]
    yield _count("memories that a use spreads to, the mean", mean(reached))
    yield _count("memories that a use spreads to, the most", max(reached))


def _count(measure: str, number: float) -> Row:
    return Row(measure, "one", number, 1.0, "", KNOWN)


def _read(connection: Connect, value: Values) -> Counter[str]:
    """Rows fetched by one search, by table, including counts that are not reported yet."""
    with connection.transaction():
        before = Counter(dict(connection.execute(_FETCHED).fetchall()))
        connection.execute(SEARCH, value).fetchall()
        return Counter(dict(connection.execute(_FETCHED).fetchall())) - before


def _explained(connection: Connect, sql: str, value: Values) -> dict[str, float]:
    """Blocks of one statement with everything inside it; milliseconds of planning, and in total."""
    ((plans,),) = connection.execute(_EXPLAIN + sql, value).fetchall()
    node = plans[0]["Plan"]
    blocks = node["Shared Hit Blocks"] + node["Shared Read Blocks"]
    planning = plans[0]["Planning Time"]
    return {"blocks": blocks, "planning": planning, "all": planning + plans[0]["Execution Time"]}


def _number(connection: Connect, sql: str, value: Values) -> float:
    ((number,),) = connection.execute(sql, value).fetchall()
    return float(number)
