"""Session coverage: which of the question's words the candidates of a memory's session hold together."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall import Draft, Memory
from tests.databases import Query
from tests.integration.search.search_tools import law

pytestmark = pytest.mark.in_turns

WORDS = ("harbour", "storm", "anchor", "lantern")


def features(memory: Memory, question: str) -> dict[str, dict[str, float]]:
    """The features of each hit, by its key."""
    hits = memory.search(question, vitality_mode="off", k=50).hits
    return {hit.key or "": hit.explanation["relevance"]["features"] for hit in hits}


def turn(key: str, body: str, session: str | None) -> Draft:
    return Draft(body, key=key, session_id=session)


def test_turns_of_a_session_share_their_words(memory: Memory) -> None:
    memory.remember_many(
        [
            turn("a1", "The harbour was closed.", "a"),
            turn("a2", "A storm came in.", "a"),
            turn("b1", "The harbour opened.", "b"),
            turn("c1", "A storm passed.", None),
            turn("c2", "The harbour is deep.", None),
        ]
    )

    found = features(memory, "harbour storm")

    assert found["a1"]["session_coverage"] == pytest.approx(1)
    assert found["a2"]["session_coverage"] == pytest.approx(1)
    for alone in ("b1", "c1", "c2"):
        assert 0 < found[alone]["session_coverage"] < 1
    assert found["b1"]["session_coverage"] == pytest.approx(found["c2"]["session_coverage"])
    assert found["b1"]["session_coverage"] + found["c1"]["session_coverage"] == pytest.approx(1)


def test_a_session_that_holds_more_of_the_words_ranks_first(memory: Memory) -> None:
    memory.remember_many(
        [
            turn("a1", "The harbour was closed today.", "a"),
            turn("b1", "The harbour was closed today.", "b"),
            turn("b2", "A storm had torn its anchor loose.", "b"),
        ]
    )

    hits = memory.search("harbour storm anchor", vitality_mode="off").hits
    order = [hit.key for hit in hits]

    assert order.index("b1") < order.index("a1")
    by_key = {hit.key: hit.explanation["relevance"] for hit in hits}
    assert by_key["b1"]["session_coverage"] > by_key["a1"]["session_coverage"] > 0


def test_another_tenants_session_of_the_same_name_does_not_count(memory: Memory) -> None:
    memory.remember_many([turn("a1", "The harbour was closed.", "a")])
    alone = features(memory, "harbour storm")["a1"]["session_coverage"]
    memory.for_tenant("globex").remember_many([turn("a2", "A storm came in.", "a")])

    assert features(memory, "harbour storm")["a1"]["session_coverage"] == alone


def test_words_that_are_weighed_nothing_leave_no_session_coverage(memory: Memory) -> None:
    memory.remember_many([turn("a1", "The harbour was closed.", "a")])

    (hit,) = memory.search("harbour", weights={"lexical": 0}, vitality_mode="off").hits

    assert hit.explanation["relevance"]["features"]["session_coverage"] == 0


@law
@given(
    held=st.lists(st.booleans(), min_size=16, max_size=16),
    idfs=st.lists(st.floats(0, 20), min_size=1, max_size=16),
)
def test_the_weight_of_the_words_held(query: Query, held: list[bool], idfs: list[float]) -> None:
    mask = sum(1 << place for place, here in enumerate(held) if here)

    (row,) = query("SELECT recall_private.weight_of_held(%s, %s::float8[]) AS weight", (mask, idfs))

    assert row["weight"] == pytest.approx(
        math.fsum(idf for idf, here in zip(idfs, held, strict=False) if here)
    )


@pytest.mark.parametrize("held", [(), ("harbour",), ("storm", "lantern"), WORDS])
def test_words_held_are_bits_in_the_order_of_the_words(query: Query, held: tuple[str, ...]) -> None:
    (row,) = query(
        "SELECT recall_private.words_held(to_tsvector('simple', %s), %s::tsquery[]) AS bits",
        (" ".join(held), list(WORDS)),
    )

    assert row["bits"] == sum(1 << WORDS.index(word) for word in held)


@law
@given(held=st.lists(st.booleans(), min_size=16, max_size=16), asked=st.integers(1, 16))
def test_every_word_of_a_long_question_counts(query: Query, held: list[bool], asked: int) -> None:
    words = [f"word{place}" for place in range(asked)]
    body = " ".join(word for word, here in zip(words, held, strict=False) if here)
    mask = sum(1 << place for place in range(asked) if held[place])

    (row,) = query(
        """
        SELECT recall_private.words_held(t.words, q.queries) AS bits,
               recall_private.lexical_strength(t.words, '{.25, .25, .25, .25}', q.queries, q.idfs) AS
               strength,
               (SELECT sum(recall_private.lexical_strength(
                    t.words, '{.25, .25, .25, .25}', ARRAY[u.query], ARRAY[u.idf]))
                FROM unnest(q.queries, q.idfs) u(query, idf)) AS alone
        FROM (SELECT to_tsvector('simple', %s) AS words OFFSET 0) t,
             (SELECT %s::tsquery[] AS queries,
                     ARRAY(SELECT g::float8 FROM generate_series(1, %s) g) AS idfs OFFSET 0) q
        """,
        (body, words, asked),
    )

    assert row["bits"] == mask
    assert row["strength"] == pytest.approx(row["alone"])
    assert (row["strength"] > 0) == (mask > 0)
