"""The cost of a search compared with the least that could answer it: one scan of the vector index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from typing import Any

import psycopg

from benchmarks.harness import Goal, Row, interleaved
from benchmarks.speed.world import NAMES, Question, Tenant, names_of

NEAREST = """
SELECT memory_id FROM recall.{} WHERE NOT archived ORDER BY embedding <=> %(vector)s::halfvec LIMIT 50
"""
_EXACT = """
SELECT memory_id FROM recall.{} WHERE tenant = %(tenant)s AND NOT archived
ORDER BY (embedding <=> %(vector)s::halfvec) + 0, memory_id LIMIT %(pool)s
"""
_ARM = """
SELECT unnest(ids) AS id FROM recall_private.semantic_arm(%(tenant)s, %(vector)s::halfvec, %(pool)s,
    recall_private.checked_filter(%(tenant)s, recall_private.read_filter('{}'), now()))
"""
SEARCH = (
    "SELECT id, score FROM recall.search(%(text)s, p_embedding => %(vector)s::halfvec, p_explain => false)"
)
_WORDS = "SELECT id, score FROM recall.search(%(text)s, p_explain => false)"
_MEANING = """
SELECT id, score FROM recall.search(%(text)s, p_embedding => %(vector)s::halfvec, p_explain => false,
    p_weights => '{"lexical": 0, "name": 0, "author": 0, "cue": 0, "graph": 0}')
"""
_UNNAMED = """
SELECT id, score FROM recall.search(%(text)s, p_embedding => %(vector)s::halfvec, p_explain => false,
    p_weights => '{"name": 0, "author": 0, "graph": 0}')
"""
_NAMED = """
SELECT id, score FROM recall.search(%(text)s, p_embedding => %(vector)s::halfvec, p_explain => false,
    p_weights => '{"graph": 0}')
"""
_COMMON = """
SELECT word FROM recall.lexeme WHERE tenant = %(tenant)s AND word ~ '^[a-z]{3,}$'
ORDER BY documents DESC, word LIMIT 10
"""
_RARE = """
SELECT word FROM recall.lexeme
WHERE tenant = %(tenant)s AND word ~ '^[a-z]{4,}$' AND documents BETWEEN 2 AND 20
ORDER BY md5(word) LIMIT 100
"""

_CACHED_SUM = """
CREATE FUNCTION recall.cached_sum(
    a recall.activation, w recall.weights, p_now double precision, p_revived double precision,
    p_min_age double precision)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN a.vitality / (1 - a.vitality)
"""

Values = dict[str, Any]
Connect = psycopg.Connection[Any]


def asking(connection: Connect, sql: str, given: Sequence[Values]) -> Callable[[], object]:
    """Asks the next question at each call, as a prepared statement."""
    turns = cycle(given)
    return lambda: connection.execute(sql, next(turns), prepare=True).fetchall()


def asking_apart(
    connection: Connect, asked: Sequence[tuple[str, Sequence[Values]]]
) -> list[Callable[[], object]]:
    """Statements that ask different questions in one round, since a repeated question would find warm
    processor caches. In as many rounds as there are questions, each statement asks all of them."""
    acts = []
    for place, (sql, given) in enumerate(asked):
        first = place * len(given) // len(asked)
        acts.append(asking(connection, sql, [*given[first:], *given[:first]]))
    return acts


def act_for(connection: Connect, tenant: str) -> None:
    connection.execute("SELECT set_config('recall.tenant', %s, false)", (tenant,))


def home_of(connection: Connect, tenant: str) -> str:
    """The table of the tenant's vectors."""
    (home,) = connection.execute("SELECT recall_private.vector_table(%s)", (tenant,)).fetchone() or ("",)
    return str(home)


def values_of(asked: Sequence[Question], tenant: Tenant) -> list[Values]:
    return [{"text": q.text, "vector": q.vector, "tenant": tenant.name, "size": tenant.size} for q in asked]


def arms(connection: Connect, asked: Sequence[Question], tenant: Tenant, calls: int) -> Iterator[Row]:
    """Each additional arm, compared with a bare scan of this tenant's vector index."""
    act_for(connection, tenant.name)
    effort = connection.execute("SELECT recall_private.hnsw_ef_search(%s)", (tenant.size,)).fetchone()
    (ef,) = effort or (100,)
    connection.execute(f"SET hnsw.ef_search = {ef}")
    plain = values_of(asked[:calls], tenant)
    known = names_of(tenant.first, NAMES)
    named = [
        value | {"text": f"{value['text']} {known[37 * place % len(known)]}"}
        for place, value in enumerate(plain)
    ]
    home = home_of(connection, tenant.name)
    bare, meaning, unnamed, names, whole = interleaved(
        asking_apart(
            connection,
            [
                (NEAREST.format(home), plain),
                (_MEANING, plain),
                (_UNNAMED, plain),
                (_NAMED, named),
                (SEARCH, named),
            ],
        ),
        calls,
    )
    against = f"bare HNSW LIMIT 50, ef {ef}"
    yield _row("semantic and vitality", against, meaning, bare, 1.25)
    yield _row("semantic, lexical and vitality", against, unnamed, bare, 2)
    yield _row(f"the same with names ({NAMES:,} of them)", against, names, bare, 3)
    yield _row("all arms, links and authors too", against, whole, bare, 3)


def _row(measure: str, against: str, measured: float, floor: float, goal: float) -> Row:
    return Row(measure, against, measured * 1e3, floor * 1e3, "ms", Goal(goal))


def words(connection: Connect, tenant: Tenant, calls: int) -> Iterator[Row]:
    """The most expensive lexical queries, compared with one rare word."""
    act_for(connection, tenant.name)
    rare = [{"text": word} for (word,) in connection.execute(_RARE, {"tenant": tenant.name}).fetchall()]
    often = [word for (word,) in connection.execute(_COMMON, {"tenant": tenant.name}).fetchall()]
    common = [{"text": " ".join(often[:count])} for count in (1, 3, 10)]
    ten = [
        {"text": f"{value['text']} that the object of this class returns for each argument"} for value in rare
    ]
    least, *taken = interleaved(
        [asking(connection, _WORDS, given) for given in (rare, *([one] for one in common), ten)], calls
    )
    yield _row("worst question of common words", "one rare word", max(taken[:-1]), least, 3)
    yield _row("a question of ten words", "one rare word", taken[-1], least, 3)


def recalls(connection: Connect, asked: Sequence[Question], holders: Sequence[Tenant]) -> Iterator[Row]:
    """How many of the nearest the semantic arm finds, for the largest tenant and for small ones: of the 32
    that a search for ten hits gathers, and of the 50 that one for more gathers."""
    for pool in (32, 50):
        yield _recall(connection, asked[:100], holders[0], pool, 0.95)
    for tenant in holders[1:]:
        if tenant.size < 4_000:
            yield _recall(connection, asked[:20], tenant, 50, 1.0)


def _recall(connection: Connect, asked: Sequence[Question], tenant: Tenant, pool: int, goal: float) -> Row:
    found = there = 0
    home = home_of(connection, tenant.name)
    for given in values_of(asked, tenant):
        given["pool"] = pool
        right, got = (
            {row[0] for row in connection.execute(sql, given)} for sql in (_EXACT.format(home), _ARM)
        )
        found, there = found + len(right & got), there + len(right)
    return Row(
        f"recall@{pool} of the semantic arm, {tenant.size:,} memories", "exact", found / there, 1.0, "",
        Goal(goal, least=True),
    )  # fmt: skip


def isolation(
    together: Connect, alone: Connect, asked: Sequence[Question], tenant: Tenant, calls: int
) -> Row:
    """A tenant among others, and alone in a database."""
    for connection in (together, alone):
        act_for(connection, tenant.name)
    given = values_of(asked, tenant)
    among, lonely = interleaved([asking(one, SEARCH, given) for one in (together, alone)], calls)
    return _row(
        f"search of a tenant of {tenant.size:,} beside larger ones",
        "alone in its database",
        among,
        lonely,
        1.5,
    )


def vitality(connection: Connect, asked: Sequence[Question], tenant: Tenant, calls: int) -> Row:
    """The search, and a variant that reads the cached vitality."""
    act_for(connection, tenant.name)
    connection.execute(_CACHED_SUM)
    for name, replaced in (
        ("recall_private.candidates", "recall_private.searched_activation"),
        ("recall.find", "recall_private.candidates"),
    ):
        (definition,) = connection.execute(f"SELECT pg_get_functiondef('{name}'::regproc)").fetchone() or (
            "",
        )
        assert f"{replaced}(" in definition
        cached = definition.replace(f"FUNCTION {name}(", f"FUNCTION {name}_cached(")
        by = "recall.cached_sum" if "activation" in replaced else f"{replaced}_cached"
        connection.execute(cached.replace(f"{replaced}(", f"{by}("))
        # With another role, every shared plan would be made again at each turn.
        connection.execute(f"ALTER FUNCTION {name}_cached OWNER TO recall_owner")
    connection.execute(
        "UPDATE recall.activation SET vitality = coalesce(vitality, 0.5), "
        "computed_at = coalesce(computed_at, now())"
    )
    connection.execute("VACUUM ANALYZE recall.activation")
    asks = (
        "SELECT id, score FROM recall.{}(jsonb_build_object('query', %(text)s::text, 'explain', false), "
        "%(vector)s::halfvec)"
    )
    given = values_of(asked[:calls], tenant)
    fresh, stored = interleaved(
        asking_apart(connection, [(asks.format(name), given) for name in ("find", "find_cached")]), calls
    )
    return _row("vitality at the time of reading", "a cached column, whole call", fresh, stored, 1.05)
