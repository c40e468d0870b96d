"""Plans are read page by page, and what their differences cost does not grow with the number of memories."""

from __future__ import annotations

from typing import Any

import pytest

from pgrecall import Draft, Memory
from tests.conftest import NOW
from tests.databases import Query

PAGE = "SELECT recall.get_plan(%s, %s, %s) AS plan"


def sixty_pairs(memory: Memory, words: str) -> None:
    """Stores sixty memories with these words, and each once more with another end."""
    memory.remember_many(
        [
            Draft(f"{chr(97 + n % 26)}{chr(97 + n // 26)}start {words}{end}", key=f"{n}{end}")
            for n in range(60)
            for end in ("", " !")
        ],
        now=NOW,
    )


@pytest.fixture
def plan(memory: Memory) -> int:
    """A plan of 60 clusters of two memories that differ at their end, after some 700 characters."""
    sixty_pairs(memory, " ".join(f"word{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(100)))
    return memory.plans.dedupe(now=NOW).id


def page(query: Query, plan: int, limit: int, offset: int = 0) -> dict[str, Any]:
    [row] = query(PAGE, (plan, limit, offset))
    found: dict[str, Any] = row["plan"]
    return found


def test_pages_together_are_the_plan(memory: Memory, query: Query, plan: int) -> None:
    whole = memory.plans.get(plan)
    assert len(whole.clusters) == whole.report.clusters == 60
    for limit in (1, 7, 60):
        read = [
            cluster.cluster
            for offset in range(0, 60, limit)
            for cluster in memory.plans.get(plan, limit=limit, offset=offset).clusters
        ]
        assert read == [cluster.cluster for cluster in whole.clusters]
    assert memory.plans.get(plan, limit=5, offset=60).clusters == ()
    assert page(query, plan, 0)["clusters"] == []


def test_a_new_plan_has_as_many_clusters_as_are_wanted(memory: Memory, plan: int) -> None:
    again = memory.plans.dedupe(now=NOW, limit=3)
    assert (len(again.clusters), again.report.clusters) == (3, 60)


def test_the_more_memories_a_page_has_the_less_of_each_is_compared(memory: Memory, query: Query) -> None:
    words = " ".join(f"w{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n // 676)}" for n in range(4000))
    sixty_pairs(memory, words)
    plan = memory.plans.dedupe(now=NOW, limit=0).id
    for limit, compared in ((1, 20_000), (50, 20_000), (60, 16_666)):
        found = page(query, plan, limit)
        assert found["compared_characters"] == compared
        for cluster in found["clusters"]:
            [member] = cluster["members"]
            said = [text for kind, text in member["difference"] if kind != "added"]
            assert len("".join(said)) == min(member["length"], compared)
    assert memory.plans.get(plan, limit=60).compared_characters == 16_666
