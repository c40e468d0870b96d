"""recall.list_memories: pages of memories by time or vitality, with the filters of a search."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from pgrecall.errors import InvalidInput
from pgrecall.nouns.memories.models import ListedMemory, ListOrder
from pgrecall.nouns.memories.operations import list_memories
from pgrecall.nouns.search.models import SearchFilter
from tests.conftest import NOW
from tests.databases import Query

HOUR = timedelta(hours=1)


def remember(query: Query, key: str, hours: float, *, tenant: str = "acme", **fields: Any) -> None:
    values = {"body": key, "key": key, "now": NOW - hours * HOUR, **fields}
    call = ", ".join(f"p_{name} => %({name})s" for name in values)
    query(f"SELECT recall.remember({call})", values, tenant=tenant)


@pytest.fixture
def seven(query: Query) -> Query:
    """Seven memories, `m1` the newest, two of one moment; one of another tenant, one archived."""
    for number, hours in enumerate((1, 2, 3, 3, 5, 6, 7), 1):
        remember(query, f"m{number}", hours, metadata=json.dumps({"n": number % 3}))
        query("UPDATE recall.memory SET source = %s WHERE key = %s", (f"s{number % 2}.md", f"m{number}"))
    remember(query, "foreign", 1, tenant="other")
    remember(query, "archived", 1)
    query("SELECT recall.forget(recall.id_of('archived'), p_now => %s)", (NOW,))
    return query


def page(query: Query, chosen: dict[str, Any] | None = None, **options: Any) -> list[dict[str, Any]]:
    values = {"filter": json.dumps(chosen or {}), "now": NOW, **options}
    call = ", ".join(f"p_{name} => %({name})s" for name in values)
    return query(f"SELECT * FROM recall.list_memories({call})", values)


def keys(rows: list[dict[str, Any]]) -> list[str]:
    return [row["key"] for row in rows]


@pytest.mark.parametrize("order", ["newest", "vitality"])
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 1000])
def test_pages_together_are_the_list(seven: Query, order: str, limit: int) -> None:
    whole = keys(page(seven, order=order))
    seen: list[str] = []
    after = None
    while rows := page(seven, order=order, limit=limit, after=after):
        assert len(rows) <= limit
        seen += keys(rows)
        after = rows[-1]["cursor"]
    assert seen == whole
    assert sorted(seen) == [f"m{number}" for number in range(1, 8)]


@pytest.mark.parametrize("order", ["newest", "vitality"])
@pytest.mark.parametrize("most", [0, 1, 37, 38, 60, 1000, None])
def test_pages_end_by_the_size_of_texts_and_metadata(seven: Query, order: str, most: int | None) -> None:
    whole = page(seven, order=order)
    seen: list[str] = []
    after = None
    while rows := page(seven, order=order, after=after, max_bytes=most):
        sizes = [size(row) for row in rows]
        assert most is None or len(rows) == 1 or sum(sizes) <= most
        following = whole[len(seen) + len(rows) :][:1]
        if most is not None and following:  # and no earlier than they must
            assert sum(sizes) + size(following[0]) > most
        seen += keys(rows)
        after = rows[-1]["cursor"]
    assert seen == keys(whole)


def size(row: dict[str, Any]) -> int:
    """What a row counts: its texts, its metadata and its tags."""
    named = [row[name] or "" for name in ("body", "key", "title", "author", "source", "session_id")]
    return len("".join(named)) + len(json.dumps(row["metadata"])) + len(f"{{{','.join(row['tags'])}}}")


def test_a_page_has_sixteen_megabytes_at_most(query: Query) -> None:
    for number in range(18):
        remember(query, f"m{number}", number, body=f"{number} " + "x" * 999_000)
    first = page(query)
    assert len(first) == 16
    assert len(page(query, after=first[-1]["cursor"])) == 2


def test_the_newest_come_first_and_of_one_moment_the_later_stored(seven: Query) -> None:
    assert keys(page(seven)) == ["m1", "m2", "m4", "m3", "m5", "m6", "m7"]


def test_by_vitality_the_liveliest_come_first(seven: Query) -> None:
    seven("SELECT recall.record_access(recall.id_of('m7'), p_now => %s)", (NOW,))
    rows = page(seven, order="vitality")
    assert keys(rows)[0] == "m7"
    assert [row["vitality"] for row in rows] == sorted((row["vitality"] for row in rows), reverse=True)
    for row in rows:
        [told] = seven("SELECT vitality, zone FROM recall.explain_vitality(%s, %s)", (row["id"], NOW))
        assert (row["vitality"], row["zone"]) == (told["vitality"], told["zone"])


def test_a_page_by_vitality_goes_on_at_the_moment_the_list_began_with(seven: Query) -> None:
    [first] = page(seven, order="vitality", limit=1)
    rest = page(seven, order="vitality", after=first["cursor"], now=NOW + 1000 * HOUR)
    assert rest == page(seven, order="vitality")[1:]


@pytest.mark.parametrize("order", ["newest", "vitality"])
@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({"sources": ["s0.md"]}, {"m2", "m4", "m6"}),
        ({"metadata": {"n": 1}}, {"m1", "m4", "m7"}),
        ({"metadata": {"n": 1}, "sources": ["s0.md"]}, {"m4"}),
        ({"since": (NOW - 3 * HOUR).isoformat(), "until": (NOW - 2 * HOUR).isoformat()}, {"m3", "m4"}),
        ({"hints": ["m5"]}, {"m5"}),
        ({"layers": ["entity"]}, set()),
        ({"hints": ["archived"], "include_archived": True}, {"archived"}),
    ],
)
def test_a_list_has_the_filters_of_a_search(
    seven: Query, order: str, chosen: dict[str, Any], expected: set[str]
) -> None:
    assert set(keys(page(seven, chosen, order=order))) == expected


@pytest.mark.parametrize("order", ["newest", "vitality"])
def test_a_list_of_a_session(seven: Query, order: str) -> None:
    seven("UPDATE recall.memory SET session_id = 's1' WHERE key IN ('m2', 'm5', 'foreign', 'archived')")
    assert set(keys(page(seven, order=order, session_id="s1"))) == {"m2", "m5"}
    assert keys(page(seven, {"sources": ["s0.md"]}, order=order, session_id="s1")) == ["m2"]
    assert page(seven, order=order, session_id="s") == []


def test_a_session_is_forgotten_at_once(seven: Query) -> None:
    seven("UPDATE recall.memory SET session_id = 's1' WHERE key IN ('m2', 'm5', 'foreign', 'archived')")

    def forget(dry_run: bool) -> int:
        [row] = seven("SELECT recall.forget_session('s1', %s, %s) AS done", (dry_run, NOW))
        return int(row["done"])

    assert [forget(True), len(page(seven, session_id="s1"))] == [2, 2]
    assert [forget(False), forget(False), forget(True)] == [2, 0, 0]
    assert page(seven, session_id="s1") == []
    assert len(page(seven)) == 5
    both = page(seven, {"include_archived": True}, session_id="s1")
    assert set(keys(both)) == {"m2", "m5", "archived"}
    [foreign] = seven("SELECT archived_at FROM recall.memory WHERE key = 'foreign'")
    assert foreign["archived_at"] is None


def test_a_forgotten_session_comes_back_at_once(seven: Query) -> None:
    seven("UPDATE recall.memory SET session_id = 's1' WHERE key IN ('m2', 'm5', 'm6', 'foreign', 'archived')")

    def call(function: str, hours: int) -> int:
        [row] = seven(f"SELECT recall.{function}_session('s1', p_now => %s) AS done", (NOW + hours * HOUR,))
        return int(row["done"])

    seven("SELECT recall.forget(recall.id_of('m6'), p_now => %s)", (NOW,))
    assert call("forget", 1) == 2
    seven("SELECT recall.unarchive(recall.id_of('m2'), p_now => %s)", (NOW + 2 * HOUR,))
    # What was forgotten before, by itself, and what was archived for another reason stay so.
    assert call("unarchive", 3) == 1
    assert set(keys(page(seven, session_id="s1"))) == {"m2", "m5"}
    assert call("forget", 4) == 2
    assert call("unarchive", 5) == 2
    assert set(keys(page(seven, session_id="s1"))) == {"m2", "m5"}
    foreign = seven("SELECT archived_at FROM recall.memory WHERE key = 'foreign'")
    assert foreign == [{"archived_at": None}]


def test_a_list_is_no_access(seven: Query) -> None:
    before = seven("SELECT count(*) AS logged FROM recall.access")
    page(seven)
    assert seven("SELECT count(*) AS logged FROM recall.access") == before


@pytest.mark.parametrize(
    ("chosen", "options", "named"),
    [
        ({}, {"limit": 0}, "p_limit is 0"),
        ({}, {"limit": 1001}, "p_limit is 1001"),
        ({}, {"order": "oldest"}, "The order 'oldest' is unknown."),
        ({}, {"order": None}, "The order NULL is unknown."),
        ({}, {"after": "7"}, "'7' is not a cursor of a list by newest."),
        ({}, {"after": '["vitality", 1, 0.5, "2026-01-01"]'}, "is not a cursor of a list by newest."),
        ({"k": 3}, {}, "The request has unknown fields: k."),
        ({"layers": ["nowhere"]}, {}, "The layer 'nowhere' is unknown."),
        ({"as_of": "2026-01-01"}, {}, "A list does not take as_of."),
        ({"metadata": [1]}, {}, "The metadata filter [1] is not a JSON object."),
    ],
)
def test_what_cannot_be_listed_is_refused(
    seven: Query, chosen: dict[str, Any], options: dict[str, Any], named: str
) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue) as refused:
        page(seven, chosen, **options)
    assert named in (refused.value.diag.message_primary or "")


def listed(query: Query, chosen: SearchFilter, order: ListOrder = "newest") -> tuple[ListedMemory, ...]:
    operation = list_memories(chosen, order=order, after=None, limit=3, now=NOW)
    return operation.read(query(operation.sql, operation.parameters))


def test_the_operation_reads_a_page(seven: Query) -> None:
    first = listed(seven, SearchFilter(metadata={"n": 2}))
    assert [memory.key for memory in first] == ["m2", "m5"]
    assert first[0].metadata == {"n": 2}
    assert 0 < first[0].vitality < 1


def test_the_operation_refuses_what_postgres_cannot_hold() -> None:
    with pytest.raises(InvalidInput, match="NUL"):
        list_memories(SearchFilter(sources=("a\x00",)), order="newest", after=None, limit=3, now=None)


ACROSS = f"From now on, when it rains, {'and I mean really rains, ' * 12}close the hatch."
NAMED = "From now on, call Mrs. Berg, e.g. on Mondays, unless she asks."
LISTED = "From now on, never do this:\n- deploy on Fridays\n- force a push"
SPOKEN = {
    "Morning. The bus was late. From now on, run the linter. Thanks!": "From now on, run the linter.",
    "We met at two.\nI never eat peanuts, they hurt.\nSee you.": "I never eat peanuts, they hurt.",
    "```\nalways use tabs\n```\nPlease always use spaces.": "Please always use spaces.",
    "The ferry was late. It rained.": None,
    f"Note. {NAMED} Bye.": NAMED,
    f"Hi.\n{LISTED}\n\nThanks.": LISTED,
    f"It rained. {'It was wet. ' * 80}{ACROSS} It rained.": ACROSS,
    f"{'It was wet. ' * 400}{ACROSS} It rained.": ACROSS,
}


@pytest.mark.parametrize("body", SPOKEN)
def test_a_directive_has_the_sentence_that_says_it(query: Query, body: str) -> None:
    remember(query, "spoken", 1, body=body, role="user")
    [row] = page(query)
    assert row["directive"] == SPOKEN[body]
    assert (row["speech_act"] in ("instruction", "preference")) is (SPOKEN[body] is not None)


def test_a_directive_marked_by_hand_may_have_no_such_sentence(query: Query) -> None:
    remember(query, "marked", 1, body="Tabs, not spaces.")
    marked = json.dumps({"speech_act": "instruction"})
    query("SELECT recall.edit(recall.id_of('marked'), %s::jsonb, p_now => %s)", (marked, NOW))
    [row] = page(query)
    assert (row["speech_act"], row["directive"]) == ("instruction", None)
