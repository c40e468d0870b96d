"""Of what the arms found, the most promising is judged, and what answers, applies or is asked for always."""

from __future__ import annotations

import json
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from tests.databases import Query
from tests.integration.search.search_tools import TINY, keys, law, remember, search, vector

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

    assert len(chosen) == min(limit, len(known))
    for kept in chosen:
        for left in known.keys() - chosen:
            (similarity, strength, linked), (other, more, tied) = known[kept], known[left]
            better = (other or 0) > (similarity or 0) and (more or 0) >= (strength or 0) and tied >= linked
            assert not better or similarity is None or abs((other or 0) - similarity) < TINY


def test_a_directive_is_judged_among_many_memories_that_are_more_alike(query: Query) -> None:
    for place in range(60):
        remember(
            query,
            f"The harbour crane number {place}.",
            key=f"crane-{place}",
            layer="episodic",
            role="assistant",
            embedding=vector((0, 0.9)),
        )
    remember(
        query,
        "Always give lengths in metres.",
        key="metres",
        layer="episodic",
        role="user",
        embedding=vector((0, 0.3)),
    )

    hits = search(query, "Can you recommend me a harbour crane?", embedding=vector((0, 0.95)), k=10)

    assert "metres" in keys(hits)
