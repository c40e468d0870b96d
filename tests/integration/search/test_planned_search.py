"""Searches that a language model plans first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from pgrecall import Memory
from pgrecall.errors import InvalidInput
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.http_endpoint import Endpoint, Reply
from tests.language_model import answering, quoted, said

pytestmark = pytest.mark.in_turns


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Endpoint(lambda _: answering({"queries": ["ferry timetable"], "wants": "list"}))
    yield server
    server.stop()


@pytest.fixture
def memory(settings: Settings, endpoint: Endpoint) -> Iterator[Memory]:
    chosen = replace(settings, llm_url=endpoint.url, llm_model="m")
    with Memory(settings=chosen, embedder=HashEmbedder(DIMENSIONS)) as memory:
        memory.remember("Our ferry leaves at nine.", key="ferry", role="assistant")
        memory.remember("The harbour opens at six.", key="harbour", role="user")
        yield memory


def keys(memory: Memory, query: str = "harbour", **options: object) -> set[str | None]:
    return {hit.key for hit in memory.search(query, log=False, plan=True, **options).hits}  # type: ignore[arg-type]


def test_sub_queries_find_what_the_query_does_not(memory: Memory, endpoint: Endpoint) -> None:
    turns = [{"role": "user", "content": "I want to go to the island."}]
    result = memory.search("harbour", plan=True, conversation=turns, weights={"semantic": 0})
    assert {hit.key for hit in result.hits} == {"ferry", "harbour"}
    assert result.plan is not None
    assert result.plan.queries == ("ferry timetable",)
    assert result.timings["planning"] > 0
    assert result.skipped == ()
    assert ("turn of the user", "I want to go to the island.") in quoted(endpoint.requests[0])
    assert not any("ferry" in text for _, text in quoted(endpoint.requests[0])), "memories are not sent"


def test_a_context_of_the_same_turn_asks_no_second_time(memory: Memory, endpoint: Endpoint) -> None:
    memory.search("harbour", plan=True)
    block = memory.context("harbour", plan=True, require_answer=False)
    assert block.plan is not None
    assert block.plan.wants == "list"
    assert len(endpoint.requests) == 1


def test_no_search_is_planned_unless_it_says_so(memory: Memory, endpoint: Endpoint) -> None:
    result = memory.search("harbour")
    memory.context("harbour")
    assert endpoint.requests == []
    assert result.plan is None
    assert "planning" not in result.timings


def test_a_contradiction_shows_both_sides(memory: Memory, endpoint: Endpoint) -> None:
    endpoint.replies = [answering({"needs": ["contradiction"]})]
    memory.remember("The harbour opens at seven.", key="later")
    memory.supersede("harbour", "later")
    assert "harbour" not in {hit.key for hit in memory.search("harbour").hits}
    assert {"harbour", "later"} <= keys(memory)


def test_high_stakes_are_reread(memory: Memory, endpoint: Endpoint) -> None:
    endpoint.replies = [answering({"needs": ["high_stakes"]})]
    assert memory.search("harbour", plan=True).skipped == ("reranking: no reranker is configured",)


def test_roles_and_periods_narrow(memory: Memory, endpoint: Endpoint) -> None:
    endpoint.replies = [answering({"queries": ["ferry"], "roles": ["assistant"]})]
    assert keys(memory, "harbour opens") == {"ferry"}
    assert keys(memory, "harbour opens", roles=("user",)) == {"harbour"}


def test_a_plan_that_leaves_out_every_hit_does_not_narrow(memory: Memory, endpoint: Endpoint) -> None:
    endpoint.replies = [answering({"since": "2001-01-01", "until": "2001-02-01", "roles": ["tool"]})]
    result = memory.search("harbour", plan=True)
    assert result.hits[0].key == "harbour"
    assert result.skipped == ("planning: nothing matches its roles and period, so they do not count",)


def test_the_day_of_the_search_is_told(memory: Memory, endpoint: Endpoint) -> None:
    memory.search("harbour", plan=True, now=datetime(2027, 5, 1, tzinfo=UTC))
    assert ("today", "2027-05-01") in quoted(endpoint.requests[0])


@pytest.mark.parametrize(
    "failure", [Reply(401), Reply(503, headers={"Retry-After": "0"}), said("?"), Reply(body=b"<html>")]
)
def test_a_model_that_fails_leaves_the_search(memory: Memory, endpoint: Endpoint, failure: Reply) -> None:
    endpoint.replies = [failure]
    result = memory.search("harbour", plan=True)
    assert result.hits[0].key == "harbour"
    assert [reason.split(":")[0] for reason in result.skipped] == ["planning"]
    assert result.plan is None


def test_a_slow_model_leaves_the_search(settings: Settings, endpoint: Endpoint) -> None:
    endpoint.replies = [Reply(before=600.0)]
    chosen = replace(settings, llm_url=endpoint.url, llm_model="m", llm_timeout=0.3)
    with Memory(settings=chosen, embedder=HashEmbedder(DIMENSIONS)) as memory:
        assert "no answer within" in memory.search("harbour", plan=True).skipped[0]


def test_without_a_model_or_a_query_there_is_no_plan(memory: Memory, settings: Settings) -> None:
    recent = memory.search(since=datetime(2020, 1, 1, tzinfo=UTC), plan=True)
    assert recent.skipped == ("planning: there is no query",)
    with Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS)) as without:
        result = without.search("harbour", plan=True)
    assert result.skipped == ("planning: no language model is configured",)
    assert result.hits


def test_a_model_without_a_name_is_refused_at_once(settings: Settings) -> None:
    with pytest.raises(InvalidInput, match="PGRECALL_LLM_MODEL"):
        Memory(settings=replace(settings, llm_url="http://localhost"))


@pytest.fixture
def judged(settings: Settings, endpoint: Endpoint) -> Iterator[Memory]:
    """A client whose settings have every search planned and judged."""
    chosen = replace(
        settings, llm_url=endpoint.url, llm_model="m", reranker="llm", search_plan=True, search_rerank=True
    )
    with Memory(settings=chosen, embedder=HashEmbedder(DIMENSIONS)) as memory:
        memory.remember("Our ferry leaves at nine.", key="ferry")
        yield memory


def test_settings_have_every_search_planned_and_judged_unless_it_says_otherwise(
    judged: Memory, endpoint: Endpoint
) -> None:
    def asked(**options: object) -> int:
        before = len(endpoint.requests)
        judged.search("ferry", log=False, **options)  # type: ignore[arg-type]
        return len(endpoint.requests) - before

    assert asked(plan=False, rerank=False) == 0
    assert asked(rerank=False) == 1
    assert asked(rerank=False) == 0, "the plan is kept"
    assert asked(plan=False) >= 1
    assert judged.search("ferry", log=False).plan is not None
    assert judged.search(cues=("ferry",), log=False).skipped == (), "nothing can be asked without a query"
    assert judged.context("ferry", plan=False, rerank=False).plan is None
