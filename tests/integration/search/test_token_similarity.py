"""Token similarity: the tokens of a question beside those of a memory and of the turn before it (MaxSim)."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall import Draft, Memory
from pgrecall.errors import InvalidInput
from pgrecall.nouns.memories.models import DraftLink
from pgrecall.search.embed.embedder import HashEmbedder, Vectors
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.databases import Query
from tests.integration.search.search_tools import law, remember

pytestmark = pytest.mark.in_turns

BYTES = 6
LINKS_READ = """
SELECT pg_stat_get_xact_tuples_returned('recall.link'::regclass) + (
    SELECT sum(pg_stat_get_xact_tuples_returned(i.indexrelid)) FROM pg_index i
    WHERE i.indrelid = 'recall.link'::regclass)
"""
signs = st.lists(st.binary(min_size=BYTES, max_size=BYTES), min_size=1, max_size=8)


def hexed(tokens: Sequence[bytes]) -> list[str]:
    return [f"x{token.hex()}" for token in tokens]


def as_numbers(tokens: Sequence[bytes]) -> np.ndarray:
    """Signs as -1 and 1, a row for each token."""
    return np.unpackbits(np.frombuffer(b"".join(tokens), np.uint8).reshape(len(tokens), -1), axis=1) * 2.0 - 1


def max_similarity(question: Sequence[bytes], own: Sequence[bytes], before: Sequence[bytes] | None) -> float:
    asked = as_numbers(question)
    best = (asked @ as_numbers(own).T).max(axis=1) / (8 * BYTES)
    if before is not None:
        best = np.maximum(best, 0.9 * (asked @ as_numbers(before).T).max(axis=1) / (8 * BYTES))
    return float(best.mean())


def store(query: Query, memory_id: int, tokens: Sequence[bytes], model: str = "m") -> None:
    query(
        "SELECT recall_private.store_token_signs('acme', ARRAY[%s::bigint], %s::jsonb, %s)",
        (memory_id, json.dumps([hexed(tokens)]), model),
    )


def similarities(
    query: Query,
    ids: list[int],
    question: Sequence[bytes],
    model: str = "m",
    *,
    questions: Sequence[int] = (),
    answers: Sequence[int] = (),
) -> dict[int, float]:
    rows = query(
        "SELECT * FROM recall_private.token_similarities('acme', %s::bigint[], %s, "
        "recall_private.tokens_read(%s::jsonb),"
        " %s::bigint[], %s::bigint[])",
        (ids, model, json.dumps(hexed(question)), list(questions), list(answers)),
    )
    return {row["id"]: row["similarity"] for row in rows}


@law
@given(question=signs, own=signs, before=st.none() | signs)
def test_it_is_what_numpy_says(
    query: Query, question: list[bytes], own: list[bytes], before: list[bytes] | None
) -> None:
    turn = remember(query, "a turn")
    store(query, turn, own)
    if before is not None:
        earlier = remember(query, "the turn before")
        store(query, earlier, before)
        query("SELECT recall.link(%s, %s, 'next')", (earlier, turn))

    assert similarities(query, [turn], question) == {
        turn: pytest.approx(max_similarity(question, own, before))
    }


def test_a_question_before_lends_to_its_answer_alone(query: Query) -> None:
    question = [b"\x0f" * BYTES]
    asked, said = remember(query, "the question"), remember(query, "what follows")
    store(query, asked, question)
    store(query, said, [b"\xf0" * BYTES])
    query("SELECT recall.link(%s, %s, 'next')", (asked, said))

    assert similarities(query, [said], question) == {said: pytest.approx(0.9)}
    assert similarities(query, [said], question, questions=[asked]) == {said: pytest.approx(-1)}
    assert similarities(query, [said], question, questions=[asked], answers=[said]) == {
        said: pytest.approx(0.9)
    }


def test_signs_of_another_model_or_length_are_left_out(query: Query) -> None:
    ours, theirs, shorter, none = (remember(query, f"memory {n}") for n in range(4))
    store(query, ours, [b"\x0f" * BYTES])
    store(query, theirs, [b"\x0f" * BYTES], model="another")
    store(query, shorter, [b"\x0f"])
    store(query, none, [])

    assert similarities(query, [ours, theirs, shorter, none], [b"\x0f" * BYTES]) == {ours: 1}


def test_tokens_by_another_embedder_are_ignored_and_reported(memory: Memory, query: Query) -> None:
    memory.remember("The anchor broke.", key="a")
    assert memory.search("anchor").skipped == ()
    query("UPDATE recall.token_signs SET model = 'another'")

    found = memory.search("anchor")

    assert found.skipped == ("tokens: those that another embedder made of some hits are ignored",)
    assert found.hits[0].explanation["relevance"]["features"]["token_similarity"] is None


def test_a_search_compares_tokens(memory: Memory) -> None:
    memory.remember("The anchor chain of the lighter broke.", key="a")
    memory.remember("Nobody came to the meeting.", key="b")

    (hit, *_) = memory.search("anchor chain").hits

    relevance = hit.explanation["relevance"]
    assert hit.key == "a"
    assert relevance["features"]["token_similarity"] == pytest.approx(1)
    assert relevance["token_similarity"] > 0


def test_the_turn_before_lends_its_tokens(memory: Memory) -> None:
    memory.remember_many(
        [
            Draft("Which anchor broke yesterday?", key="t1", links=(DraftLink("t2", "next"),)),
            Draft("The small one.", key="t2"),
            Draft("The small one.", key="alone"),
        ]
    )

    hits = memory.search("anchor", k=50).hits
    found = {hit.key: hit.explanation["relevance"]["features"]["token_similarity"] for hit in hits}

    assert found["t1"] == pytest.approx(1)
    assert found["t2"] == pytest.approx(0.9)
    assert found["alone"] < 0.6


def test_a_question_is_compared_by_what_it_is_like(memory: Memory, query: Query) -> None:
    memory.remember_many(
        [
            *[Draft(f"The anchor chain of buoy {place}.") for place in range(30)],
            Draft("Which anchor chain?", key="q", links=(DraftLink("a", "next"),)),
            Draft("The small one.", key="a"),
        ]
    )
    query(
        "UPDATE recall.token_signs SET signs = ARRAY[~ signs[1]] WHERE memory_id <> %s", (memory.get("q").id,)
    )

    hits = memory.search("anchor chain", k=50).hits
    [relevance] = [hit.explanation["relevance"] for hit in hits if hit.key == "q"]

    assert relevance["question"] < -4, "more than 24 are before it"
    assert relevance["features"]["token_similarity"] == pytest.approx(1)


def test_questions_that_nobody_answered_take_no_place_among_those_compared(
    memory: Memory, query: Query
) -> None:
    memory.remember_many(
        [
            *[Draft(f"Where is the anchor chain {place}?") for place in range(30)],
            Draft("The anchor chain lies in the locker behind the winch, as it did last year.", key="a"),
        ]
    )
    query(
        "UPDATE recall.token_signs SET signs = ARRAY[~ signs[1]] WHERE memory_id <> %s", (memory.get("a").id,)
    )

    hit = memory.search("anchor chain").hits[0]

    assert hit.key == "a"
    assert hit.explanation["relevance"]["features"]["token_similarity"] == pytest.approx(1)


@pytest.mark.parametrize("empty", ["?", "So?", "\u2026", "\N{OYSTER}"])
def test_a_turn_before_without_tokens_lends_none(memory: Memory, query: Query, empty: str) -> None:
    memory.remember_many(
        [
            Draft(empty, key="t1", links=(DraftLink("t2", "next"),)),
            Draft("The anchor broke yesterday.", key="t2"),
            Draft("The anchor broke yesterday.", key="alone"),
        ]
    )
    query("UPDATE recall.token_signs SET signs = '{}' WHERE memory_id = recall.id_of('t1')")

    hits = memory.search("broken anchor", k=50).hits
    found = {hit.key: hit.explanation["relevance"]["features"]["token_similarity"] for hit in hits}

    assert found["t2"] == found["alone"] > 0


def test_without_meaning_there_is_no_token_similarity(memory: Memory) -> None:
    memory.remember("The anchor broke.", key="a")

    (hit,) = memory.search("anchor", weights={"semantic": 0}).hits

    relevance = hit.explanation["relevance"]
    model = next(m for m in memory.quality.relevance_models("balanced") if m.in_force)
    assert relevance["features"]["token_similarity"] is None
    assert relevance["token_similarity"] == model.coefficients["no_token_similarity"]


class Plain:
    """An embedder without tokens."""

    name, dimensions = f"hash-{DIMENSIONS}", DIMENSIONS

    def embed(self, texts: Sequence[str]) -> Vectors:
        return HashEmbedder(DIMENSIONS).embed(texts)


def test_an_embedder_without_tokens_and_the_job_that_adds_them(
    memory: Memory, settings: Settings, query: Query
) -> None:
    with Memory(settings=settings, embedder=Plain()) as plain:
        plain.remember("The anchor broke.", key="a")
        (hit,) = plain.search("anchor").hits
        assert hit.explanation["relevance"]["features"]["token_similarity"] is None
    assert query("SELECT count(*) AS n FROM recall.token_signs") == [{"n": 0}]

    memory.jobs.run("embed")

    (hit,) = memory.search("anchor").hits
    assert hit.explanation["relevance"]["features"]["token_similarity"] == pytest.approx(1)


def test_signs_follow_their_memory(memory: Memory, query: Query) -> None:
    count = "SELECT count(*) AS n FROM recall.token_signs"
    memory.remember("The anchor broke.", key="a")
    before = query("SELECT signs::text AS signs FROM recall.token_signs")
    memory.remember("The rudder broke.", key="a")
    assert query("SELECT signs::text AS signs FROM recall.token_signs") != before
    query("SELECT recall.remember('Another text by SQL.', p_key => 'a')")
    assert query(count) == [{"n": 0}]
    memory.remember("The rudder broke.", key="b")
    memory.forget("b", hard=True)
    assert query(count) == [{"n": 0}]


@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        ({"a": 1}, "not an array with one element for each of 1 queries"),
        ([["x00"], ["x00"]], "not an array with one element for each of 1 queries"),
        ([["0101"]], "not all x and 1 to 256 hexadecimal digits"),
        ([["x" + "0" * 257]], "not all x and 1 to 256 hexadecimal digits"),
        ([[5]], "not all x and 1 to 256 hexadecimal digits"),
        ([["x00", "x000"]], "not all of one length"),
        ([["x00"] * 33], "the signs of 33 tokens, more than 32"),
        (["x00"], "are not an array"),
    ],
)
def test_token_signs_that_are_none(database_url: str, tokens: object, sentence: str) -> None:
    find = 'SELECT recall.find(\'{"query": "anchor"}\', p_tokens => %s::jsonb)'
    with psycopg.connect(database_url) as connection:
        connection.execute("SELECT set_config('recall.tenant', 'acme', true)")
        with pytest.raises(psycopg.errors.InvalidParameterValue, match=sentence):
            connection.execute(find, (json.dumps(tokens),))


def test_a_draft_with_signs_that_are_none_is_refused(query: Query) -> None:
    with pytest.raises(
        psycopg.errors.InvalidParameterValue, match="The draft cannot be stored: its token signs"
    ):
        query('SELECT recall.remember_many(\'[{"body": "a", "tokens": ["zz"]}]\', \'m\')')


def test_an_embedder_that_breaks_its_promise_of_tokens(memory: Memory, settings: Settings) -> None:
    class Uneven(HashEmbedder):
        def embed_with_tokens(
            self, texts: Sequence[str], max_signs: int
        ) -> list[tuple[list[float], tuple[bytes, ...]]]:
            return [(vector, (b"ab", b"c")[:max_signs]) for vector in self.embed(texts)]

    with (
        Memory(settings=settings, embedder=Uneven(DIMENSIONS)) as client,
        pytest.raises(InvalidInput, match="not all of one length"),
    ):
        client.remember("a text")


def test_links_of_a_hub_are_not_read_to_find_the_turn_before(query: Query, database_url: str) -> None:
    hub, before = remember(query, "the hub"), remember(query, "the turn before")
    store(query, hub, [b"\xff" * BYTES])
    store(query, before, [b"\x00" * BYTES])
    query("SELECT recall.link(%s, %s, 'next')", (before, hub))
    for number in range(60):
        query("SELECT recall.link(%s, %s, 'mentions')", (remember(query, f"note {number}"), hub))

    with psycopg.connect(database_url) as connection:
        connection.execute("SELECT set_config('recall.tenant', 'acme', true)")
        before_it = connection.execute(LINKS_READ).fetchall()
        [(similarity,)] = connection.execute(
            "SELECT similarity FROM recall_private.token_similarities("
            "'acme', ARRAY[%s::bigint], 'm', recall_private.tokens_read(%s::jsonb), '{}', '{}')",
            (hub, json.dumps(hexed([b"\x00" * BYTES]))),
        ).fetchall()
        read = connection.execute(LINKS_READ).fetchall()[0][0] - before_it[0][0]

    assert similarity == pytest.approx(0.9)
    assert read <= 2
