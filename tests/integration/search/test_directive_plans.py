"""What a search reads of a tenant with 6,000 directives: the newest of them, by their index, and no more."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.conftest import DIMENSIONS, NOW
from tests.integration.search.test_search_plans import (
    PAGE_COSTS,
    Corpus,
    Plans,
    clone,
    indexes,
    touched,
)

__all__ = ["clone"]


MANY, FEW = 6_000, 300
MOST_SEEN = 1_000
"""The newest directives of a tenant, among which a filter chooses."""
READ = 200
"""The directives that the arm reads: the newest that pass the filter."""

# Every third one is a preference; one project in 300, and one tag that no directive has.
RULES = f"""
WITH made AS MATERIALIZED (
    SELECT n, (SELECT array_agg(sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()))
               FROM generate_series(1, {DIMENSIONS}) WHERE n = n)::halfvec({DIMENSIONS}) AS embedding
    FROM generate_series(1, %(size)s::int) n
), stored AS (
    INSERT INTO recall.memory (tenant, key, layer, body, role, speech_act, metadata, embedded_with,
                               occurred_at, created_at)
    SELECT %(tenant)s, 'rule' || n, 'episode',
           'always give w' || n %% 900 || ' when I ask about w' || n %% 700, 'user',
           CASE WHEN n %% 3 = 0 THEN 'preference' ELSE 'instruction' END,
           jsonb_build_object('project', 'p' || n %% 300), 'random',
           %(now)s - make_interval(mins => n), %(now)s - make_interval(mins => n)
    FROM made ORDER BY n
    RETURNING tenant, key, id, created_at
), pointed AS (
    INSERT INTO recall.vector_shared (tenant, memory_id, embedding)
    SELECT s.tenant, s.id, l2_normalize(m.embedding) FROM stored s JOIN made m ON s.key = 'rule' || m.n
)
INSERT INTO recall.activation (tenant, memory_id, n, first_at, t1, folded_until, decay, clock)
SELECT tenant, id, 1, recall_private.epoch(created_at), recall_private.epoch(created_at), created_at,
0.5, 1 FROM stored
"""
ARM = """
SELECT unnest(recall_private.directive_arm(%(tenant)s, %(embedding)s::halfvec,
recall_private.checked_filter(
    %(tenant)s, recall_private.read_filter(%(filter)s), %(now)s))) AS id
"""


@pytest.fixture(scope="module")
def filled(clone: Callable[[], Corpus]) -> Corpus:
    """Tenant ``rules`` with 6,000 directives, and ``calm`` with 300 memories and 300 directives."""
    made = clone()
    made.fill("calm", 1, FEW)
    for tenant, size in (("rules", MANY), ("calm", FEW)):
        made.run("SELECT setseed(0.4)", tenant=tenant)
        made.run(RULES, {"tenant": tenant, "size": size, "now": NOW}, tenant=tenant)
    made.fill("rules", 1, FEW)  # counts words, moves vectors, and vacuums
    return made


@pytest.fixture(scope="module", params=list(PAGE_COSTS.values()), ids=list(PAGE_COSTS))
def corpus(filled: Corpus, request: pytest.FixtureRequest) -> Iterator[Corpus]:
    opened = Corpus(filled.url, random_page_cost=request.param)
    # As every function has it that calls the arm.
    opened.run("SET plan_cache_mode = force_generic_plan", tenant="calm")
    yield opened
    opened.close()


def request_of(corpus: Corpus, number: int) -> dict[str, Any]:
    """A question that wants something done, so that directives apply to it."""
    made = corpus.question(number)
    return {**made, "words": f"can you suggest {made['words']}"}


def arm(corpus: Corpus, tenant: str, chosen: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    embedding = request_of(corpus, 1)["embedding"]
    return ARM, {"tenant": tenant, "embedding": embedding, "filter": json.dumps(chosen), "now": NOW}


@pytest.mark.parametrize("tenant", ["rules", "calm"])
def test_the_newest_directives_are_read_by_their_index(corpus: Corpus, tenant: str) -> None:
    sql, values = arm(corpus, tenant, {})
    found = corpus.plans(sql, values, tenant=tenant)
    assert "memory_directives_idx" in indexes(found)
    assert [node.text for node in found if node.type == "Seq Scan" and node.relation == "memory"] == []
    assert touched(found, "memory") <= READ
    assert 1 <= sum(node.touched for node in found if "vector" in (node.relation or "")) <= 3 * READ


def test_the_nearest_of_the_newest_are_found(corpus: Corpus) -> None:
    sql, values = arm(corpus, "rules", {})
    ids = [row["id"] for row in corpus.run(sql, values, tenant="rules")]
    rows = corpus.run(
        "SELECT m.id FROM (SELECT * FROM recall.memory m WHERE m.tenant = 'rules' AND m.speech_act IN "
        "('instruction', 'preference') ORDER BY m.happened_at DESC, m.id LIMIT 200) m "
        "JOIN recall_private.stored_vectors('rules', NULL) v ON v.id = m.id "
        "ORDER BY v.embedding <=> %(embedding)s::halfvec, m.id LIMIT 20",
        values,
        tenant="rules",
    )
    assert ids == [row["id"] for row in rows]


@pytest.mark.parametrize("chosen", [{"tags": ["no such tag"]}, {"metadata": {"project": "p7"}}])
def test_a_filter_that_leaves_few_reads_no_more(corpus: Corpus, chosen: dict[str, Any]) -> None:
    sql, values = arm(corpus, "rules", chosen)
    found = corpus.plans(sql, values, tenant="rules")
    assert touched(found, "memory") <= MOST_SEEN


def test_a_request_in_a_tenant_of_rules_reads_as_much_as_in_a_small_one(corpus: Corpus) -> None:
    """Each arm is bounded; the words of the rules are common, so these read the newest of them."""
    found: Plans = corpus.search_plans("rules", request_of(corpus, 2))
    scanned = [n for n in found if n.type == "Seq Scan" and n.relation in ("memory", "activation", "access")]
    assert [node.text for node in scanned] == []
    assert touched(found, "memory") <= 4_000
    assert touched(found, "activation") <= 250


def test_rules_of_a_neighbour_are_not_read(corpus: Corpus) -> None:
    found = corpus.search_plans("calm", request_of(corpus, 3))
    assert touched(found, "memory") <= 8 * FEW, "and its neighbours have 6,000"


def test_rules_do_not_push_everything_else_out(corpus: Corpus) -> None:
    """Four are lifted; the others share nothing with the question, which 300 memories hold."""
    hits = corpus.search("rules", {**request_of(corpus, 4), "words": "can you find everywhere"}, k=12)
    rules = [hit["key"].startswith("rule") for hit in hits]
    assert len(rules) == 12
    assert sum(rules) <= 4
