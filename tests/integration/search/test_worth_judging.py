"""Of what the arms found, the most promising is judged, and what answers, applies or is asked for always."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import NOW
from tests.databases import Query
from tests.integration.search.search_tools import DAY, TINY, keys, law, remember, search, vector

Known = tuple[float | None, float | None, bool]
"""The similarity and the strength of a memory, as far as arms found them, and whether it is linked."""

UNIT = st.none() | st.floats(0, 1, width=16)
FOUND = st.lists(st.tuples(UNIT, UNIT.map(lambda share: share and share * 20), st.booleans()), max_size=30)


def judged(sql: Query, found: Mapping[int, Known], limit: int) -> set[int]:
    near = {place: similarity for place, (similarity, _, _) in found.items() if similarity is not None}
    held = {place: strength for place, (_, strength, _) in found.items() if strength is not None}
    gathered = {
        "near": list(near),
        "similarities": list(near.values()),
        "held": list(held),
        "strengths": list(held.values()),
        "linked": [place for place, (_, _, linked) in found.items() if linked],
        "typical": 0.1,
        "trust": 1,
    }
    [row] = sql(
        "SELECT recall_private.worth_judging(jsonb_populate_record(NULL::recall.gathered, %s::jsonb), w, "
        "'{1,1,1,1,1,1,1}', 20, %s) AS ids FROM recall.relevance_model w "
        "WHERE w.tenant = '*' AND w.embedder = '*' AND w.profile = 'balanced'",
        (json.dumps(gathered), limit),
    )
    return set(row["ids"])


@law
@given(FOUND, st.integers(0, 20))
def test_no_memory_goes_before_one_of_which_the_arms_know_more(
    sql: Query, found: list[Known], limit: int
) -> None:
    known = {place: one for place, one in enumerate(found, start=1) if one != (None, None, False)}

    chosen = judged(sql, known, limit)

    found_by_meaning_or_words = {place for place, one in known.items() if one[:2] != (None, None)}
    assert len(chosen & found_by_meaning_or_words) == min(limit, len(found_by_meaning_or_words))
    for kept in chosen:
        for left in known.keys() - chosen:
            (similarity, strength, linked), (other, more, tied) = known[kept], known[left]
            better = (other or 0) > (similarity or 0) and (more or 0) >= (strength or 0) and tied >= linked
            assert not better or similarity is None or abs((other or 0) - similarity) < TINY


def crowd(query: Query, **fields: Any) -> list[int]:
    """Half are near to the query in meaning, and half hold words of it: more than a search judges."""
    alike = [
        remember(query, f"Nothing of note {'i' * (place + 1)}.", embedding=vector((0, 0.65)), **fields)
        for place in range(30)
    ]
    return alike + [
        remember(query, f"The harbour storm {'i' * (place + 1)}.", embedding=vector((0, 0.4)), **fields)
        for place in range(31)
    ]


def asked(query: Query, text: str = "harbour storm", k: int = 10, **options: Any) -> list[str]:
    return keys(search(query, text, embedding=vector((0, 1.0)), k=k, **options))


def test_a_directive_is_judged_among_many_memories_that_are_more_alike(query: Query) -> None:
    crowd(query, role="assistant")
    remember(query, "Always give lengths in metres.", key="metres", role="user", embedding=vector((0, 0.3)))

    assert "metres" in asked(query, "Can you recommend me a harbour storm?")


def test_memories_hidden_at_a_past_moment_take_no_places(query: Query) -> None:
    for hidden in crowd(query, now=NOW - 9 * DAY) + crowd(query, now=NOW - 9 * DAY):
        query("SELECT recall.forget(%s, p_now => %s)", (hidden, NOW - 5 * DAY))
    for place in range(20):
        remember(query, f"A gantry {place}.", embedding=vector((0, 0.1)), now=NOW - 9 * DAY)

    assert len(asked(query, "gantry", as_of=NOW - DAY)) == 10


def test_neighbours_that_a_filter_hides_take_no_places(query: Query) -> None:
    seeds = crowd(query, role="user")[:3]
    for place in range(40):
        said = remember(query, f"Said {place}.", role="assistant", embedding=vector((0, 0.8)))
        query("SELECT recall.link(%s, %s, 'links_to')", (seeds[place % 3], said))

    assert len(asked(query, roles=["user"])) == 10


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("harbour storm March 2025", {"occurred_at": datetime(2025, 3, 10, tzinfo=UTC)}),
        ("What did I say about the harbour storm?", {"role": "user"}),
        ("Which questions did I ask about the harbour storm?", {"body": "Is it at work?", "role": "user"}),
    ],
)
def test_what_ranks_by_more_than_similarity_and_words_is_judged(
    query: Query, text: str, fields: dict[str, Any]
) -> None:
    crowd(query, role="assistant", occurred_at=datetime(2026, 1, 1, tzinfo=UTC))
    remember(query, **{"body": "Something else.", "key": "target", "embedding": vector((0, 0.55))} | fields)

    assert "target" in asked(query, text, k=17)[:10]
    assert "target" in asked(query, text)


def test_a_memory_that_a_search_did_not_judge_is_beyond_its_pool(query: Query) -> None:
    crowd(query, role="assistant")  # what an assistant remarks in a few words is judged to answer less
    target = remember(query, "Something else.", key="target", embedding=vector((0, 0.55)))

    [row] = query(
        "SELECT recall.explain_miss(%s, %s, %s::halfvec, p_now => %s) AS miss",
        (target, '{"query": "harbour storm"}', vector((0, 1.0)), NOW),
    )

    assert "target" in asked(query, k=17)[:10]
    assert "target" not in asked(query)
    assert row["miss"]["outcome"] == "beyond_pool"
