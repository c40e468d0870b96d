"""What a search tells of its language model: calls, tokens, seconds; and one budget for all questions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from pgrecall import Memory
from pgrecall.faces.telemetry.metrics import Metrics
from pgrecall.faces.telemetry.telemetry import Telemetry
from pgrecall.nouns.search.plan import ModelUse
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.search.needs import NEEDS
from pgrecall.settings import Settings
from pgrecall.tools.catalogue import get_tool
from pgrecall.tools.tool import call
from tests.conftest import DIMENSIONS
from tests.http_endpoint import Endpoint, Reply
from tests.language_model import answering, judging

pytestmark = pytest.mark.in_turns

NOW = datetime(2027, 1, 1, tzinfo=UTC)


def honest(request: dict[str, Any]) -> Reply:
    """Plans, or judges."""
    form = request["response_format"]["json_schema"]["schema"]["properties"]
    if "queries" in form:
        return answering({"queries": ["ferry"]}, read=70, written=9)
    return judging(lambda _: 0.5)(request)


@pytest.fixture
def chosen(settings: Settings, endpoint: Endpoint) -> Settings:
    return replace(settings, llm_url=endpoint.url, llm_model="m", reranker="llm")


@pytest.fixture
def memory(chosen: Settings) -> Iterator[Memory]:
    with Memory(settings=chosen, embedder=HashEmbedder(DIMENSIONS)) as memory:
        memory.remember("Our ferry leaves at nine.", key="ferry")
        memory.remember("The harbour opens at six.", key="harbour")
        yield memory


def used(use: ModelUse | None) -> tuple[int, int, int]:
    assert use is not None
    assert use.seconds > 0
    return use.calls, use.tokens_read, use.tokens_written


def test_calls_tokens_and_seconds_are_told(memory: Memory) -> None:
    both = memory.search("harbour", plan=True, rerank=True)
    assert used(both.model_use) == (2, 70, 9), "the double counts no tokens of judging"
    assert used(memory.search("harbour", plan=True, rerank=True).model_use)[0] == 1, "the plan is kept"
    assert used(memory.context("harbour", rerank=True).model_use) == (1, 0, 0)
    assert memory.search("harbour").model_use is None


def test_a_model_that_fails_took_its_time_too(memory: Memory, endpoint: Endpoint) -> None:
    endpoint.replies = [Reply(401)]
    assert used(memory.search("harbour", plan=True).model_use) == (1, 0, 0)


@pytest.mark.parametrize("digits", [10, 310, 4300])
def test_no_count_of_a_model_stops_a_search(memory: Memory, endpoint: Endpoint, digits: int) -> None:
    """Whatever it says, the hits are there, and metrics and JSON can hold the count."""
    endpoint.replies = [answering({"queries": ["ferry"]}, read=10**digits - 1, written=9)]
    with Telemetry(metrics=Metrics()).searches():
        result = memory.search("harbour", plan=True)
    assert result.hits
    assert used(result.model_use) == (1, 0, 9)


def test_a_plan_that_leaves_out_every_hit_is_counted_once(memory: Memory, endpoint: Endpoint) -> None:
    endpoint.replies = [answering({"roles": ["tool"]}, read=70, written=9)]
    metrics = Metrics()
    with Telemetry(metrics=metrics).searches():
        result = memory.search("harbour", plan=True)
    assert used(result.model_use) == (1, 70, 9)
    figures = metrics.exposition().decode()
    assert "pgrecall_language_model_calls_total 1.0" in figures
    assert 'pgrecall_language_model_tokens_total{kind="read"} 70.0' in figures
    assert 'pgrecall_language_model_tokens_total{kind="written"} 9.0' in figures
    assert "pgrecall_language_model_seconds_total 0." in figures


def test_planning_and_judging_have_one_budget(chosen: Settings, memory: Memory, endpoint: Endpoint) -> None:
    del memory  # its memories are there
    with Memory(settings=replace(chosen, llm_calls=2), embedder=HashEmbedder(DIMENSIONS)) as few:
        assert few.search("harbour", plan=True, rerank=True).skipped == ()
        refused = few.search("ferry", plan=True, rerank=True)
    assert [step.split(":")[0] for step in refused.skipped] == ["planning", "reranking"]
    assert all("asked 2 times within a minute" in step for step in refused.skipped)
    assert refused.hits
    assert refused.model_use is None
    assert len(endpoint.requests) == 2


@pytest.mark.parametrize("name", ["search", "context"])
def test_tools_plan(memory: Memory, endpoint: Endpoint, name: str) -> None:
    arguments = {"query": "harbour", "plan": True, "require_answer": False}
    assert call(get_tool(name), memory, arguments, NOW).plan == "a fact; queries ferry"  # type: ignore[attr-defined]  # of both results
    assert call(get_tool(name), memory, {"query": "harbour"}, NOW).plan is None  # type: ignore[attr-defined]
    assert len(endpoint.requests) == 1


def test_the_judge_is_told_what_the_query_needs(memory: Memory, endpoint: Endpoint) -> None:
    endpoint.replies = [answering({"needs": ["contradiction"]}), honest]
    memory.search("harbour", plan=True, rerank=True)
    asked = [request["messages"][0]["content"] for request in endpoint.requests]
    assert "follow_up_failure, if something that the assistant advised did not work" in asked[0]
    assert NEEDS["contradiction"].judge in asked[1]
    assert NEEDS["loop"].judge not in asked[1]
