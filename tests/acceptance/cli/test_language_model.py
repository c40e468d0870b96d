"""A language model on the command line: asked by an option, shown in the result, and checked by doctor."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.cli.command_tools import Command
from tests.http_endpoint import Endpoint, Reply
from tests.language_model import answering, judging

pytestmark = pytest.mark.in_turns


def honest(request: dict[str, Any]) -> Reply:
    """Plans, judges, or answers with an empty object, as it is asked."""
    form = request["response_format"]["json_schema"]["schema"]["properties"]
    if "queries" in form:
        return answering(
            {"queries": ["tea"], "since": "2020-01-01", "wants": "list", "needs": ["contradiction"]}
        )
    return (
        judging(lambda text: 1.0 if "moon" in text else 0.0)(request) if "memories" in form else answering({})
    )


@pytest.fixture
def told(pgrecall: Command, endpoint: Endpoint) -> dict[str, str]:
    for body in ("The tide gauge is read at dawn.", "The moon pulls the tide.", "We drank tea at noon."):
        assert pgrecall("remember", body).code == 0
    return {"llm_url": endpoint.url, "llm_model": "m"}


def test_a_search_is_planned_and_says_how(pgrecall: Command, told: dict[str, str]) -> None:
    found = pgrecall("search", "tide", "--plan", **told)
    assert "We drank tea" in found.out
    assert "Planned: a list; needs contradiction; queries tea; since 2020-01-01." in " ".join(
        found.err.split()
    )
    plan = pgrecall("search", "tide", "--plan", "--json", **told).json["plan"]
    assert (plan["queries"], plan["until"]) == (["tea"], None)
    block = pgrecall("context", "tide", "--plan", "--nearest", **told)
    assert "Planned: a list" in block.err


def test_a_search_is_judged(pgrecall: Command, told: dict[str, str]) -> None:
    best = pgrecall("search", "tide", "--rerank", "--json", reranker="llm", **told).json
    assert (best["reranked"], best["skipped"]) == (True, [])
    assert "moon" in best["hits"][0]["body"]
    block = pgrecall("context", "tide", "--rerank", "--nearest", "--json", reranker="llm", **told).json
    assert "moon" in block["hits"][0]["body"]
    always = {**told, "reranker": "llm", "search_rerank": "true"}
    assert pgrecall("search", "tide", "--json", **always).json["reranked"]
    assert not pgrecall("search", "tide", "--no-rerank", "--json", **always).json["reranked"]


def test_a_model_that_is_down_changes_nothing(
    pgrecall: Command, told: dict[str, str], endpoint: Endpoint
) -> None:
    endpoint.replies = [Reply(401)]
    found = pgrecall("search", "tide", "--plan", "--rerank", reranker="llm", **told)
    assert found.code == 0
    assert "Skipped: planning: The language model at" in found.err
    assert "Skipped: reranking: The language model at" in found.err


def test_doctor_asks_it_and_says_what_is_sent(
    pgrecall: Command, told: dict[str, str], endpoint: Endpoint
) -> None:
    checked = pgrecall("doctor", "--only", "llm", **told)
    words = " ".join(checked.out.split())
    assert checked.code == 0
    assert f"m at {endpoint.url}/v1/chat/completions answers." in words
    assert "With --plan it is sent the query and its conversation" in words
    endpoint.replies = [Reply(401)]
    refused = pgrecall("doctor", "--only", "llm", **told)
    assert refused.code == 1
    assert "PGRECALL_LLM_KEY" in refused.out


def test_a_model_without_a_name_stops_a_command(pgrecall: Command, told: dict[str, str]) -> None:
    stopped = pgrecall("search", "tide", llm_url=told["llm_url"])
    assert stopped.code == 2
    assert "PGRECALL_LLM_MODEL" in stopped.err
