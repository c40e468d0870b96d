"""What recall.search finds, in which order and why, judged in a real Postgres."""

from __future__ import annotations

import math
import random
import re
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from pgrecall.client import Memory
from pgrecall.errors import EmbedderError, InvalidInput
from pgrecall.search.embedding import HashEmbedder, Vectors
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS, NOW, Query

Rows = list[dict[str, Any]]

TINY = 1e-9
DAY = timedelta(days=1)

law = hypothesis_settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def remember(query: Query, body: str, *, tenant: str = "acme", now: datetime = NOW, **fields: Any) -> int:
    values = {"body": body, "now": now, **fields}
    call = ", ".join(f"p_{name} => %({name})s" for name in values)
    return int(query(f"SELECT recall.remember({call}) AS id", values, tenant=tenant)[0]["id"])


def search(query: Query, text: str, *, tenant: str = "acme", now: datetime = NOW, **options: Any) -> Rows:
    values = {"query": text, "now": now, **options}
    call = ", ".join(f"p_{name} => %({name})s" for name in values)
    return query(f"SELECT * FROM recall.search({call})", values, tenant=tenant)


def keys(rows: Rows) -> list[str]:
    return [row["key"] for row in rows]


def relevances(rows: Rows) -> dict[str, float]:
    return {row["key"]: row["relevance"] for row in rows}


def count_words(query: Query, tenant: str = "acme") -> None:
    query("SELECT recall.refresh_lexemes()", tenant=tenant)


def vector(*shares: tuple[int, float]) -> str:
    """A unit vector: the given shares along the given axes, the rest of its length along the last axis."""
    values = [0.0] * DIMENSIONS
    for axis, share in shares:
        values[axis] = share
    values[-1] = math.sqrt(max(0.0, 1 - sum(share * share for share in values)))
    return "[" + ",".join(f"{value:.5f}" for value in values) + "]"


def logistic(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))


def idf(documents: int, total: int) -> float:
    return math.log(1 + (total - documents + 0.5) / (documents + 0.5))


# --- the arms -------------------------------------------------------------------------------------------


def test_words_alone_find_a_memory(query: Query) -> None:
    remember(query, "The harbour contract is signed on Friday", key="contract")
    remember(query, "Gulls nest under the crane", key="gulls")

    (hit,) = search(query, "who signs contracts?")

    assert hit["key"] == "contract"
    assert set(hit["explanation"]["arms"]) == {"lexical"}
    assert set(hit["explanation"]["arms"]["lexical"]["words"]) == {"sign", "contract"}


def test_meaning_alone_finds_a_paraphrase(query: Query) -> None:
    remember(query, "Swap the sensor credentials", key="paraphrase", embedding=vector((0, 0.9)))
    remember(query, "Gulls nest under the crane", key="other", embedding=vector((1, 0.9)))

    first, second = search(query, "how are passwords renewed", embedding=vector((0, 1.0)))

    assert (first["key"], second["key"]) == ("paraphrase", "other")
    assert first["explanation"]["arms"]["semantic"]["similarity"] == pytest.approx(0.9, abs=1e-3)
    assert set(first["explanation"]["arms"]) == {"semantic"}


@pytest.mark.parametrize(
    ("question", "likeness"),
    [
        ("Cedric Hurst", 1),
        ("cedric   HURST", 1),
        ("what is Cedric Hurst like to deal with, and does he answer his letters", 1),
        ("what are Cedric Hurst's phone preferences these days", 1),
        ("Ceddy", 1),
        ("people/cedric", 1),
        (" people/cedric ", 1),
        ("Cedrci Hurst", 0.5),
        ("when does Cedrci Hurst come to the office with the forms", 0.5),
    ],
)
def test_a_name_or_a_key_alone_finds_its_entity(query: Query, question: str, likeness: float) -> None:
    remember(
        query, "A customer.", title="Cedric Hurst", key="people/cedric", layer="entity", aliases=["Ceddy"]
    )
    remember(query, "A colleague.", title="Odile Fontaine", key="people/odile", layer="entity")
    remember(query, "Where forms for the office are kept", key="forms")

    best = search(query, question)[0]

    assert best["key"] == "people/cedric"
    assert best["explanation"]["arms"]["name"]["likeness"] >= likeness


@pytest.mark.parametrize(
    "title",
    [
        "The Old Lighthouse at Harbour Point",
        "St. Mary's",
        "C++",
        "AT&T (Europe)",
        "O'Brien & Sons, Ltd.",
        "It",
        "Þóra Ægisdóttir",
        "Людмила",
    ],
)
def test_an_entity_is_found_by_its_exact_title_whatever_it_is_called(query: Query, title: str) -> None:
    remember(query, "Something else.", title="Odile Fontaine", key="odile", layer="entity")
    remember(query, "An entity.", title=title, key="wanted", layer="entity")

    best = search(query, title)[0]

    assert best["key"] == "wanted"
    assert best["explanation"]["arms"]["name"]["likeness"] == 1


def test_a_key_is_found_even_when_it_is_a_stop_word(query: Query) -> None:
    remember(query, "Everything at once", key="all")

    assert keys(search(query, "all")) == ["all"]


@pytest.mark.parametrize("arm", ["semantic", "lexical", "name"])
def test_a_memory_found_by_one_arm_alone_can_be_first(query: Query, arm: str) -> None:
    for number in range(5):  # weak answers that two arms agree on
        remember(query, f"boats and weather {number}", key=f"weak-{number}", embedding=vector((0, 0.3)))
    remember(query, "An unlike text", key="semantic", embedding=vector((0, 0.95)))
    remember(query, "Zanzibar cardamom inventory", key="lexical", embedding=vector((9, 0.9)))
    remember(query, "A person", title="Quill Zephyr", key="name", layer="entity", embedding=vector((9, 0.9)))
    question = {
        "semantic": "boats",
        "lexical": "zanzibar cardamom inventory boats",
        "name": "quill zephyr boats",
    }

    best = search(
        query, question[arm], embedding=vector((0, 1.0)) if arm == "semantic" else vector((20, 1.0))
    )[0]

    assert best["key"] == arm
    assert arm in best["explanation"]["arms"]


# --- words without an embedding ---------------------------------------------------------------------------


@pytest.mark.parametrize("counted", [False, True])
def test_a_rare_word_outweighs_a_common_one(query: Query, counted: bool) -> None:
    for number in range(9):
        remember(query, f"The harbour in month {number}", key=f"common-{number}")
    remember(query, "The anemometer on the mole", key="rare")
    if counted:
        count_words(query)

    hits = search(query, "harbour anemometer", k=20)

    assert hits[0]["key"] == "rare"
    assert len(hits) == 10
    words = hits[0]["explanation"]["arms"]["lexical"]["words"]
    assert words == {"anemomet": pytest.approx(idf(1, 10), abs=1e-3)}
    assert hits[1]["explanation"]["arms"]["lexical"]["words"]["harbour"] == pytest.approx(
        idf(9, 10), abs=1e-3
    )


def test_statistics_change_no_answer_when_they_are_fresh(query: Query) -> None:
    for number, body in enumerate(["tide gauge", "tide table", "gauge house", "gauge gauge tide"]):
        remember(query, body, key=str(number))
    before = relevances(search(query, "tide gauge house"))

    count_words(query)

    assert relevances(search(query, "tide gauge house")) == pytest.approx(before, abs=TINY)


def test_a_word_newer_than_the_statistics_still_finds(query: Query) -> None:
    remember(query, "tide gauge", key="old")
    count_words(query)
    remember(query, "theodolite", key="new")

    assert keys(search(query, "the tide at the theodolite"))[0] == "new"


def test_words_that_nobody_knows_do_not_hide_a_common_one(query: Query) -> None:
    query(
        "INSERT INTO recall.lexeme (tenant, word, documents) "
        "VALUES ('acme', '', 9000), ('acme', 'harbour', 5000)"
    )
    remember(query, "The harbour", key="harbour")

    assert keys(search(query, "qwertyuiop harbour")) == ["harbour"]


def test_a_long_question_of_unknown_words_still_finds_by_the_known_ones(query: Query) -> None:
    remember(query, "The anemometer on the mole", key="mole")
    count_words(query)

    assert keys(search(query, " ".join(f"unheard{n}" for n in range(40)) + " anemometer mole")) == ["mole"]


def test_more_matching_words_are_more_relevant(query: Query) -> None:
    remember(query, "tide", key="one")
    remember(query, "tide and surge", key="two")
    remember(query, "tide and surge and swell", key="three")

    assert keys(search(query, "tide surge swell")) == ["three", "two", "one"]


def test_the_body_outweighs_the_context(query: Query) -> None:
    remember(query, "theodolite", key="body")
    remember(query, "something else", context="theodolite", key="context")

    hits = search(query, "theodolite")

    assert keys(hits) == ["body", "context"]
    assert hits[0]["relevance"] > hits[1]["relevance"]


@pytest.mark.parametrize("field", ["title", "author", "context", "tags", "aliases"])
def test_every_described_field_is_searched_by_words(query: Query, field: str) -> None:
    value: Any = ["theodolite"] if field in ("tags", "aliases") else "theodolite"
    remember(query, "A text", key="wanted", **{field: value})

    assert keys(search(query, "where was the theodolite left")) == ["wanted"]


def test_an_author_named_in_the_question_counts(query: Query) -> None:
    remember(query, "I mended the pump", author="Mira Okafor", key="mira")
    remember(query, "I mended the pump", author="Tomas Lindqvist", key="tomas")

    hits = search(query, "did Tomas mend the pump")

    assert hits[0]["key"] == "tomas"
    assert hits[0]["explanation"]["relevance"]["author"] > 0
    assert hits[1]["explanation"]["relevance"]["author"] == 0


def test_a_memory_without_embedding_is_found_beside_embedded_ones(query: Query) -> None:
    remember(query, "the anemometer", key="bare")
    remember(query, "gulls", key="embedded", embedding=vector((0, 0.9)))

    hits = search(query, "anemometer", embedding=vector((0, 1.0)))

    assert set(keys(hits)) == {"bare", "embedded"}
    assert "semantic" not in next(h for h in hits if h["key"] == "bare")["explanation"]["arms"]


def test_a_zero_vector_makes_no_memory_win(query: Query) -> None:
    zero = "[" + ",".join(["0"] * DIMENSIONS) + "]"
    remember(query, "tide", key="zero", embedding=vector((1, 0.5)))
    query("UPDATE recall.memory SET embedding = %s", (zero,))
    remember(query, "tide", key="near", embedding=vector((0, 0.99)))

    hits = search(query, "tide", embedding=vector((0, 1.0)))

    assert keys(hits) == ["near", "zero"]
    assert all(math.isfinite(hit["score"]) for hit in hits)


# --- filters ----------------------------------------------------------------------------------------------

JANUARY, FEBRUARY, MARCH = (datetime(2026, month, 1, tzinfo=UTC) for month in (1, 2, 3))


@pytest.fixture
def harbour(query: Query) -> Query:
    """One memory for each way to be filtered out; every one speaks of the harbour."""
    remember(query, "harbour", key="plain", occurred_at=JANUARY)
    remember(query, "harbour", key="entity", layer="entity", title="Ropeworks", occurred_at=FEBRUARY)
    remember(query, "harbour", key="said", layer="episodic", role="user", author="Mira", occurred_at=FEBRUARY)
    remember(
        query, "harbour", key="answered", layer="episodic", role="assistant", author="Bot", occurred_at=MARCH
    )
    remember(
        query, "harbour", key="tagged", tags=["tide", "gauge"], occurred_at=MARCH - timedelta(microseconds=1)
    )
    remember(query, "harbour", key="half-tagged", tags=["tide"], occurred_at=MARCH)
    for key in ("archived", "superseded", "expired", "not-yet", "no-more"):
        remember(query, "harbour", key=key, tags=["special"], occurred_at=JANUARY)
    query("SELECT recall.forget(recall.id_of('archived'), p_now => %s)", (NOW,))
    query("UPDATE recall.memory SET superseded_by = recall.id_of('plain') WHERE key = 'superseded'")
    query("UPDATE recall.memory SET expires_at = %s WHERE key = 'expired'", (NOW,))
    query("UPDATE recall.memory SET valid_from = %s WHERE key = 'not-yet'", (NOW + DAY,))
    query("UPDATE recall.memory SET valid_until = %s WHERE key = 'no-more'", (NOW,))
    return query


LIVE = {"plain", "entity", "said", "answered", "tagged", "half-tagged"}


@pytest.mark.parametrize("vector_given", [False, True])
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, LIVE),
        ({"layers": ["entity", "episodic"]}, {"entity", "said", "answered"}),
        ({"layers": []}, set()),
        ({"roles": ["assistant"]}, {"answered"}),
        ({"authors": ["Mira", "Nobody"]}, {"said"}),
        ({"tags": ["tide"]}, {"tagged", "half-tagged"}),
        ({"tags": ["gauge", "tide"]}, {"tagged"}),
        ({"tags": []}, LIVE),
        ({"since": FEBRUARY}, LIVE - {"plain"}),
        ({"until": FEBRUARY}, {"plain"}),
        ({"since": FEBRUARY, "until": MARCH}, {"entity", "said", "tagged"}),
        ({"include_archived": True}, LIVE | {"archived"}),
        ({"include_superseded": True}, LIVE | {"superseded"}),
        ({"include_invalid": True}, LIVE | {"expired", "not-yet", "no-more"}),
        ({"include_archived": True, "tags": ["special"]}, {"archived"}),
        (
            {
                "include_archived": True,
                "include_superseded": True,
                "include_invalid": True,
                "tags": ["special"],
            },
            {"archived", "superseded", "expired", "not-yet", "no-more"},
        ),
        ({"layers": ["episodic"], "since": FEBRUARY, "until": MARCH}, {"said"}),
        ({"layers": ["episodic"], "roles": ["user"], "authors": ["Mira"], "since": MARCH}, set()),
        ({"layers": ["knowledge"], "tags": ["tide"], "until": MARCH}, {"tagged"}),
        ({"min_relevance": 1}, set()),
    ],
)
def test_filters_let_through_exactly_what_they_say(
    harbour: Query, options: dict[str, Any], expected: set[str], vector_given: bool
) -> None:
    if vector_given:  # no memory has one: the semantic arm runs and adds nothing
        options = options | {"embedding": vector((0, 1.0))}

    assert set(keys(search(harbour, "harbour", k=50, **options))) == expected


def test_filters_hold_for_the_semantic_arm(query: Query) -> None:
    remember(query, "one", key="in", tags=["t"], embedding=vector((0, 0.5)))
    remember(query, "two", key="out", embedding=vector((0, 0.9)))

    assert keys(search(query, "three", embedding=vector((0, 1.0)), tags=["t"])) == ["in"]


def test_filters_hold_for_exact_names_and_keys(query: Query) -> None:
    remember(query, "A person", title="Cedric Hurst", key="cedric", layer="entity")

    assert search(query, "Cedric Hurst", layers=["knowledge"]) == []
    assert search(query, "cedric", layers=["knowledge"]) == []


@pytest.mark.parametrize(
    ("moment", "there"),
    [(NOW - 2 * DAY, False), (NOW - DAY, True), (NOW, True), (NOW + DAY, False), (NOW + 2 * DAY, False)],
)
def test_validity_is_asked_at_the_given_moment_and_half_open(
    query: Query, moment: datetime, there: bool
) -> None:
    remember(query, "harbour", key="a", occurred_at=JANUARY)
    query("UPDATE recall.memory SET valid_from = %s, valid_until = %s", (NOW - DAY, NOW + DAY))

    assert (search(query, "harbour", now=moment) != []) is there


def test_min_relevance_cuts_by_relevance_not_by_score(query: Query) -> None:
    remember(query, "tide surge swell", key="good", now=NOW - 3000 * DAY)
    remember(query, "tide", key="fresh", now=NOW)
    scores = {row["key"]: row for row in search(query, "tide surge swell", vitality_weight=10)}
    assert scores["good"]["relevance"] > scores["fresh"]["relevance"]
    assert scores["good"]["score"] < scores["fresh"]["score"]

    threshold = scores["good"]["relevance"]

    assert keys(search(query, "tide surge swell", vitality_weight=10, min_relevance=threshold)) == ["good"]


def test_the_client_passes_every_filter_on(memory: Memory) -> None:
    memory.remember("harbour", key="a", layer="episodic", role="user", author="Mira", tags=("x", "y"))
    memory.remember("harbour", key="b")

    found = memory.search(
        "harbour", layers=("episodic",), roles=("user",), authors=("Mira",), tags=("x",), min_relevance=0.0001
    )

    assert [hit.key for hit in found.hits] == ["a"]
    assert memory.search("harbour", tags=("z",)).no_match


# --- laws of the order ------------------------------------------------------------------------------------

WORDS = ["tide", "gauge", "surge", "swell", "storm", "harbour", "crane", "buoy"]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


@law
@given(
    corpus=st.lists(st.tuples(texts, st.floats(-0.99, 0.99)), min_size=1, max_size=8),
    added=st.tuples(texts, st.floats(-0.99, 0.99)),
    question=texts,
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
        answers.append([{name: value for name, value in row.items() if name != "id"} for row in rows])

    assert answers[0] == answers[1] == answers[2]


def test_ties_are_ordered_by_id(query: Query) -> None:
    ids = [remember(query, "the same text", key=key) for key in ("c", "a", "b", "d")]

    hits = search(query, "same text")

    assert [hit["id"] for hit in hits] == ids
    assert len({hit["score"] for hit in hits}) == 1
    assert [hit["rank"] for hit in hits] == [1, 2, 3, 4]


# --- vitality ---------------------------------------------------------------------------------------------


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


MODES = {
    "odds": lambda p, v, weight: logistic(math.log(p / (1 - p)) + weight * (math.log(v / (1 - v)) + 0.7)),
    "multiply": lambda p, v, _: p * v,
    "bounded": lambda p, v, weight: p * (1 - weight + weight * v),
    "off": lambda p, *_: p,
}


@pytest.mark.parametrize("weight", [0, 0.25, 0.5, 1])
@pytest.mark.parametrize("mode", MODES)
def test_each_mode_weighs_as_documented(ages: Query, mode: str, weight: float) -> None:
    hits = search(ages, "harbour storm", vitality_mode=mode, vitality_weight=weight)

    assert len(hits) == 5
    for hit in hits:
        assert hit["score"] == pytest.approx(MODES[mode](hit["relevance"], hit["vitality"], weight), abs=TINY)
    assert hits == sorted(hits, key=lambda hit: (-hit["explanation"]["score"]["log_odds"], hit["id"]))


@pytest.mark.parametrize("mode", ["odds", "bounded"])
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
@pytest.mark.parametrize("mode", ["odds", "multiply", "bounded"])
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
    memory.remember("the harbour contract", key="a")
    memory.record_access("a", "used")
    far = datetime(2030, 1, 1, tzinfo=UTC)

    scores = [memory.search("harbour contract", now=far + days * DAY).hits[0] for days in (0, 30, 300)]

    assert scores[0].score > scores[1].score > scores[2].score
    assert len({hit.relevance for hit in scores}) == 1


def test_shown_vitality_is_that_of_the_asked_moment(query: Query) -> None:
    one = remember(query, "harbour", key="a", now=NOW - 5 * DAY)

    (hit,) = search(query, "harbour", now=NOW + 7 * DAY)

    assert hit["vitality"] == query("SELECT recall.vitality(%s, %s) AS v", (one, NOW + 7 * DAY))[0]["v"]


# --- explanations -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["odds", "multiply", "bounded", "off"])
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
            median = -0.7 if hit["layer"] == "knowledge" else 0
            base = hit["explanation"]["vitality"]["base"]
            assert score["vitality"] == pytest.approx(score["weight"] * (base - median), abs=TINY)


def test_the_vitality_terms_are_those_of_explain_vitality(ages: Query) -> None:
    for hit in search(ages, "harbour storm"):
        (terms,) = ages("SELECT * FROM recall.explain_vitality(%s, %s)", (hit["id"], NOW))
        assert hit["explanation"]["vitality"] == terms
        assert (hit["vitality"], hit["zone"]) == (terms["vitality"], terms["zone"])


def test_an_explanation_can_be_left_out(query: Query) -> None:
    remember(query, "harbour", key="a")

    with_it, without = search(query, "harbour")[0], search(query, "harbour", explain=False)[0]

    assert without["explanation"] is None
    assert with_it | {"explanation": None} == without


# --- names in questions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "embedded", "names"),
    [
        ("what does Cedric Hurst pay", "what does pay", ["cedric hurst"]),
        ("what did Mira Okafor say about the pump", "what did say about the pump", ["mira okafor", "mira"]),
        ("what did mira say about the pump", "what did say about the pump", ["mira"]),
        ("where is Mira's pump", "where is pump", ["mira"]),
        ("where is Mira’s pump", "where is pump", ["mira"]),
        ("Ceddy pays for the pump", "pays for the pump", ["ceddy"]),
        ("the miracle at the pump", "the miracle at the pump", []),
        (
            "is the pump at J. R. (Bob) Dobbs+Sons* [Ltd]?",
            "is the pump at J. R. (Bob) Dobbs+Sons* [Ltd]?",
            [],
        ),
        ("the pump of dr.no-one", "the pump of", ["dr.no-one"]),
        ("the pump of drxno-one", "the pump of drxno-one", []),
        ("Cedric Hurst and Mira Okafor", "Cedric Hurst and Mira Okafor", []),
        ("who is Mira?", "who is Mira?", []),
    ],
)
def test_names_are_taken_out_of_the_embedded_question(
    query: Query, question: str, embedded: str, names: list[str]
) -> None:
    remember(query, "A", title="Cedric Hurst", layer="entity", aliases=["Ceddy"])
    remember(query, "B", title="J. R. (Bob) Dobbs+Sons* [Ltd]", layer="entity")
    remember(query, "C", title="Dr.No-One", layer="entity")
    remember(query, "The pump is mended", author="Mira Okafor")

    (answer,) = query("SELECT * FROM recall.question_without_names(%s)", (question,))

    assert answer == {"question": embedded, "names": names}


class Recording(HashEmbedder):
    """A hash embedder that keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(DIMENSIONS)
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked.extend(texts)
        return super().embed(texts)


def test_the_client_embeds_the_question_without_names(memory: Memory, settings: Settings) -> None:
    memory.remember("The pump is mended", author="Mira Okafor", key="pump")
    embedder = Recording()

    with Memory(settings=settings, embedder=embedder) as client:
        found = client.search("what did Mira Okafor mend at the pump")

    assert embedder.asked == ["what did mend at the pump"]
    assert found.names == ("mira okafor", "mira")
    assert found.skipped == ()
    assert found.hits[0].key == "pump"


# --- when meaning is not to be had ------------------------------------------------------------------------


class Down(HashEmbedder):
    def embed(self, texts: Sequence[str]) -> Vectors:
        del texts
        raise EmbedderError("The endpoint does not answer.")


def test_words_answer_when_the_embedder_is_down(memory: Memory, settings: Settings) -> None:
    memory.remember("the harbour contract", key="contract")

    with Memory(settings=settings, embedder=Down(DIMENSIONS)) as client:
        found = client.search("harbour contract")

    assert [hit.key for hit in found.hits] == ["contract"]
    assert found.skipped == ("meaning: The endpoint does not answer.",)
    assert "semantic" not in found.hits[0].explanation["arms"]


def test_words_answer_without_an_embedder(memory: Memory, settings: Settings) -> None:
    memory.remember("the harbour contract", key="contract")

    with Memory(settings=settings.model_copy(update={"embedder": "none"})) as client:
        client.remember("the harbour crane", key="crane")
        found = client.search("harbour contract")

    assert [hit.key for hit in found.hits] == ["contract", "crane"]
    assert found.skipped == ("meaning: no embedder is configured",)


# --- tenants ----------------------------------------------------------------------------------------------


@pytest.fixture
def neighbours(query: Query) -> Query:
    """What tenant ``rival`` keeps; tenant ``acme`` has two memories that share some of its words."""
    remember(query, "A", title="Cedric Hurst", key="cedric", layer="entity", tenant="rival")
    for number in range(5):
        remember(
            query,
            "harbour contract",
            key=f"secret-{number}",
            author="Mira Okafor",
            embedding=vector((0, 0.9)),
            tenant="rival",
        )
    remember(query, "harbour", key="ours", embedding=vector((0, 0.2)))
    remember(query, "contract", key="ours too")
    return query


@pytest.mark.parametrize(
    "question", ["harbour contract", "Cedric Hurst", "Cedrci Hurst", "cedric", "secret-1 harbour"]
)
def test_nothing_of_another_tenant_is_found(neighbours: Query, question: str) -> None:
    hits = search(
        neighbours,
        question,
        embedding=vector((0, 1.0)),
        include_archived=True,
        include_superseded=True,
        include_invalid=True,
        k=100,
    )

    assert set(keys(hits)) <= {"ours", "ours too"}
    assert not any("name" in hit["explanation"]["arms"] for hit in hits)


def test_names_of_another_tenant_stay_in_the_question(neighbours: Query) -> None:
    question = "what does Mira Okafor say of Cedric Hurst and the pump"

    (answer,) = neighbours("SELECT * FROM recall.question_without_names(%s)", (question,))

    assert answer == {"question": question, "names": []}


@pytest.mark.parametrize("counted", [False, True])
def test_words_of_another_tenant_do_not_count(neighbours: Query, counted: bool) -> None:
    if counted:
        count_words(neighbours)
        count_words(neighbours, "rival")

    hits = {hit["key"]: hit for hit in search(neighbours, "harbour contract")}

    assert hits["ours"]["explanation"]["arms"]["lexical"]["words"]["harbour"] == pytest.approx(
        idf(1, 2), abs=1e-3
    )


def test_an_empty_tenant_finds_nothing_and_fails_at_nothing(neighbours: Query) -> None:
    for question in ("harbour contract", "Cedric Hurst", "cedric"):
        assert search(neighbours, question, embedding=vector((0, 1.0)), tenant="nobody") == []


# --- any text can be asked --------------------------------------------------------------------------------

ODD = [
    "a & !b | (",
    "harbour & !contract | ( <-> :*",
    "'; DROP TABLE recall.memory; --",
    "it's \"quoted\" 'twice'",
    "back\\slash \\' \\\\",
    "100%_done",
    "%(query)s %s {0}",
    "snake_case __init__",
    "harbour 🙂 contract",
    "مرفأ harbour עברית",
    "\u202eharbour\u202c",
    "harbour\ttab\nnewline\r\n",
    "http://example.org/a?b=c&d=%20 harbour",
    "a@b.example -1.5e10 v1.2.3 <b>html</b>",
    "(((((((((( harbour ))))))))))",
    "[[Wiki|link]] .* ^$ {1,3} harbour+",
    "harbour " * 1249,
    ("x" * 9_000) + " harbour",
    " ".join(f"word{number}" for number in range(1000)),
    "a." * 3000 + "harbour",
]


@pytest.mark.parametrize("question", ODD, ids=range(len(ODD)))
def test_no_question_with_a_word_in_it_is_refused(memory: Memory, question: str) -> None:
    memory.remember(
        "the harbour contract", key="contract", title="Harbour", layer="entity", author="O'Neill (x)+"
    )

    found = memory.search(question)

    assert found.skipped == ()
    assert found.hits  # the embedded question is near to something


REFUSED = re.compile(r"The query (is empty\.|E?'.*' holds only stop words or punctuation\.)", re.DOTALL)


@law
@example("'")
@example("\\")
@example("''\\''")
@example("\u0085 ' \\ \u2028")
@example("a:*b & 'c\\")
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=60))
def test_any_text_is_answered_or_refused_in_a_sentence(query: Query, question: str) -> None:
    if not query("SELECT FROM recall.memory LIMIT 1"):
        remember(query, "harbour", title=".*+?^${}()|[]\\", layer="entity", author="a.*(b")
    try:
        search(query, question)
        query("SELECT * FROM recall.question_without_names(%s)", (question,))
    except psycopg.errors.InvalidParameterValue as refused:
        if not REFUSED.match(str(refused)):
            raise


@pytest.mark.parametrize(
    ("body", "question"),
    [
        ("Die Schlüssel liegen im Büro", "schlüssel büro"),
        ("Ångström is a unit", "ÅNGSTRÖM"),
        ("Ключ лежит под камнем", "где КЛЮЧ"),
        ("Το κλειδί είναι εδώ", "κλειδί"),
        ("المفتاح تحت الحجر", "المفتاح"),
        ("המפתח מתחת לאבן", "המפתח"),
        ("鍵 は 石 の 下", "鍵"),
        ("열쇠는 돌 아래에 있다", "열쇠는"),
        ("कुंजी पत्थर", "पत्थर"),
        ("snake_case_name", "snake_case_name"),
        ("see https://example.org/tide/table", "example.org/tide/table"),
        ("write to mira@example.org", "mira@example.org"),
        ("version 1.2.3 is out", "1.2.3"),
    ],
)
def test_text_of_any_script_is_found_by_its_words(query: Query, body: str, question: str) -> None:
    remember(query, "harbour", key="other")
    remember(query, body, key="wanted")

    assert keys(search(query, question)) == ["wanted"]


def test_only_stop_words_are_refused_with_a_vector_too(memory: Memory) -> None:
    memory.remember("harbour")

    with pytest.raises(InvalidInput, match="only stop words"):
        memory.search("what is it about")


# Layers of different pace


def test_layers_compare_once_their_medians_are_known(memory: Memory, query: Query) -> None:
    """An entity is livelier than any message for years; measured against its own layer it is not special."""
    born = NOW - 40 * DAY
    remember(query, "harbour contract notes", key="person", layer="entity", now=born)
    remember(query, "harbour contract notes", key="message", layer="activity", now=born)

    def order() -> list[str | None]:
        return [hit.key for hit in memory.search("harbour contract", vitality_weight=1, now=NOW).hits]

    assert order()[0] == "person"
    memory.refresh_statistics(now=NOW)
    [median] = query("SELECT base FROM recall.layer_median WHERE tenant = 'acme' AND layer = 'entity'")
    assert median["base"] == pytest.approx(memory.get("person", now=NOW).vitality.base)
    scores = {hit.key: hit.score - hit.relevance for hit in memory.search("harbour contract", now=NOW).hits}
    assert scores["person"] == pytest.approx(0, abs=1e-9)
    assert scores["message"] == pytest.approx(0, abs=1e-9)


def test_a_question_that_is_nothing_but_a_name_is_about_it(query: Query) -> None:
    remember(query, "He sails.", title="Cedric Hurst", key="cedric", layer="entity")
    remember(query, "The storm of the year.", title="Storm Ylva", key="storm")
    remember(query, "storm storm storm ylva ylva ylva retro", title="Retro after Storm Ylva", key="retro")
    query("SELECT recall.refresh_lexemes()")
    assert keys(search(query, "Cedrik Hirst"))[0] == "cedric"
    assert keys(search(query, "storm  ylva"))[0] == "storm"
    [hit] = [row for row in search(query, "storm ylva") if row["key"] == "storm"]
    assert hit["explanation"]["arms"]["name"] == {"likeness": 1, "alone": True}
