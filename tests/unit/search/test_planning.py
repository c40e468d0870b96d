"""Plans of a language model: what is asked, what is believed, and how a plan changes a request."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgrecall.errors import LanguageModelError
from pgrecall.nouns.search.models import ConversationTurn, SearchRequest
from pgrecall.nouns.search.plan import SearchPlan
from pgrecall.search.language_model import LanguageModel
from pgrecall.search.needs import with_plan
from pgrecall.search.planning import MAX_QUERIES, Planner
from tests.http_endpoint import Endpoint, Reply
from tests.language_model import answering, quoted, said

PLAN: dict[str, Any] = {
    "needs": ["contradiction"],
    "queries": ["where Mira lives", "Mira moved"],
    "roles": ["user"],
    "since": "2026-03-01",
    "until": "2026-04-01",
    "wants": "list",
}
READ = SearchPlan(
    ("contradiction",),
    ("where Mira lives", "Mira moved"),
    ("user",),
    datetime(2026, 3, 1, tzinfo=UTC),
    datetime(2026, 4, 1, tzinfo=UTC),
    "list",
)
TURNS = (
    ConversationTurn("user", "Mira wrote"),
    ConversationTurn("assistant", "From where?", datetime(2026, 4, 30, tzinfo=UTC)),
)


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Endpoint(lambda _: answering(PLAN))
    yield server
    server.stop()


@pytest.fixture
def planner(endpoint: Endpoint) -> Iterator[Planner]:
    with LanguageModel(endpoint.url, "m") as model:
        yield Planner(model)


def test_a_plan_is_read(endpoint: Endpoint, planner: Planner) -> None:
    assert planner.plan("where does she live?", TURNS, date(2026, 5, 1)) == READ
    [request] = endpoint.requests
    assert quoted(request) == [
        ("turn of the user", "Mira wrote"),
        ("turn of the assistant on 2026-04-30", "From where?"),
        ("query", "where does she live?"),
        ("today", "2026-05-01"),
    ]
    schema = request["response_format"]["json_schema"]["schema"]
    assert set(schema["required"]) == set(PLAN)


def test_the_same_question_is_asked_once(endpoint: Endpoint, planner: Planner) -> None:
    for _ in range(3):
        planner.plan("where?", TURNS, None)
    assert len(endpoint.requests) == 1
    planner.plan("where?", TURNS[:1], None)
    planner.plan("where?", TURNS, date(2026, 5, 1))
    planner.plan("who?", TURNS, None)
    assert len(endpoint.requests) == 4


def test_a_failure_is_not_kept(endpoint: Endpoint, planner: Planner) -> None:
    endpoint.replies = [said("no idea"), answering(PLAN)]
    with pytest.raises(LanguageModelError):
        planner.plan("where?", (), None)
    assert planner.plan("where?", (), None) == READ


def test_a_plan_may_be_empty(endpoint: Endpoint, planner: Planner) -> None:
    endpoint.replies = [answering({})]
    assert planner.plan("where?", (), None) == SearchPlan()
    assert with_plan(SearchRequest("where?"), SearchPlan()) == SearchRequest("where?")


def test_queries_are_few_short_and_printable(endpoint: Endpoint, planner: Planner) -> None:
    queries = ["where?", " ", "a\x00b\nc", "x" * 5000, "a b", "d", "e", "f", "g"]
    endpoint.replies = [answering({"queries": queries})]
    assert planner.plan("where?", (), None).queries == ("a b", "x" * 300, "d", "e")
    assert MAX_QUERIES == 4


@pytest.mark.parametrize(
    "wrong",
    [
        {"needs": ["boredom"]},
        {"roles": ["admin"]},
        {"roles": "user"},
        {"queries": [1]},
        {"since": "last year"},
        {"since": "2026-13-01"},
        {"wants": "everything"},
        {"since": "2026-04-01", "until": "2026-04-01"},
    ],
)
def test_a_plan_that_is_wrong_in_part_is_no_plan(
    endpoint: Endpoint, planner: Planner, wrong: dict[str, Any]
) -> None:
    endpoint.replies = [answering(PLAN | wrong)]
    with pytest.raises(LanguageModelError) as caught:
        planner.plan("where?", (), None)
    assert caught.value.hint


@pytest.mark.parametrize(
    "reply", [Reply(401), Reply(302), said(""), Reply(body=b"<html>"), said('{"queries": [')]
)
def test_a_model_that_fails_makes_no_plan(endpoint: Endpoint, planner: Planner, reply: Reply) -> None:
    endpoint.replies = [reply]
    with pytest.raises(LanguageModelError):
        planner.plan("where?", (), None)


def test_a_plan_is_merged_into_a_request() -> None:
    planned = with_plan(SearchRequest("where?"), READ)
    assert planned.queries == READ.queries
    assert planned.roles == ("user",)
    assert (planned.since, planned.until) == (READ.since, READ.until)
    assert planned.include_superseded
    assert planned.include_invalid
    assert not planned.rerank
    assert with_plan(SearchRequest("where?"), SearchPlan(("high_stakes",))).rerank


def test_it_may_be_merged_without_what_leaves_memories_out() -> None:
    planned = with_plan(SearchRequest("where?"), READ, narrow=False)
    assert (planned.roles, planned.since, planned.until) == (None, None, None)
    assert planned.queries == READ.queries


@given(
    st.builds(
        SearchRequest,
        st.just("where?"),
        queries=st.none() | st.just(("mine",)),
        roles=st.none() | st.just(("tool",)),
        since=st.none() | st.just(datetime(2026, 1, 1, tzinfo=UTC)),
        rerank=st.booleans(),
        include_superseded=st.booleans(),
    ),
    st.booleans(),
)
@settings(max_examples=50)
def test_what_a_caller_gives_stays(request: SearchRequest, narrow: bool) -> None:
    planned = with_plan(request, READ, narrow=narrow)
    for name in ("query", "queries", "roles", "since", "rerank", "include_superseded"):
        given = getattr(request, name)
        assert not given or getattr(planned, name) == given
    assert request.since is None or planned.until is None
