"""The words of a question: how rare each is, what stands in for a misspelt one, and what must occur."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from tests.databases import Query
from tests.integration.search.search_tools import remember

Words = dict[str, dict[str, Any]]


def count(sql: Query, tenant: str = "acme") -> None:
    sql("SELECT recall.refresh_lexemes()", tenant=tenant)


def words(sql: Query, question: str, memories: int | None = None) -> Words:
    """By word, rarest first."""
    counts = "recall_private.tenant_counts('acme')"
    if memories is not None:
        counts = f"jsonb_populate_record({counts}, '{{\"documents\": {memories}}}')"
    rows = sql(
        f"SELECT w.word, w.documents, w.query, w.step, c.documents AS total, "
        "round((w.idf / recall_private.idf(w.documents, c.documents))::numeric, 9)::float AS share "
        f"FROM (SELECT ({counts}).*) c, recall_private.query_words("
        f"'acme', recall_private.text_configuration('acme'), %s, {counts}) q, "
        "unnest(q.words, q.documents, q.queries, q.idfs, q.steps) w(word, documents, query, idf, step)",
        (question,),
    )
    assert [row["documents"] for row in rows] == sorted(row["documents"] for row in rows)
    return {row["word"]: row for row in rows}


def steps(found: Words) -> dict[str, str]:
    return {word: row["step"] for word, row in found.items()}


def matching(sql: Query, tsquery: str) -> set[int]:
    return {
        row["id"]
        for row in sql(
            "SELECT id FROM recall.memory WHERE tenant = 'acme' AND search_text @@ %s::tsquery", (tsquery,)
        )
    }


def found(sql: Query, question: str, **options: Any) -> list[int]:
    call = "".join(f", p_{name} => %({name})s" for name in options)
    values = {"question": question, **options}
    rows = sql(f"SELECT id FROM recall.search(%(question)s{call}) ORDER BY rank", values)
    return [row["id"] for row in rows]


@pytest.fixture
def harbour(sql: Query) -> dict[str, int]:
    made = {
        "contract": remember(sql, "The harbour contract was signed by the pilots"),
        "pump": remember(sql, "The harbour pump was mended", author="Will Hurst", tags=["IT", "deployments"]),
        "plant": remember(sql, "Photosynthesis in the harbour pond", title="Universal joints"),
    }
    count(sql)
    return made


# Words that memories hold


def test_words_come_rarest_first_with_their_counts(sql: Query, harbour: dict[str, int]) -> None:
    rows = words(sql, "Is the harbour pump mended?")
    assert list(rows) == ["mend", "pump", "harbour"]
    assert [row["documents"] for row in rows.values()] == [1, 1, 3]
    assert {(row["total"], row["share"], row["step"]) for row in rows.values()} == {(3, 1.0, "word")}
    assert rows["pump"]["query"] == "'pump'"


TEXTS = st.lists(
    st.sampled_from(
        ["harbour", "pump", "pumpkin", "running", "IT", "Will", "news", "universal", "the", "café", "x-1"]
    ),
    min_size=1,
    max_size=5,
)


@hypothesis_settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    drafts=st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=6),
    question=TEXTS,
    counted=st.booleans(),
)
def test_a_word_is_in_as_many_memories_as_its_count_says(
    sql: Query, drafts: list[tuple[list[str], list[str], list[str]]], question: list[str], counted: bool
) -> None:
    sql("DELETE FROM recall.memory")
    sql("DELETE FROM recall.lexeme")
    for body, tags, author in drafts:
        remember(sql, " ".join(body), tags=tags, author=" ".join(author))
    if counted:
        count(sql)
    rows = words(sql, "about " + " ".join(question))
    for row in rows.values():
        if row["step"] != "similar" and row["word"] != "about":
            assert row["documents"] == len(matching(sql, row["query"]))
        assert row["total"] == len(drafts)
    # As many memories as these are counted by the index, not in their texts.
    by_index = words(sql, "about " + " ".join(question), memories=101)
    assert rows == {word: row | {"total": len(drafts)} for word, row in by_index.items()}


@pytest.mark.parametrize(("memories", "read"), [(0, False), (3, True), (3_000, False)])
def test_texts_are_read_only_where_they_are_few(sql: Query, memories: int, read: bool) -> None:
    bodies = [
        {"body": f"The harbour contract {'and so on ' * 9}, copy {number}"} for number in range(memories)
    ]
    sql("SELECT count(*) FROM recall.remember_many(%s)", (Jsonb(bodies),))
    (row,) = sql("SELECT cardinality(recall_private.texts_of('acme')) AS texts")
    assert row["texts"] == (memories if read else None)


def test_at_most_sixteen_words_are_asked_for(sql: Query) -> None:
    held = [f"w{number}x" for number in range(40)]
    remember(sql, " ".join(held))
    count(sql)
    rows = words(sql, " ".join([*held, *(f"q{number}z" for number in range(40))]))
    assert len(rows) == 16
    assert sum(row["documents"] == 0 for row in rows.values()) == 8


def test_stop_words_alone_are_no_words(sql: Query, harbour: dict[str, int]) -> None:
    assert words(sql, "what is the") == {}
    assert words(sql, "?!") == {}
    assert words(sql, "the " * 700) == {}
    assert words(sql, "x" * 2045) == {}  # too long for the text index


# What is written like a name


def test_a_stop_word_that_is_a_name_is_a_word(sql: Query, harbour: dict[str, int]) -> None:
    assert steps(words(sql, "what did Will mend")) == {"mend": "word", "will": "word"}
    assert steps(words(sql, "the IT people")) == {"peopl": "unknown", "it": "word"}
    assert steps(words(sql, "it")) == {"it": "word"}


@pytest.mark.parametrize("question", ["will it rain", "Will it rain", "WILL IT RAIN"])
def test_a_stop_word_that_is_no_name_stays_one(sql: Query, harbour: dict[str, int], question: str) -> None:
    assert set(words(sql, question)) == {"rain"}


def test_a_name_that_no_memory_has_is_no_word(sql: Query, harbour: dict[str, int]) -> None:
    assert set(words(sql, "what did Who mend")) == {"mend"}


def test_an_identifier_is_found_as_it_is_written_and_by_its_stem(sql: Query, harbour: dict[str, int]) -> None:
    for question in ("deployments", "deployment", "IT", "people of IT"):
        assert found(sql, question) == [harbour["pump"]], question


# What stands in for a word that no memory holds


def test_the_beginning_of_a_word_stands_in_for_it(sql: Query, harbour: dict[str, int]) -> None:
    row = words(sql, "photosyn")["photosyn"]
    assert (row["step"], row["share"], row["documents"]) == ("prefix", 0.7, 1)
    assert row["query"] == "'photosyn' | 'photosynthesi'"  # itself too: it may have come since the count
    assert found(sql, "photosyn") == [harbour["plant"]]


def test_a_word_spelt_alike_stands_in_for_a_misspelt_one(sql: Query, harbour: dict[str, int]) -> None:
    row = words(sql, "photosinthesis")["photosinthesi"]
    assert (row["step"], row["documents"]) == ("similar", 1)
    assert row["query"] == "'photosinthesi' | 'photosynthesi'"
    assert 0.5 <= row["share"] < 1
    assert found(sql, "photosinthesis") == [harbour["plant"]]


def test_at_most_five_beginnings_stand_in_and_their_counts_add_up(sql: Query) -> None:
    for ending in ("ab", "ac", "ad", "af", "ag", "ah", "ak"):
        remember(sql, f"quay{ending}")
    count(sql)
    row = words(sql, "quaya")["quaya"]
    assert (row["step"], row["documents"]) == ("prefix", 5)
    assert len(matching(sql, row["query"])) == 5


@pytest.mark.parametrize("word", ["1234", "pum", "zzzzzz", "x-99"])
def test_numbers_and_short_words_are_not_bent(sql: Query, harbour: dict[str, int], word: str) -> None:
    remember(sql, "the bill of 12345 for pumps x-991")
    count(sql)
    assert {row["step"] for row in words(sql, word).values()} <= {"unknown", "word"}
    assert all(row["documents"] == 0 for row in words(sql, word).values() if row["step"] == "unknown")


def test_words_of_other_tenants_never_stand_in(sql: Query, harbour: dict[str, int]) -> None:
    remember(sql, "lighthouse lighthouses lightning", tenant="other")
    count(sql, tenant="other")
    assert steps(words(sql, "lighthous lighthouze lightn")) == dict.fromkeys(
        ("lighthous", "lighthouz", "lightn"), "unknown"
    )


def test_before_words_are_counted_beginnings_are_looked_for_in_the_memories(sql: Query) -> None:
    plant = remember(sql, "Photosynthesis in the harbour pond")
    remember(sql, "photosynthesis elsewhere", tenant="other")
    row = words(sql, "photosyn")["photosyn"]
    assert (row["step"], row["share"], row["documents"], row["total"]) == ("prefix", 0.7, 1, 1)
    assert steps(words(sql, "photosinthesis pond")) == {"photosinthesi": "unknown", "pond": "word"}
    assert found(sql, "photosyn") == [plant]


def test_awkward_characters_are_only_characters(sql: Query) -> None:
    remember(sql, r"C:\temp\o'brien 'quoted' a&b|c !x:*")
    count(sql)
    for question in (r"o'brien c:\temp", "'quoted", "a&b|c", "!x:*", "zzzz' | 'harbour", r"zzzz\ ", "zzzz:*"):
        words(sql, question)
        found(sql, question + " pump")


# Hints


def hint_query(sql: Query, hints: Sequence[str | None] | None) -> str | None:
    [row] = sql("SELECT recall_private.hint_query('acme', %s::text[])::text AS query", (hints,))
    return None if row["query"] is None else str(row["query"])


def test_every_hint_must_occur(sql: Query, harbour: dict[str, int]) -> None:
    assert found(sql, "harbour", hints=["pump"]) == [harbour["pump"]]
    assert found(sql, "harbour", hints=["harbour contract", "pilot"]) == [harbour["contract"]]
    assert found(sql, "harbour", hints=["contract harbour"]) == []
    assert found(sql, "harbour", hints=["IT"]) == [harbour["pump"]]
    assert found(sql, "harbour", hints=["pump", "contract"]) == []
    assert hint_query(sql, None) is None


@pytest.mark.parametrize(
    ("hints", "sentence"),
    [
        ([], "There are 0 hints; give 1 to 32, or none at all."),
        (["pump"] * 33, "There are 33 hints; give 1 to 32, or none at all."),
        (["pump", None], "A hint is empty."),
        ([" \n"], "A hint is empty."),
        (["the"], "The hint 'the' has only stop words or punctuation."),
        (["?!"], "The hint '?!' has only stop words or punctuation."),
        (["x" * 1001], "A hint has 1001 characters; the limit is 1,000."),
    ],
)
def test_a_hint_that_says_nothing_is_refused(
    sql: Query, harbour: dict[str, int], hints: list[str | None], sentence: str
) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue) as caught:
        hint_query(sql, hints)
    assert caught.value.diag.message_primary == sentence


# Words that were typed wrongly


@pytest.fixture
def port(sql: Query) -> None:
    for word in ("boat", "crane", "harbour", "contract", "winch", "photosynthesis", "гавань"):
        remember(sql, word)
    count(sql)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("harbuor", "harbour"), ("ahrbour", "harbour"), ("baot", "boat"), ("wicnh", "winch"),  # swapped
        ("haarbour", "harbour"), ("contrtact", "contract"),  # one too many
        ("harour", "harbour"), ("contact", "contract"),  # one left out
        ("harbxur", "harbour"), ("photosynthasis", "photosynthesi"),  # one mistaken
        ("гваань", "гавань"),
    ],
)  # fmt: skip
def test_a_slip_finds_the_word_that_was_meant(sql: Query, port: None, typed: str, meant: str) -> None:
    [row] = words(sql, typed).values()
    assert row["step"] == "similar"
    assert row["query"].endswith(f" | '{meant}'")
    assert 0.5 <= row["share"] < 1


@pytest.mark.parametrize(
    "typed", ["coat", "obat", "bolt", "boot", "plane", "carne1", "crate", "barbour", "harbxxr", "b0at"]
)
def test_a_word_unlike_them_finds_none(sql: Query, port: None, typed: str) -> None:
    assert [row["step"] for row in words(sql, typed).values()] == ["unknown"]
