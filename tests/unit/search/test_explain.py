"""Explanations in words: every part may be absent, none is lost."""

from __future__ import annotations

import math

import pytest

from pgrecall.search.explained_numbers import terms
from pgrecall.search.explanation import reason, referenced, sentence

FULL = {
    "arms": {
        "semantic": {"similarity": 0.389, "rank": 2},
        "lexical": {"strength": 7.02, "coverage": 1.2, "rank": 1, "words": {"machin": 2.29, "databas": 1.28}},
    },
    "relevance": {"logit": 1.12, "probability": 0.754, "intercept": -6.21, "similarity": 7.33, "name": 0},
    "vitality": {
        "accesses": 10, "recent": 2.09, "tail": 0.197, "spread": 0, "revival": 0, "activation": 2.287,
        "base": 0.829, "vitality": 0.696, "retention": 0.696, "zone": "active",
    },
    "score": {"mode": "odds", "weight": 0.5, "log_odds": 1.534, "vitality": 0.414, "exempt": False},
}  # fmt: skip


def test_a_sentence_names_the_arms_the_probability_and_the_effect_of_vitality() -> None:
    assert sentence(FULL, {"machin": "machine"}) == (
        "Found by meaning (rank 2) and the words “machine” and “databas” (rank 1). It answers the question "
        "with a probability of 75 %. After 10 accesses it is active; vitality multiplies its odds by 1.51."
    )


def test_other_memories_are_named_where_their_names_are_known() -> None:
    arms = {"cue": {"cue": 7}, "graph": {"from": 9}}
    assert sentence({"arms": arms}, None, {7: "The winch"}) == (
        "Found by its association with “The winch” and its links to memory 9."
    )
    assert reason({"arms": arms}, names={9: "Quay"}) == (
        "Found by its association with memory 7 and its links to “Quay”."
    )
    assert referenced({"arms": arms}) == (7, 9)
    assert referenced(FULL) == referenced({}) == ()


def test_numbers_are_in_the_order_of_computation() -> None:
    rows = dict(terms(FULL))
    assert list(rows) == ["meaning", "words", "relevance", "vitality", "score"]
    assert rows["relevance"] == "log-odds 1.12 = −6.21 intercept + 7.33 similarity; p = 0.754"
    assert rows["score"] == (
        "log-odds 1.53 = 1.12 relevance + 0.414 vitality (mode odds, weight 0.5); score = 0.823"
    )
    assert "S 2.29 = recent 2.09 + tail 0.197, from 10 accesses" in rows["vitality"]


@pytest.mark.parametrize("left_out", list(FULL))
def test_any_part_may_be_absent(left_out: str) -> None:
    part = {name: value for name, value in FULL.items() if name != left_out}
    assert sentence(part).endswith(".")
    assert left_out == "arms" or left_out not in dict(terms(part))


def test_nothing_to_explain() -> None:
    assert (sentence({}), terms({})) == ("", ())


def test_what_applies_without_resembling_the_query() -> None:
    directive = FULL | {"speech_act": "instruction", "relevance": {"directive": 5.3}}
    assert "It is an instruction, so it need not resemble the query." in sentence(directive)
    assert reason(directive).endswith(
        "It is an instruction, so it need not resemble the query. Use raises it."
    )
    assert "The query asks what its speaker said." in reason({"relevance": {"speaker": 2.85}})
    answer = {"arms": {"semantic": {"rank": 1}, "question": {"answers": 7}}}
    assert reason(answer, names={7: "When?"}) == "Found by meaning and its answer to “When?”."
    assert referenced(answer) == (7,)


@pytest.mark.parametrize(
    ("moved", "act", "why"),
    [
        (-2.0, "statement", "It stands behind the memory that supersedes it."),
        (3.5, "change", "It tells of a change, so it goes before what changed."),
        (1.0, "statement", "Its date puts it before another version."),
    ],
)
def test_a_hit_that_another_one_moves(moved: float, act: str, why: str) -> None:
    part = FULL | {"speech_act": act, "score": FULL["score"] | {"moved": moved, "log_odds": 1.534 + moved}}
    assert sentence(part).endswith(why)
    assert reason(part).endswith(f". {why}")
    behind = "− 2 to rank behind the memory that supersedes it"
    assert (behind if moved < 0 else f"+ {moved:g} to rank before another version") in dict(terms(part))[
        "score"
    ]


def test_exact_names_modes_and_protection() -> None:
    named = FULL | {"arms": {"name": {"likeness": 1}}, "score": FULL["score"] | {"exempt": True}}
    assert sentence(named).startswith("Found by its name. ")
    assert sentence(named).endswith("The query names it exactly, so vitality does not count.")
    off = FULL | {"score": FULL["score"] | {"mode": "off", "vitality": 0}}
    assert sentence(off).endswith("Vitality does not count in this search.")
    kept = FULL | {"vitality": FULL["vitality"] | {"vitality": 0.05, "retention": 0.5, "zone": "stale"}}
    assert "its vitality is 0.05 (stale, because it is protected)" in sentence(kept)


def test_links_and_associations_name_the_other_memory() -> None:
    linked = {"arms": {"graph": {"from": 123, "share": 0.5}, "cue": {"cue": 5, "strength": 0.25}}}
    assert sentence(linked) == "Found by its association with memory 5 and its links to memory 123."
    assert terms(linked) == (
        ("links", "receives 0.5 of the relevance of memory 123"),
        ("association", "associated with memory 5; strength 0.25"),
    )


@pytest.mark.parametrize(
    ("match", "place"), [(1, "from it"), (0.4, "from about then"), (0.001, "not from it")]
)
def test_the_period_that_the_query_names(match: float, place: str) -> None:
    period = {"since": "2026-06-01T00:00:00Z", "until": "2026-09-01T00:00:00Z", "words": "last summer"}
    part = {"period": period, "relevance": {"features": {"period": match}}}
    assert sentence(part) == (
        "The query names the period “last summer” (since 2026-06-01, until 2026-09-01); "
        f"the memory is {place}."
    )
    part["period"] = {**period, "until": None}
    assert "(since 2026-06-01);" in sentence(part)


def test_an_unknown_arm_is_shown_under_its_own_name() -> None:
    new = {"arms": {"telepathy": {"strength": 0.5, "rank": 3}}}
    assert sentence(new) == "Found by telepathy (rank 3)."
    assert terms(new) == (("telepathy", "strength 0.5; rank 3"),)


@pytest.mark.parametrize("value", [1e300, -1e300, 1e-300, 0.0])
def test_extreme_numbers_never_raise(value: float) -> None:
    extreme = FULL | {"score": FULL["score"] | {"log_odds": value, "vitality": value}}
    assert sentence(extreme)
    assert not math.isnan(len(terms(extreme)))
