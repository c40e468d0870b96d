"""Similarity counts by how far it exceeds what the tenant's memories have, and the memory with any query."""

from __future__ import annotations

import json
import uuid

import pytest

from tests.databases import Query
from tests.integration.search.search_tools import Rows, count_words, keys, remember, search, vector

QUESTION = vector((0, 1.0))


@pytest.fixture
def tenant() -> str:
    return uuid.uuid4().hex


def similar_memories(query: Query, tenant: str, count: int, share: float = 0.6) -> None:
    """Memories whose vectors have this cosine with the question, and one that is nearer."""
    for number in range(count - 1):
        remember(
            query, f"note {number}", key=f"note {number}", tenant=tenant,
            embedding=vector((0, share), (1 + number % 9, 0.5)),
        )  # fmt: skip
    remember(query, "the answer", key="answer", tenant=tenant, embedding=vector((0, 0.9)))


def asked(query: Query, tenant: str) -> Rows:
    return search(query, "zebra", tenant=tenant, k=50, embedding=QUESTION)


def test_a_similarity_that_all_have_counts_for_little(query: Query, tenant: str) -> None:
    similar_memories(query, tenant, 30)
    before = asked(query, tenant)
    count_words(query, tenant)
    after = asked(query, tenant)

    assert keys(after)[0] == keys(before)[0] == "answer"
    was_of = {row["key"]: row for row in before}
    typical = (29 * 0.6 + 0.9) / 30 - 0.15
    for new in after:
        old = was_of[new["key"]]
        was, now = old["explanation"]["relevance"], new["explanation"]["relevance"]
        assert "typical" not in old["explanation"]["arms"]["semantic"]
        arm = new["explanation"]["arms"]["semantic"]
        assert arm["typical"] == pytest.approx(typical, abs=2e-3)
        assert now["features"]["similarity"] == pytest.approx(arm["similarity"] - arm["typical"])
        coefficient = was["similarity"] / was["features"]["similarity"]
        nearer = old["explanation"]["arms"]["semantic"]["similarity"] - arm["similarity"]
        assert now["logit"] - was["logit"] == pytest.approx(-coefficient * (arm["typical"] + nearer))
        terms = [now[name] for name in now["features"]]
        assert now["logit"] == pytest.approx(now["intercept"] + sum(terms))


def test_a_memory_near_every_query_goes_behind_one_near_this_query(query: Query, tenant: str) -> None:
    """Memories and the query share a direction; of two near memories, one has nothing else."""
    for number in range(30):
        remember(
            query, f"talk {number}", key=f"talk {number}", tenant=tenant,
            embedding=vector((0, 0.6), (10 + number, 0.8)),
        )  # fmt: skip
    remember(query, "remark", key="remark", tenant=tenant, embedding=vector((0, 0.9), (3, 0.436)))
    remember(query, "apt", key="apt", tenant=tenant, embedding=vector((1, 0.88), (4, 0.475)))

    def order() -> Rows:
        found = search(query, "zebra", tenant=tenant, k=50, embedding=vector((0, 0.7), (1, 0.714)))
        return [row for row in found if row["key"] in ("remark", "apt")]

    assert keys(order()) == ["remark", "apt"]
    count_words(query, tenant)
    after = order()
    assert keys(after) == ["apt", "remark"]
    similarity = {row["key"]: row["explanation"]["arms"]["semantic"]["similarity"] for row in after}
    # The mean is about 0.6 in the common direction: q.d - 0.6 (m.d - m.m), see centered_query.
    mean = (30 * 0.6 + 0.9) / 32
    common = mean**2 + (0.88 / 32) ** 2 + 30 * (0.8 / 32) ** 2 + (0.436 / 32) ** 2 + (0.475 / 32) ** 2
    near = mean * 0.9 + 0.436**2 / 32
    assert similarity["remark"] == pytest.approx(0.7 * 0.9 - 0.6 * (near - common), abs=3e-3)


@pytest.mark.parametrize(("count", "share"), [(19, 0.6), (30, 0.1)])
def test_of_few_memories_or_different_ones_nothing_is_taken_off(
    query: Query, tenant: str, count: int, share: float
) -> None:
    similar_memories(query, tenant, count, share)
    count_words(query, tenant)
    assert all("typical" not in row["explanation"]["arms"]["semantic"] for row in asked(query, tenant))


def test_other_tenants_and_other_embedders_do_not_count(query: Query, sql: Query, tenant: str) -> None:
    similar_memories(query, tenant, 30)
    count_words(query, tenant)
    other = uuid.uuid4().hex
    similar_memories(query, other, 19)
    count_words(query, other)
    assert all("typical" not in row["explanation"]["arms"]["semantic"] for row in asked(query, other))

    sql("UPDATE recall.lexeme SET mean_embedder = 'another' WHERE mean_embedder IS NOT NULL")
    assert all("typical" not in row["explanation"]["arms"]["semantic"] for row in asked(query, tenant))


def test_what_is_deleted_leaves_the_mean(query: Query, sql: Query, tenant: str) -> None:
    def held() -> bool:
        found = sql("SELECT mean_embedder FROM recall.lexeme WHERE tenant = %s AND word = ''", (tenant,))
        return found[0]["mean_embedder"] is not None

    similar_memories(query, tenant, 30)
    count_words(query, tenant)
    assert held()
    deleted = remember(query, "forget me", tenant=tenant, embedding=vector((0, 0.7)))
    query("SELECT recall.forget(%s, p_hard => true)", (deleted,), tenant=tenant)
    assert not held()
    count_words(query, tenant)
    assert held()


def test_a_miss_has_the_similarity_that_a_search_would_have(query: Query, tenant: str) -> None:
    similar_memories(query, tenant, 30)
    count_words(query, tenant)
    [found] = [row for row in asked(query, tenant) if row["key"] == "note 3"]
    [row] = query(
        "SELECT recall.explain_miss(%s, %s, %s) AS why",
        (found["id"], json.dumps({"query": "zebra", "weights": {"semantic": 0}}), QUESTION), tenant=tenant,
    )  # fmt: skip

    assert row["why"]["outcome"] == "not_found"
    searched = found["explanation"]["arms"]["semantic"]["similarity"]
    assert row["why"]["arms"]["semantic"]["similarity"] == pytest.approx(searched, abs=1e-3)
