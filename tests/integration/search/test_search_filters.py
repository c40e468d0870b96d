"""Filters let through exactly what they say, in every arm."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pgrecall import Memory
from tests.conftest import NOW
from tests.databases import Query
from tests.integration.search.search_tools import DAY, keys, remember, search, vector

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
        query,
        "harbour",
        key="tagged",
        tags=["tide", "gauge"],
        occurred_at=MARCH - timedelta(microseconds=1),
        metadata='{"project": {"name": "atlas", "steps": [1, 2]}, "open": null}',
    )
    remember(
        query,
        "harbour",
        key="half-tagged",
        tags=["tide"],
        occurred_at=MARCH,
        metadata='{"project": {"name": "borea"}}',
    )
    for key in ("archived", "superseded", "expired", "not-yet", "no-more"):
        remember(query, "harbour", key=key, tags=["special"], occurred_at=JANUARY)
    query("SELECT recall.forget(recall.id_of('archived'), p_now => %s)", (NOW,))
    query("UPDATE recall.memory SET superseded_by = recall.id_of('plain') WHERE key = 'superseded'")
    query("UPDATE recall.memory SET source = 'tides.md' WHERE key = 'tagged'")
    query("UPDATE recall.memory SET source = 'Tides.md' WHERE key = 'half-tagged'")
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
        ({"sources": ["tides.md"]}, {"tagged"}),
        ({"sources": ["tides.md", "Tides.md", "none"]}, {"tagged", "half-tagged"}),
        ({"sources": []}, set()),
        ({"metadata": "{}"}, LIVE),
        ({"metadata": '{"project": {"name": "atlas"}}'}, {"tagged"}),
        ({"metadata": '{"project": {"steps": [2]}}'}, {"tagged"}),
        ({"metadata": '{"project": {}}'}, {"tagged", "half-tagged"}),
        ({"metadata": '{"open": null}'}, {"tagged"}),
        ({"metadata": '{"project": "atlas"}'}, set()),
        ({"metadata": '{"project": {"name": "borea"}}', "sources": ["tides.md"]}, set()),
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
    memory.remember(
        "harbour",
        key="a",
        layer="episodic",
        role="user",
        author="Mira",
        tags=("x", "y"),
        source="log.md",
        metadata={"project": {"name": "atlas"}},
    )
    memory.remember("harbour", key="b")

    found = memory.search(
        "harbour",
        layers=("episodic",),
        roles=("user",),
        authors=("Mira",),
        tags=("x",),
        sources=("log.md",),
        metadata={"project": {"name": "atlas"}},
        min_relevance=0.0001,
    )

    assert [hit.key for hit in found.hits] == ["a"]
    assert memory.search("harbour", tags=("z",)).no_match
    assert memory.search("harbour", sources=("other.md",)).no_match
    assert memory.search("harbour", metadata={"project": "atlas"}).no_match
    assert memory.context("harbour", sources=("log.md",)).hits[0].key == "a"


def test_another_tenants_metadata_is_not_found(query: Query) -> None:
    remember(query, "harbour", metadata='{"project": "atlas"}', tenant="other")
    assert search(query, "harbour", metadata='{"project": "atlas"}') == []


WITH_ANY = {"include_archived", "include_superseded", "include_invalid", "as_of", "hints"}
"""Fields of a filter that are no conditions on each memory; the words of hints are `terms`."""
COMPUTED = {"moment", "archived_as_of", "superseded_as_of", "narrow"}


def test_a_filter_with_any_condition_is_read_for_each_memory(sql: Query) -> None:
    values = {"metadata": {}, "since": "2026-01-01", "until": "2026-01-01", "terms": "'word'", "layers": [],
              "roles": [], "speech_acts": []}  # fmt: skip
    narrow = (
        "SELECT (recall_private.checked_filter('acme', "
        "jsonb_populate_record(NULL::recall.search_filter, %s::jsonb), '2026-06-01')).narrow"
    )
    names = {
        row["attname"]
        for row in sql("SELECT attname FROM pg_attribute WHERE attrelid = 'recall.search_filter'::regclass")
    }

    [open_to_all] = sql(narrow, ('{"include_archived": true, "as_of": "2026-05-01", "until": null}',))
    [default] = sql(narrow, ('{"include_archived": false}',))
    for name in names - WITH_ANY - COMPUTED:
        [row] = sql(narrow, (json.dumps({name: values.get(name, ["x"])}),))
        assert row["narrow"] is True, name
    assert default["narrow"] is False
    assert open_to_all["narrow"] is True  # a past moment ends the window
