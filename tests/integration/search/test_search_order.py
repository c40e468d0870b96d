"""The order of what is found: its laws, and what vitality does to it."""

from __future__ import annotations

import math
import random
import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall import Draft, Memory
from pgrecall.vitality.use import fresh_activation, use_term
from tests.conftest import NOW
from tests.databases import Query
from tests.integration.search.search_tools import (
    DAY,
    TINY,
    count_words,
    keys,
    law,
    logistic,
    relevances,
    remember,
    search,
    vector,
)

MINUTE = DAY / 1440
WORDS = ["tide", "gauge", "surge", "swell", "storm", "harbour", "crane", "buoy"]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


@law
@given(
    corpus=st.lists(st.tuples(texts, st.floats(-0.99, 0.99)), min_size=1, max_size=8),
    added=st.tuples(texts, st.floats(-0.99, 0.99)),
    # How far the words of a longer query are trusted depends on the best memory that holds them.
    question=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
)
def test_relevance_does_not_depend_on_other_memories(
    query: Query, corpus: list[tuple[str, float]], added: tuple[str, float], question: str
) -> None:
    tenant = uuid.uuid4().hex
    for number, (body, share) in enumerate(corpus):
        remember(query, body, key=str(number), embedding=vector((0, share)), tenant=tenant)
    count_words(query, tenant)
    asked: dict[str, Any] = {"tenant": tenant, "k": 50, "embedding": vector((0, 1.0))}
    before = relevances(search(query, question, **asked))

    remember(query, added[0], key="added", embedding=vector((0, added[1])), tenant=tenant)

    after = relevances(search(query, question, **asked))
    assert {key: after[key] for key in before} == before
    assert set(after) == set(before) | {"added"}


def sixty(query: Query, order: Sequence[int], tenant: str = "acme") -> None:
    """Sixty memories that differ in words, meaning and age, stored in the given order."""
    for number in order:
        chosen = random.Random(number)
        remember(
            query,
            " ".join(chosen.choices(WORDS, k=5)),
            key=str(number),
            embedding=vector((0, chosen.uniform(-0.9, 0.9))),
            now=NOW - (number + 1) * DAY,
            tenant=tenant,
        )
    count_words(query, tenant)


def test_k_results_are_the_first_k_of_more(query: Query) -> None:
    sixty(query, range(60))
    asked: dict[str, Any] = {"embedding": vector((0, 1.0)), "explain": False}

    for k in (1, 2, 7, 10, 25, 40):
        more = search(query, "storm tide at the crane", k=k + 10, **asked)
        assert search(query, "storm tide at the crane", k=k, **asked) == more[:k]
        assert len(more) == k + 10


def test_the_order_of_writing_changes_nothing(query: Query) -> None:
    orders = [list(range(60)), list(reversed(range(60))), random.Random(1).sample(range(60), 60)]
    answers = []
    for number, order in enumerate(orders):
        sixty(query, order, f"tenant-{number}")
        rows = search(
            query, "storm surge", k=40, embedding=vector((0, 1.0)), explain=False, tenant=f"tenant-{number}"
        )
        ids = {"id", "newer_version"}
        answers.append([{name: value for name, value in row.items() if name not in ids} for row in rows])

    assert answers[0] == answers[1] == answers[2]


def test_ties_are_ordered_by_id(query: Query) -> None:
    ids = [remember(query, "the same text", key=key) for key in ("c", "a", "b", "d")]

    hits = search(query, "same text")

    assert [hit["id"] for hit in hits] == ids
    assert len({hit["score"] for hit in hits}) == 1
    assert [hit["rank"] for hit in hits] == [1, 2, 3, 4]


@pytest.fixture
def ages(query: Query) -> Query:
    """Equally relevant memories of different age and use, and a layer median that is not zero."""
    for days in (0, 1, 30, 3000):
        remember(query, "harbour storm", key=f"{days} days", now=NOW - days * DAY)
    remember(query, "storm", key="weaker", now=NOW - DAY)
    query("SELECT recall.record_access(recall.id_of('30 days'), 'used', %s, p_now => %s)", (NOW - DAY, NOW))
    query(
        "INSERT INTO recall.layer_median (tenant, layer, base, computed_at) "
        "VALUES ('acme', 'knowledge', -0.7, now())"
    )
    return query


MEDIAN = math.exp(-0.7)
"""Of the S of the layer `knowledge` in the fixture above."""


def ranking_sum(query: Query, memory: int, min_age: float = 3600) -> float:
    """S of a memory with every access at least so many seconds old."""
    [row] = query(
        "SELECT recall_private.activation_sum(a, recall_private.vitality_weights('acme'), "
        "recall_private.epoch(%s), %s) AS total "
        "FROM recall.activation a WHERE a.memory_id = %s",
        (NOW, min_age, memory),
    )
    return float(row["total"])


MODES = {
    "odds": lambda p, _, s, weight: logistic(
        math.log(p / (1 - p)) + weight * use_term(s, MEDIAN, fresh_activation())
    ),
    "unbounded": lambda p, v, _, weight: logistic(
        math.log(p / (1 - p)) + weight * math.log(v / (1 - v) / MEDIAN)
    ),
    "multiply": lambda p, v, *_: p * v,
    "bounded": lambda p, v, _, weight: p * (1 - weight + weight * v),
    "off": lambda p, *_: p,
}


@pytest.mark.parametrize("weight", [0, 0.25, 0.5, 1])
@pytest.mark.parametrize("mode", MODES)
def test_each_mode_weighs_as_documented(ages: Query, mode: str, weight: float) -> None:
    hits = search(ages, "harbour storm", vitality_mode=mode, vitality_weight=weight)

    assert len(hits) == 5
    for hit in hits:
        expected = MODES[mode](hit["relevance"], hit["vitality"], ranking_sum(ages, hit["id"]), weight)
        assert hit["score"] == pytest.approx(expected, abs=TINY)
    assert hits == sorted(hits, key=lambda hit: (-hit["explanation"]["score"]["log_odds"], hit["id"]))


def test_where_little_is_used_use_multiplies_the_odds_by_8_at_most(query: Query) -> None:
    """Of three old notes that answer alike, one was used a hundred times within the hour."""
    for key in ("used", "asked", "other"):
        remember(query, "the harbour contract", key=key, now=NOW - 3000 * DAY)
    query("SELECT recall.refresh_medians(%s)", (NOW,))
    for minutes in range(100):
        query(
            "SELECT recall.record_access(recall.id_of('used'), 'used', %s, p_session_id => %s, p_now => %s)",
            (NOW - minutes / 2 * MINUTE, f"s{minutes}", NOW),
        )

    scores = {hit["key"]: hit["explanation"]["score"] for hit in search(query, "harbour contract")}

    assert scores["asked"]["vitality"] == scores["other"]["vitality"] == pytest.approx(0, abs=TINY)
    assert scores["used"]["vitality"] == pytest.approx(0.5 * math.log(32), abs=TINY)


def test_where_all_is_used_a_use_counts_more_and_one_multiplies_the_odds_by_8_at_most(query: Query) -> None:
    """Nine notes were used 1 to 9 times a day ago; then the least used one is used once more."""
    ids = [remember(query, "the harbour contract", key=str(n), now=NOW - 90 * DAY) for n in range(9)]
    for number, memory in enumerate(ids):
        for use in range(number + 1):
            query(
                "SELECT recall.record_access(%s, 'used', %s, p_session_id => %s, p_now => %s)",
                (memory, NOW - DAY - use * 30 * MINUTE, f"s{use}", NOW),
            )
    query("SELECT recall.refresh_medians(%s)", (NOW,))
    [median] = query("SELECT base FROM recall.layer_median WHERE layer = 'knowledge'")
    typical = math.exp(median["base"])

    def added() -> dict[str, float]:
        hits = search(query, "harbour contract")
        return {hit["key"]: hit["explanation"]["score"]["vitality"] for hit in hits}

    before = added()
    query("SELECT recall.record_access(%s, 'used', %s, p_now => %s)", (ids[0], NOW - MINUTE, NOW))
    after = added()

    assert fresh_activation() / typical < 2
    for number, memory in enumerate(ids[1:], 1):
        ratio = ranking_sum(query, memory) / typical
        assert before[str(number)] == pytest.approx(0.8 * math.log((1 + ratio) / 2), abs=TINY)
    assert 0.4 < after["0"] - before["0"] < math.log(8)
    assert after["1"] == before["1"]


def test_what_was_used_in_this_session_counts_as_a_day_old(query: Query) -> None:
    ids = {key: remember(query, "the harbour contract", key=key, now=NOW - 30 * DAY) for key in ("a", "b")}
    for key, session in (("a", "mine"), ("b", "another")):
        query(
            "SELECT recall.record_access(%s, 'used', %s, p_session_id => %s, p_now => %s)",
            (ids[key], NOW - 5 * MINUTE, session, NOW),
        )
    query("SELECT recall.refresh_medians(%s)", (NOW - DAY,))
    [median] = query("SELECT base FROM recall.layer_median WHERE layer = 'knowledge'")

    hits = {hit["key"]: hit for hit in search(query, "harbour contract", session_id="mine")}

    for key, min_age in (("a", 86_400), ("b", 3_600)):
        used = ranking_sum(query, ids[key], min_age)
        expected = 0.5 * use_term(used, math.exp(median["base"]), fresh_activation())
        assert hits[key]["explanation"]["score"]["vitality"] == pytest.approx(expected, abs=TINY)
    assert hits["a"]["vitality"] == hits["b"]["vitality"]
    assert hits["a"]["score"] < hits["b"]["score"]
    alone = {hit["key"]: hit["score"] for hit in search(query, "harbour contract")}
    assert alone["a"] == alone["b"]


@pytest.mark.parametrize("mode", ["odds", "unbounded", "bounded"])
def test_weight_zero_is_vitality_off(ages: Query, mode: str) -> None:
    silent = search(ages, "harbour storm", vitality_mode=mode, vitality_weight=0)
    off = search(ages, "harbour storm", vitality_mode="off")

    assert keys(silent) == keys(off)
    assert [hit["score"] for hit in silent] == pytest.approx([hit["relevance"] for hit in off], abs=TINY)


def test_the_tenants_weight_is_the_default(ages: Query) -> None:
    given_weight = search(ages, "harbour storm", vitality_weight=2)
    ages("INSERT INTO recall.setting (tenant, name, value) VALUES ('acme', 'vitality.weight', '2')")

    assert search(ages, "harbour storm") == given_weight


@pytest.mark.parametrize("question", ["Cedric Hurst", "people/cedric"])
@pytest.mark.parametrize("mode", ["odds", "unbounded", "multiply", "bounded"])
def test_exact_names_and_keys_are_exempt_from_vitality(query: Query, question: str, mode: str) -> None:
    remember(query, "A", title="Cedric Hurst", key="people/cedric", layer="entity", now=NOW - 3000 * DAY)

    (hit,) = search(query, question, vitality_mode=mode)

    assert hit["vitality"] < 0.3
    assert hit["score"] == pytest.approx(hit["relevance"], abs=TINY)
    assert hit["explanation"]["score"]["exempt"] is True


def test_a_misspelt_name_is_not_exempt(query: Query) -> None:
    remember(query, "A", title="Cedric Hurst", key="people/cedric", layer="entity", now=NOW - 3000 * DAY)

    (hit,) = search(query, "Cedrci Hurst")

    assert hit["score"] < hit["relevance"]
    assert hit["explanation"]["score"]["exempt"] is False


def test_the_used_one_of_two_equals_rises_and_falls_back(query: Query) -> None:
    upper = remember(query, "the harbour contract", key="upper", now=NOW - 10 * DAY)
    lower = remember(query, "the harbour contract", key="lower", now=NOW - 11 * DAY)
    assert keys(search(query, "harbour contract")) == ["upper", "lower"]

    query("SELECT recall.record_access(%s, 'used', p_now => %s)", (lower, NOW))

    assert keys(search(query, "harbour contract")) == ["lower", "upper"]
    query("SELECT recall.record_access(%s, 'used', p_now => %s)", (upper, NOW + 30 * DAY))
    assert keys(search(query, "harbour contract", now=NOW + 31 * DAY)) == ["upper", "lower"]


def test_a_score_falls_back_when_the_clock_moves_on(memory: Memory, now: datetime) -> None:
    memory.remember_many([Draft("the harbour contract", key="a")], now=now)
    memory.record_access("a", "used", at=now, now=now)
    far = now + 1300 * DAY

    scores = [memory.search("harbour contract", now=far + days * DAY).hits[0] for days in (0, 30, 300)]

    assert scores[0].score > scores[1].score > scores[2].score
    assert len({hit.relevance for hit in scores}) == 1


def test_shown_vitality_is_that_of_the_asked_moment(query: Query) -> None:
    one = remember(query, "harbour", key="a", now=NOW - 5 * DAY)

    (hit,) = search(query, "harbour", now=NOW + 7 * DAY)

    assert hit["vitality"] == query("SELECT recall.vitality(%s, %s) AS v", (one, NOW + 7 * DAY))[0]["v"]


@pytest.mark.parametrize("mode", ["odds", "unbounded", "multiply", "bounded", "off"])
@pytest.mark.parametrize("embedding", [None, vector((0, 1.0))])
def test_the_score_recomputes_from_its_explanation(ages: Query, mode: str, embedding: str | None) -> None:
    remember(ages, "harbour", title="Ropeworks", key="named", layer="entity", author="Mira Okafor")
    remember(ages, "storm", key="embedded", author="Mira Okafor", embedding=vector((0, 0.6)))
    (model,) = ages("SELECT * FROM recall.relevance_model WHERE profile = 'balanced'")

    hits = search(
        ages, "Mira, is there a harbour storm at Ropewerks", embedding=embedding, vitality_mode=mode
    )

    assert len(hits) == 7
    for hit in hits:
        arms, parts, score = (hit["explanation"][part] for part in ("arms", "relevance", "score"))
        lexical = arms.get("lexical", {"coverage": 0, "strength": 0})
        assert parts["coverage"] == pytest.approx(model["coverage"] * lexical["coverage"], abs=TINY)
        assert parts["information"] == pytest.approx(
            model["information"] * math.log1p(lexical["strength"]), abs=TINY
        )
        assert parts["similarity"] == pytest.approx(
            model["similarity"] * arms["semantic"]["similarity"]
            if "semantic" in arms
            else model["no_similarity"],
            abs=TINY,
        )
        assert parts["name"] == pytest.approx(
            model["name"] * arms.get("name", {"likeness": 0})["likeness"], abs=TINY
        )
        terms = ("intercept", *parts["features"])
        assert parts["logit"] == pytest.approx(sum(parts[term] for term in terms), abs=TINY)
        assert hit["relevance"] == parts["probability"] == pytest.approx(logistic(parts["logit"]), abs=TINY)
        assert score["log_odds"] == pytest.approx(parts["logit"] + score["vitality"], abs=TINY)
        assert hit["score"] == pytest.approx(logistic(score["log_odds"]), abs=TINY)
        if mode == "odds":
            # The layer `entity` has no median yet: two accesses at birth, 100 days ago on a slow clock.
            entity = hit["layer"] == "entity"
            median = 2 * (0.1 * 100) ** -0.5 if entity else MEDIAN
            newest = fresh_activation(0.1, birth_weight=2) if entity else fresh_activation()
            used = use_term(ranking_sum(ages, hit["id"]), median, newest)
            assert score["vitality"] == pytest.approx(score["weight"] * used, abs=TINY)


def test_the_vitality_terms_are_those_of_explain_vitality(ages: Query) -> None:
    for hit in search(ages, "harbour storm"):
        (terms,) = ages("SELECT * FROM recall.explain_vitality(%s, %s)", (hit["id"], NOW))
        assert hit["explanation"]["vitality"] == terms
        assert (hit["vitality"], hit["zone"]) == (terms["vitality"], terms["zone"])


def test_layers_compare_with_and_without_medians(memory: Memory, query: Query) -> None:
    """An entity is livelier than any message for years; measured against its own layer it is not special."""
    born = NOW - 40 * DAY
    remember(query, "harbour contract notes", key="person", layer="entity", now=born)
    remember(query, "harbour contract notes", key="message", layer="activity", now=born)

    before = {hit.key: hit.score for hit in memory.search("harbour contract", now=NOW).hits}
    assert before["person"] == pytest.approx(before["message"])
    memory.maintenance.refresh_statistics(now=NOW)
    [median] = query("SELECT base FROM recall.layer_median WHERE tenant = 'acme' AND layer = 'entity'")
    assert median["base"] == pytest.approx(memory.get("person", now=NOW).vitality.base)
    scores = {hit.key: hit.score - hit.relevance for hit in memory.search("harbour contract", now=NOW).hits}
    assert scores["person"] == pytest.approx(0, abs=1e-9)
    assert scores["message"] == pytest.approx(0, abs=1e-9)
