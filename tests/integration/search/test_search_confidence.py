"""How likely it is that a search found an answer, and searches that return nothing without one."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgrecall import Draft, InvalidInput, Memory
from pgrecall.nouns.search.found import Candidate, ConfidenceTerms
from pgrecall.search.probabilities import logistic
from pgrecall.search.rerank.blending import confidence
from tests.databases import Query
from tests.unit.search.hits import hit

pytestmark = pytest.mark.in_turns

ABSENT = "price of tulips in Amsterdam"
PRESENT = "what is the gate code"


@pytest.fixture
def filled(memory: Memory) -> Memory:
    memory.remember_many(
        [Draft(f"note {number} about the winch and the harbour") for number in range(30)]
        + [Draft("The gate code is 4711.")]
    )
    return memory


def test_a_search_says_whether_it_found_an_answer(filled: Memory) -> None:
    present, absent = filled.search(PRESENT), filled.search(ABSENT)

    assert present.confidence is not None
    assert absent.confidence is not None
    assert absent.confidence < present.confidence
    assert present.answered
    assert not absent.answered


def test_a_search_that_requires_an_answer_returns_nothing_without_one(filled: Memory) -> None:
    nearest = filled.search(ABSENT)
    required = filled.search(ABSENT, require_answer=True)

    assert nearest.hits
    assert required.no_match
    assert required.confidence == nearest.confidence
    assert filled.search(PRESENT, require_answer=True).hits[0].body == "The gate code is 4711."


def test_the_threshold_is_a_setting(filled: Memory) -> None:
    filled.settings.set("search.min_confidence", 0)
    assert filled.search(ABSENT, require_answer=True).hits

    filled.settings.set("search.min_confidence", 1)
    assert filled.search(PRESENT, require_answer=True).no_match


def test_a_context_is_empty_without_an_answer(filled: Memory) -> None:
    assert filled.context(ABSENT).text == ""
    assert filled.context(PRESENT).hits[0].body == "The gate code is 4711."
    assert filled.context(ABSENT, require_answer=False, min_relevance=0).hits


def test_a_window_or_a_cue_is_no_question(filled: Memory) -> None:
    cued = filled.search(cues=(1,), require_answer=True)
    assert cued.confidence is None

    window = filled.search(since=datetime(2000, 1, 1, tzinfo=UTC), require_answer=True)
    assert window.confidence is None
    assert window.answered
    assert window.hits


def test_an_empty_tenant_answers_nothing(memory: Memory) -> None:
    found = memory.search(PRESENT)

    assert (found.confidence, found.answered, found.hits) == (0, False, ())


def test_require_answer_is_yes_or_no(query: Query) -> None:
    with pytest.raises(Exception, match="cannot be read"):
        query("""SELECT * FROM recall.find('{"query": "gate", "require_answer": "perhaps"}')""")


def can_be_set(number: float) -> bool:
    """Products of numbers that are nearer to 0 are out of the range of doubles."""
    return number == 0 or abs(number) >= 1e-30


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.floats(-20, 20).filter(can_be_set),
    st.integers(0, 10**6),
    st.tuples(*(st.floats(low, high).filter(can_be_set) for low, high in ((-5, 5), (0, 5), (-1, 1)))),
)
def test_sql_and_python_agree(
    query: Query, logit: float, memories: int, numbers: tuple[float, float, float]
) -> None:
    names = ("intercept", "relevance", "size")
    values = {f"confidence.{name}": value for name, value in zip(names, numbers, strict=True)}
    (row,) = query(
        "SELECT recall_private.search_confidence(%s, %s, %s::jsonb) AS value",
        (logit, memories, json.dumps(values)),
    )

    best = replace(hit(1), relevance=logistic(logit))
    hits = [replace(best, relevance=0.0), best]
    candidates = [Candidate(hit, logit, 0.0, exempt=False, evidence_logit=logit) for hit in hits]
    assert row["value"] == pytest.approx(
        confidence(candidates, hits, ConfidenceTerms(*numbers, memories)), abs=1e-6
    )


def test_a_bad_value_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput):
        memory.settings.set("search.min_confidence", 2)
