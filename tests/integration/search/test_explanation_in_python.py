"""The explanation that the Python client makes is the one that SQL makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from pgrecall.nouns.search import grounds
from pgrecall.nouns.search.explanation import Explanation
from pgrecall.nouns.search.grounds import SearchGround
from tests.databases import Query
from tests.integration.search.search_tools import NOW, remember, vector

pytestmark = pytest.mark.in_turns

FOUND = """
WITH found AS MATERIALIZED (
    SELECT * FROM recall.find(%s, %s::halfvec, p_now => %s, p_tokens => %s))
SELECT f.relevance, f.vitality, f.zone, record_send(f.hit_ground) AS hit_ground,
       record_send(s.ground) AS search_ground, recall.hit_explanation(f.hit_ground, s.ground) AS explained
FROM found f CROSS JOIN (SELECT o.search_ground AS ground FROM found o WHERE o.rank = 1) s
ORDER BY f.rank
"""


@pytest.fixture
def world(query: Query) -> None:
    """Memories that every arm finds something in, with uses, links, spreading and protection."""
    before = None
    for number, text in enumerate(
        (
            "The harbour was dredged in March 2026",
            "Which harbour has a crane?",
            "The crane stands in the harbour of Ulm",
            "Always name the harbour first",
            "thanks",
            "The dredger waits at the quay",
        )
    ):
        memory = remember(
            query, text, key=f"m{number}", author="Mira Okafor" if number % 2 else "Ole",
            occurred_at=f"2026-03-0{number + 1}", role="user",
            embedding=vector((number, 0.8)),
        )  # fmt: skip
        if before is not None:
            query("SELECT recall.link(%s, %s, 'next')", (before, memory))
        before = memory
    # A decay below what a person may set as a base.
    rates = "p_metabolic_rate => 0.01, p_base_decay => 0.05, p_reading => 'exponent'"
    query(f"SELECT recall.set_layer('slow', {rates})")
    remember(query, "The harbour of old", key="old", layer="slow")
    remember(query, "A town on the Danube", title="Ulm", layer="entity", key="ulm")
    query("SELECT recall.supersede(recall.id_of('m0'), recall.id_of('m5'))")
    for key in ("m2", "m2", "m3", "ulm"):
        query("SELECT recall.record_access(recall.id_of(%s), 'used', p_session_id => 's')", (key,))
    query("SELECT recall.fold_accesses(), recall.refresh_statistics()")


@pytest.mark.parametrize(
    "request_",
    [
        {"query": "harbour crane"},
        {"query": "harbor"},
        {"query": "Ulm"},
        {"query": "what did Mira Okafor say about the crane in March 2026?"},
        {"query": "how many cranes?", "session_id": "s"},
        {"query": "crane", "queries": ["quay", "dredged"]},
        {"query": "crane", "cues": ["m3"]},
        {"cues": ["m3"]},
        {"since": "2026-03-01T00:00:00Z"},
        {"query": "harbour", "as_of": "2026-04-01T00:00:00Z"},
        {"query": "harbour", "include_superseded": True, "vitality_mode": "multiply"},
        {"query": "harbour", "vitality_mode": "off", "weights": {"lexical": 0.3, "graph": 2}},
        {"query": "harbour crane", "profile": "rrf"},
        {"query": "harbour crane", "profile": "seed"},
    ],
    ids=str,
)
@pytest.mark.parametrize("embedded", [True, False])
def test_python_explains_what_sql_explains(
    query: Query, world: None, request_: dict[str, Any], embedded: bool
) -> None:
    near = vector((2, 0.9)) if embedded and "query" in request_ else None

    rows = query(FOUND, (Jsonb(request_), near, NOW, Jsonb(None)))

    assert rows
    for row in rows:
        made = Explanation(
            row["hit_ground"],
            SearchGround(row["search_ground"]),
            relevance=row["relevance"],
            vitality=row["vitality"],
            zone=row["zone"],
        )
        assert_equal(row["explained"], made)


@pytest.mark.parametrize(
    "kind",
    [
        "hit_ground",
        "evidence",
        "activation",
        "search_ground",
        "relevance_model",
        "weights",
        "analyzed_query",
        "period",
    ],
)
def test_grounds_have_the_fields_of_the_database(query: Query, kind: str) -> None:
    known = getattr(grounds, kind.upper())
    rows = query(
        "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped "
        "ORDER BY attnum",
        (f"recall.{kind}",),
    )
    fields = tuple(row["attname"] for row in rows)
    assert fields[: len(known)] == known
    assert fields == known or kind == "analyzed_query"


GROUND = """
SELECT record_send(ROW(
    -1.5, true, 'odds', NULL, NULL, '{1e300,-0.25,NULL}', 0, NULL, '{Grüße,"a, b",c}',
    ARRAY[jsonb_populate_record(NULL::recall.analyzed_query, %s), NULL],
    ARRAY[ROW('0099-01-02 03:04:05.6Z', NULL, 0, 'früher')::recall.period])::recall.search_ground) AS sent
"""


def test_grounds_are_read_whatever_is_in_them(query: Query) -> None:
    [row] = query(GROUND, (Jsonb({"words": [], "steps": ["word"], "idfs": [2.5, None]}),))
    ground = dict(SearchGround(row["sent"]).fields)
    analyzed = {"words": [], "steps": ["word"], "documents": None, "queries": None, "idfs": [2.5, None]}
    period = {"since": "0099-01-02T03:04:05Z", "until": None, "words": "früher"}
    assert [ground.pop(name) for name in ("now", "window_only", "mode", "weight")] == [
        -1.5,
        True,
        "odds",
        None,
    ]
    assert ground.pop("arms") == [1e300, -0.25, None]
    assert ground.pop("queries") == [
        analyzed | {"query": "Grüße", "period": period},
        {"query": "a, b", "period": None},
        {"query": "c", "period": None},
    ]
    assert (ground["model"], ground["weights"]) == ({}, {})


def assert_equal(sql: Any, python: Any, path: str = "") -> None:
    """Equal to the order of the parts, and to a billionth in numbers."""
    if isinstance(sql, Mapping):
        assert list(sql) == list(python), path
        for name in sql:
            assert_equal(sql[name], python[name], f"{path}/{name}")
    elif isinstance(sql, float | int) and not isinstance(sql, bool):
        assert python == pytest.approx(sql, rel=1e-9, abs=1e-9), path
    else:
        assert python == sql, path
