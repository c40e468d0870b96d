"""Names in a question: misspelt, without accents, as keys; and the question that is left without them."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall.encoding import text_array
from tests.databases import Query
from tests.integration.search.search_tools import law
from tests.integration.search.test_words import found, remember


def names(sql: Query, question: str, unknown: Sequence[str] = ()) -> dict[tuple[str, int | None], float]:
    rows = sql(
        "WITH c AS (SELECT recall_private.text_configuration('acme') AS language, "
        "recall_private.query_phrases(%s) AS phrases) "
        "SELECT n.phrase, n.memory_id, n.similarity "
        "FROM c, recall_private.names_in_query('acme', c.language, %s, %s::text[], c.phrases) n "
        "UNION ALL SELECT a, NULL, 1 FROM c, "
        "unnest(recall_private.authors_in_query('acme', c.language, c.phrases)) a",
        (question, question, list(unknown)),
    )
    return {(row["phrase"], row["memory_id"]): row["similarity"] for row in rows}


def test_a_misspelt_name_is_found(sql: Query) -> None:
    cedric = remember(sql, "A pilot", title="Cedric Hurst", layer="entity")
    remember(sql, "A carpenter", title="Mira Okafor", layer="entity")
    assert found(sql, "Cedrci Hurst")[0] == cedric
    assert names(sql, "Cedrci Hurst")["cedrci hurst", cedric] == pytest.approx(0.625)
    asked = "what did Cedrci Hurst say about the pump last week"
    assert ("cedrci hurst", cedric) in names(sql, asked, ["cedrci"])
    assert names(sql, asked) == {}


SPELT = st.text("abnoé ", min_size=4, max_size=18).map(lambda made: " ".join(made.split()))
"""Few letters, so that many names are alike and many trigrams have the same bit."""

ALIKE = """
SELECT n.name, p.phrase, similarity(n.plain, recall_private.plain(p.phrase))::float8
FROM recall.name n, unnest(%s::text[]) p(phrase)
WHERE n.tenant = 'acme' AND length(p.phrase) >= 4 AND n.plain <> recall_private.plain(p.phrase)
  AND similarity(n.plain, recall_private.plain(p.phrase)) >= 0.3::real
"""


@law
@given(
    known=st.lists(SPELT.filter(bool), min_size=1, max_size=6, unique=True),
    phrases=st.lists(SPELT, min_size=1, max_size=3, unique=True),
)
def test_every_name_alike_is_found_by_its_bits(sql: Query, known: list[str], phrases: list[str]) -> None:
    sql("DELETE FROM recall.memory")
    remember(sql, "Somebody", title=known[0], layer="entity", aliases=known[1:])
    rows = sql("SELECT name, phrase, similarity FROM recall_private.misspelt_names('acme', %s)", (phrases,))
    alike = sql(ALIKE, (phrases,))
    assert sorted(map(tuple, map(dict.values, rows))) == sorted(map(tuple, map(dict.values, alike)))


def test_accents_do_not_distinguish_names(sql: Query) -> None:
    jose = remember(sql, "A pilot", title="José Muñoz", layer="entity", aliases=["Pepe"])
    note = remember(sql, "The pump is mended", author="Zoë Åberg")
    for written in ("José Muñoz", "Jose Munoz", "JOSÉ MUNOZ"):
        assert names(sql, f"what does {written} pay for?") == {(written.lower(), jose): 1.0}
        assert found(sql, written)[0] == jose
    for written in ("Zoë", "Zoe", "zoe aberg"):
        assert (written.lower(), None) in names(sql, f"what did {written} mend")
    assert found(sql, "what did Zoe mend") == [note]


def test_a_key_in_a_question_names_its_memory(sql: Query) -> None:
    plan = remember(sql, "Sail at noon", key="notes/plan-7")
    remember(sql, "Three", key="3")
    assert names(sql, "what does notes/plan-7 say?") == {("notes/plan-7", plan): 1.0}
    assert names(sql, "3 things to mend, at 3:30") == {}


def test_many_questions_lose_their_names_in_one_call(sql: Query) -> None:
    remember(sql, "A pilot", title="Cedric Hurst", layer="entity")
    remember(sql, "The pump is mended", author="Mira Okafor")
    rows = sql(
        "SELECT * FROM recall.queries_without_names(%s)",
        (["what does Cedric Hurst pay", "the pump", "Mira's pump", "Cedric Hurst"],),
    )
    assert rows == [
        {"place": 1, "query": "what does pay", "names": ["cedric hurst"]},
        {"place": 2, "query": "the pump", "names": []},
        {"place": 3, "query": "pump", "names": ["mira"]},
        {"place": 4, "query": "Cedric Hurst", "names": []},
    ]
    assert sql("SELECT * FROM recall.queries_without_names('{}')") == []


@law
@given(texts=st.lists(st.none() | st.text(st.characters(exclude_characters="\0", codec="utf-8")), max_size=5))
def test_questions_arrive_as_they_were_asked(sql: Query, texts: list[str | None]) -> None:
    assert sql("SELECT %s::text[] AS texts", (text_array(texts),)) == [{"texts": texts}]


@pytest.mark.parametrize("queries", [["pump", ""], ["pump", None], ["x" * 10_001]])
def test_a_question_that_cannot_be_asked_is_refused(sql: Query, queries: list[str | None]) -> None:
    refused = r"^The query (is empty|has 10001 characters)"
    with pytest.raises(psycopg.errors.InvalidParameterValue, match=refused):
        sql("SELECT * FROM recall.queries_without_names(%s::text[])", (queries,))


def test_a_title_that_many_memories_share_names_none_of_them(sql: Query) -> None:
    sql("DELETE FROM recall.memory")
    rare = [remember(sql, f"notes of day {day}", title="Standup") for day in range(50)]
    assert {memory_id for _, memory_id in names(sql, "standup")} == set(rare)

    remember(sql, "notes of one day more", title="Standup")
    assert names(sql, "standup") == {}
    assert found(sql, "standup", k=60) != []


def test_an_entity_is_named_however_many_notes_have_its_title(sql: Query) -> None:
    sql("DELETE FROM recall.memory")
    for day in range(60):
        remember(sql, f"notes of day {day}", title="Atlas")
    atlas = remember(sql, "A project", title="Atlas", layer="entity")
    assert ("atlas", atlas) in names(sql, "when does atlas begin its second part")


@pytest.mark.parametrize(
    ("stored", "named"),
    [
        ({"title": "Cedric Hurst"}, "cedric hurst"),
        ({"author": "Mira Okafor"}, "mira okafor"),
        ({"key": "pump/7"}, "pump/7"),
    ],
)
def test_the_first_name_of_a_tenant_is_named_at_once(sql: Query, stored: dict[str, str], named: str) -> None:
    asked = f"What about {named} yesterday?"
    remember(sql, "A pump")
    assert names(sql, asked) == {}
    layer = {"layer": "entity"} if "title" in stored else {}
    remember(sql, "A crane", **stored, **layer)
    assert named in [phrase for phrase, _ in names(sql, asked)]
    [without] = sql("SELECT * FROM recall.queries_without_names(%s::text[])", (text_array([asked]),))
    assert named in without["names"]
