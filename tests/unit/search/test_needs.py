"""The needs of a query: what each changes, that a caller comes first, and that the docs say so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from pgrecall import ContextRequest
from pgrecall.nouns.context.models import VARIED
from pgrecall.nouns.search.models import ConversationTurn, SearchRequest
from pgrecall.nouns.search.plan import Need, SearchPlan
from pgrecall.search.context.request_checks import require_valid_request
from pgrecall.search.context.selection import select_memories
from pgrecall.search.needs import NEEDS, context_with_plan, with_plan
from tests.unit.search.hits import hit

GUIDE = Path(__file__).parents[3] / "docs" / "howto" / "language-model.md"
TURNS = (ConversationTurn("assistant", "Oil the brake."), ConversationTurn("user", "I did."))


@pytest.mark.parametrize("need", NEEDS)
def test_every_need_has_an_effect_that_the_guide_names(need: Need) -> None:
    plan, effect = SearchPlan((need,)), NEEDS[need]
    searched = SearchRequest("why?", conversation=TURNS)
    changed = with_plan(searched, plan) != searched
    assert changed or context_with_plan(ContextRequest(), plan) != ContextRequest()
    assert f"| `{need}` | {effect.when} | {effect.effect} |" in GUIDE.read_text("utf-8").splitlines()
    require_valid_request(context_with_plan(ContextRequest(), plan), 10)


def test_the_table_has_every_need() -> None:
    assert tuple(NEEDS) == get_args(Need)


@pytest.mark.parametrize("need", NEEDS)
def test_what_a_caller_gives_stays(need: Need) -> None:
    searched = SearchRequest("why?", vitality_mode="multiply", weights={"name": 2.0}, queries=("mine",))
    planned = with_plan(searched, SearchPlan((need,)))
    assert (planned.vitality_mode, planned.weights, planned.queries) == ("multiply", {"name": 2.0}, ("mine",))
    asked = ContextRequest(
        mmr_lambda=0.7, duplicate_at=0.9, min_relevance=0.2, directive_share=0.1, state_share=0.0
    )
    assert replace(context_with_plan(asked, SearchPlan((need,))), both_sides=False) == asked


def test_a_follow_up_failure_searches_the_advice_too() -> None:
    plan = SearchPlan(("follow_up_failure",), queries=("brake noise",))
    planned = with_plan(SearchRequest("it did not work", conversation=TURNS), plan)
    assert planned.queries == ("brake noise", "Oil the brake.")
    assert with_plan(SearchRequest("it did not work"), SearchPlan(("follow_up_failure",))).queries is None


def test_a_mode_shift_leaves_the_conversation_behind() -> None:
    assert (
        with_plan(SearchRequest("tea?", conversation=TURNS), SearchPlan(("mode_shift",))).conversation is None
    )


def test_a_list_prefers_memories_that_differ() -> None:
    assert context_with_plan(ContextRequest(), SearchPlan(wants="list")).mmr_lambda == VARIED


def test_both_sides_are_shown_on_request() -> None:
    old = hit(1, 0.9, "The harbour opens at six", newer_version=2)
    new = hit(2, 0.8, "The harbour opens at seven")
    alike = {(1, 2): 0.99}
    assert {one.id for one in select_memories([old, new], ContextRequest(), similarities=alike).hits} == {2}
    both = context_with_plan(ContextRequest(), SearchPlan(("contradiction",)))
    shown = select_memories([old, new], both, similarities=alike, successors={1: (2,)})
    assert {one.id for one in shown.hits} == {1, 2}
    assert "superseded by id 2" in shown.text
