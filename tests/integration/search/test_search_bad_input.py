"""A search that cannot be run says why in one sentence, whoever asks, and changes nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from pgrecall import Memory
from pgrecall.errors import InvalidInput, RecallError
from pgrecall.search.embed.embedder import HashEmbedder, Vectors
from tests.conftest import DIMENSIONS
from tests.databases import Query

MEGABYTE = "harbour " * 131_072
EARLY, LATE = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)

# Arguments of a search, and what the refusal names.
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"query": ""}, "The query is empty."),
    ({"query": " \t\r\n "}, "The query is empty."),
    ({"query": "\u00a0\u2003"}, "holds no letter or digit."),
    ({"query": "?!... -- ()"}, "The query '?!... -- ()' holds no letter or digit."),
    ({"query": "x" * 10_001}, "10001 characters; the limit is 10,000"),
    ({"query": MEGABYTE}, "1048576 characters; the limit is 10,000"),
    ({"k": 0}, "k is 0; it must lie between 1 and 1,000."),
    ({"k": -1}, "k is -1;"),
    ({"k": 1_000_000}, "k is 1000000;"),
    ({"k": None}, "k is NULL;"),
    ({"layers": ["knowledge", "wisdom"]}, "The layer 'wisdom' is unknown."),
    ({"layers": [None]}, "The layer NULL is unknown."),
    ({"roles": ["user", "boss"]}, "The role 'boss' is unknown."),
    ({"vitality_mode": "turbo"}, "The vitality mode 'turbo' is unknown."),
    ({"vitality_weight": -0.1}, "The vitality weight -0.1 is not between 0 and 10"),
    ({"vitality_weight": 10.5}, "The vitality weight 10.5 is not"),
    ({"vitality_weight": math.nan}, "The vitality weight NaN is not"),
    ({"vitality_weight": math.inf}, "The vitality weight Infinity is not"),
    ({"vitality_weight": 1.5, "vitality_mode": "bounded"}, "The vitality weight 1.5 is not"),
    ({"min_relevance": -0.1}, "min_relevance is -0.1; it must lie between 0 and 1."),
    ({"min_relevance": 1.1}, "min_relevance is 1.1;"),
    ({"min_relevance": math.nan}, "min_relevance is NaN;"),
    ({"min_relevance": math.inf}, "min_relevance is Infinity;"),
    ({"since": LATE, "until": EARLY}, "The time window is empty: since 2026-02-01"),
    ({"since": EARLY, "until": EARLY}, "The time window is empty: since 2026-01-01"),
]
NAMES = [f"{'+'.join(given)}-{number}" for number, (given, _) in enumerate(REFUSED)]


def one_sentence(message: str) -> bool:
    return message.endswith(".") and "\n" not in message and len(message) < 250


@pytest.mark.parametrize(("given", "named"), REFUSED, ids=NAMES)
def test_sql_refuses_with_a_sentence_that_names_the_value(
    query: Query, given: dict[str, Any], named: str
) -> None:
    values = {"query": "harbour"} | given
    call = ", ".join(f"p_{name} => %({name})s" for name in values)

    with pytest.raises(psycopg.errors.InvalidParameterValue) as refused:
        query(f"SELECT * FROM recall.search({call})", values)

    message = refused.value.diag.message_primary or ""
    assert refused.value.sqlstate == "22023"
    assert named in message
    assert one_sentence(message)


@pytest.mark.parametrize(("given", "named"), REFUSED, ids=NAMES)
def test_the_client_refuses_with_the_same_sentence(
    shared_memory: Memory, given: dict[str, Any], named: str
) -> None:
    shared_memory.remember("harbour")
    before = shared_memory.status()

    with pytest.raises(InvalidInput) as refused:
        shared_memory.search(**({"query": "harbour"} | given))

    assert named in refused.value.message
    assert one_sentence(refused.value.message)
    assert shared_memory.status() == before


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"query": "nul \x00 character"}, "NUL"),
        ({"query": "half a pair \ud800"}, "not valid Unicode"),
        ({"authors": ("nul \x00",)}, "NUL"),
        ({"tags": ("half \ud800",)}, "Unicode"),
        ({"layers": ("half \udfff",)}, "Unicode"),
        ({"k": 10**10}, "10000000000"),
        ({"k": 10**30}, "1000000000000000000000000000000"),
        ({"k": 2.5}, "2.5"),
        ({"k": True}, "True"),
        ({"layers": "knowledge"}, "knowledge"),
        ({"min_relevance": "high"}, "high"),
        ({"sources": ("nul \x00",)}, "NUL"),
        ({"sources": "notes.md"}, "notes.md"),
        ({"metadata": {"project": "nul \x00"}}, "NUL"),
        ({"metadata": {"half \ud800": 1}}, "half a character"),
        ({"metadata": {"number": math.nan}}, "JSON"),
        ({"metadata": ["project"]}, '["project"] is not a JSON object'),
        ({"metadata": "project"}, '"project" is not a JSON object'),
        ({"metadata": {"much": "x" * 10_000}}, "the limit is 10,000"),
    ],
    ids=str,
)
def test_what_postgres_could_not_even_read_is_refused_by_the_client(
    shared_memory: Memory, given: dict[str, Any], named: str
) -> None:
    shared_memory.remember("harbour")

    with pytest.raises(InvalidInput) as refused:
        shared_memory.search(**({"query": "harbour"} | given))

    assert named in refused.value.message
    assert one_sentence(refused.value.message)
    assert shared_memory.search("harbour").hits  # the connection is still good


@pytest.mark.parametrize(
    ("embedding", "named"),
    [
        ("[1,0,0]", "The query vector has 3 dimensions, this database 64."),
        ("[" + ",".join(["0"] * DIMENSIONS) + "]", "The query vector is zero"),
    ],
)
def test_sql_refuses_a_vector_that_cannot_be_compared(query: Query, embedding: str, named: str) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue) as refused:
        query("SELECT * FROM recall.search('harbour', %s)", (embedding,))

    assert named in str(refused.value)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e9", "harbour"])
def test_sql_refuses_a_vector_that_is_not_one(query: Query, value: str) -> None:
    with pytest.raises(psycopg.DataError):
        query("SELECT * FROM recall.search('harbour', %s)", (f"[{value}{',0' * (DIMENSIONS - 1)}]",))


class Bad(HashEmbedder):
    """Answers every question with the same vector, which is none."""

    def __init__(self, vector: list[float]) -> None:
        super().__init__(DIMENSIONS)
        self._vector = vector

    def embed(self, texts: Sequence[str]) -> Vectors:
        return [self._vector for _ in texts]


@pytest.mark.parametrize(
    "vector", [[1.0, 0.0, 0.0], [math.nan] * DIMENSIONS, [math.inf] * DIMENSIONS, [0.0] * DIMENSIONS, []]
)
def test_words_answer_where_an_embedder_gives_what_it_should_not_and_the_result_says_so(
    shared_memory: Memory, shared_url: str, vector: list[float]
) -> None:
    shared_memory.remember("harbour")

    with Memory(shared_url, tenant="shared", embedder=Bad(vector)) as client:
        found = client.search("harbour")
        with pytest.raises(RecallError) as refused:
            client.remember("a ferry")

    assert found.hits
    [skipped] = found.skipped
    assert skipped.startswith("meaning: ")
    assert one_sentence(refused.value.message)


@pytest.mark.parametrize("tenant", ["", "*"])
@pytest.mark.parametrize(
    "call",
    ["recall.search('harbour')", "recall.queries_without_names('{harbour}')", "recall.refresh_lexemes()"],
)
def test_sql_refuses_to_work_for_no_tenant(query: Query, call: str, tenant: str) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="No tenant is set for this transaction"):
        query(f"SELECT * FROM {call}", tenant=tenant)


def test_a_tenant_that_was_never_set_is_refused(database_url: str) -> None:
    with (
        psycopg.connect(database_url) as connection,
        pytest.raises(psycopg.errors.InvalidParameterValue, match="No tenant is set"),
    ):
        connection.execute("SELECT * FROM recall.search('harbour')")


@pytest.mark.parametrize("now", [None, datetime(1, 1, 3, tzinfo=UTC), datetime(9999, 12, 29, tzinfo=UTC)])
def test_any_finite_moment_can_be_asked(query: Query, now: datetime | None) -> None:
    query("SELECT recall.remember('harbour')")

    rows = query("SELECT * FROM recall.search('harbour', p_now => coalesce(%s, now()))", (now,))

    assert [0 < row["vitality"] < 1 for row in rows] == [True]


@pytest.mark.parametrize("moment", ["infinity", "-infinity", "0001-01-02 UTC", "9999-12-30 UTC", None])
def test_a_moment_that_is_none_is_refused(query: Query, moment: str | None) -> None:
    query("SELECT recall.remember('harbour')")

    with pytest.raises(psycopg.errors.InvalidParameterValue, match="p_now"):
        query("SELECT * FROM recall.search('harbour', p_now => %s)", (moment,))


@pytest.mark.parametrize(
    ("request_text", "named"),
    [
        ("[]", "The request is not a JSON object."),
        ('{"query": "a", "layer": "knowledge"}', "The request has unknown fields: layer."),
        ('{"query": "a", "moment": "2026-01-01", "terms": "x"}', "unknown fields: moment, terms."),
        ('{"query": "a", "min_relevance": "high"}', 'type double precision: "high".'),
        ('{"query": "a", "since": "soon"}', '"soon".'),
        ('{"query": "a", "tags": {"a": 1}}', "expected JSON array"),
    ],
)
@pytest.mark.parametrize("function", ["find(%s)", "search_and_log(%s)", "explain(1, %s)"])
def test_a_request_that_cannot_be_read_is_refused(
    query: Query, function: str, request_text: str, named: str
) -> None:
    [stored] = query("SELECT recall.remember('harbour') AS id")
    function = function.replace("explain(1", f"explain({stored['id']}")
    with pytest.raises(psycopg.errors.InvalidParameterValue) as refused:
        query(f"SELECT recall.{function}", (request_text,))
    assert named in (refused.value.diag.message_primary or "")
    assert one_sentence(refused.value.diag.message_primary or "")
