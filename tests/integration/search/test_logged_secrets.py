"""Secrets in queries are searched for, and left out of the log of searches."""

from __future__ import annotations

from typing import Any

import pytest

from pgrecall import Memory
from tests.databases import Query

pytestmark = pytest.mark.in_turns

TOKEN = "ghp_" + "Zk3qT9" * 6
REMOVED = "[removed: GitHub Token]"


@pytest.fixture
def deploy(memory: Memory) -> Memory:
    memory.remember(f"The deploy job uses {TOKEN} since May.", key="deploy")
    return memory


def log(query: Query) -> list[dict[str, Any]]:
    return query("SELECT id, query, queries, shown FROM recall.search_log ORDER BY id")


def test_a_search_finds_what_its_log_does_not_keep(deploy: Memory, query: Query) -> None:
    found = deploy.search(f"where is {TOKEN} used?", queries=[f"job with {TOKEN}", "deploy job"])

    assert [hit.key for hit in found.hits] == ["deploy"]
    [row] = log(query)
    assert (row["id"], row["shown"]) == (found.search_id, [found.hits[0].id])
    assert row["query"] == f"where is {REMOVED} used?"
    assert row["queries"] == [f"job with {REMOVED}", "deploy job"]
    assert found.search_id is not None
    assert deploy.used(found.search_id, [found.hits[0].id]) == 1


def test_a_context_keeps_no_secret_of_the_message_or_its_conversation(deploy: Memory, query: Query) -> None:
    turns = [{"role": "user", "content": f"I put {TOKEN} into the deploy job"}]
    block = deploy.context(f"did that {TOKEN} work?", conversation=turns, require_answer=False)

    [row] = log(query)
    assert row["id"] == block.search_id
    assert TOKEN not in str(row)
    assert REMOVED in row["query"]


def test_half_a_secret_of_a_turn_is_not_logged_either(deploy: Memory, query: Query) -> None:
    """A query is completed by the beginning of what the user said, and by the end of an answer."""
    for role, text in (("user", "x" * 180 + f" {TOKEN}"), ("assistant", f"{TOKEN} {'x ' * 82}Right?")):
        deploy.search("yes, that one", conversation=[{"role": role, "content": text}])
    logged = [row["query"] for row in log(query)]
    assert len(logged) == sum("\nyes, that one" in one for one in logged) == 2
    assert not any(TOKEN[part : part + 8] in one for one in logged for part in range(len(TOKEN) - 8))


def test_other_queries_are_logged_as_they_are(deploy: Memory, query: Query) -> None:
    deploy.search("deploy job since May")

    assert [row["query"] for row in log(query)] == ["deploy job since May"]
