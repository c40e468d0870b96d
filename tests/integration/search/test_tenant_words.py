"""The text index is led by the tenant: it finds what the words themselves would, and nobody else's."""

from __future__ import annotations

import psycopg
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.databases import Query

LEXEMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
FOUND = """
SELECT t.words @@ t.query AS plainly, t.led @@ recall_private.tenant_query(%(tenant)s, t.query) AS by_index,
       t.led @@ recall_private.tenant_query(%(other)s, t.query) AS by_others
FROM (
    SELECT w AS words,
           recall_private.tenant_words(%(tenant)s, w || array_to_tsvector(ARRAY[chr(1) || %(tenant)s]))
           AS led,
           recall_private.lexeme_query(%(first)s)
           && (recall_private.lexeme_query(%(second)s) || recall_private.prefix_query(%(third)s)) AS query
    FROM array_to_tsvector(%(words)s::text[]) w) t
"""


@given(st.lists(LEXEMES, max_size=20), st.tuples(LEXEMES, LEXEMES, LEXEMES), LEXEMES, LEXEMES)
@example(["it's", "a'' b", "back\\slash"], ("it's", "a'' b", "none"), "acme", "o'neil")
@example(["harbour"], ("harbour", "x", "harb"), "ends in chr(1)\x01", "acme")
@example(["x" * 2040, "harbour"], ("x" * 2040, "harbour", "none"), "acme", "rival")
@example(["harbour", "x" * 2046], ("harbour", "y", "harb"), "acme", "rival")
def test_the_index_finds_what_the_words_do(
    shared_connection: psycopg.Connection[dict[str, bool]],
    words: list[str],
    asked: tuple[str, str, str],
    tenant: str,
    other: str,
) -> None:
    """Whether a query asks for words that are there or not, and as the beginning of one."""
    first, second, third = asked
    values = {
        "words": words, "first": words[0] if words else first, "second": second, "third": third,
        "tenant": tenant, "other": other,
    }  # fmt: skip
    row = shared_connection.execute(FOUND, values).fetchone()
    assert row is not None
    assert row["by_index"] == row["plainly"]
    assert not row["by_others"] or tenant == other


def test_a_look_for_words_reads_no_other_tenants_rows(sql: Query) -> None:
    for number in range(300):
        sql("SELECT recall.remember(%s)", (f"The harbour contract, copy {number}",), tenant="rival")
    for number in range(5):
        sql("SELECT recall.remember(%s)", (f"The harbour contract, ours {number}",))
    sql("SET enable_seqscan = off")
    (plan,) = sql(
        "EXPLAIN (ANALYZE, FORMAT JSON) SELECT FROM recall.memory m WHERE"
        " recall_private.tenant_words(m.tenant, m.search_text) @@ recall_private.tenant_query('acme', "
        "'harbour & contract')"
    )
    (found,) = plan["QUERY PLAN"]
    assert found["Plan"]["Plans"][0]["Index Name"] == "memory_words_idx"
    assert found["Plan"]["Plans"][0]["Actual Rows"] == 5


@pytest.mark.parametrize("letters", [2_035, 2_045, 5_000])
def test_a_word_of_any_length_can_be_kept_and_asked(sql: Query, letters: int) -> None:
    """What the index has no room for is no word; the others are found all the same."""
    sql("SELECT recall.remember(%s)", (f"harbour {'z' * letters} contract",))
    for question in ("harbour", f"harbour {'z' * letters}"):
        (hit,) = sql("SELECT body FROM recall.search(%s)", (question,))
        assert hit["body"].startswith("harbour z")


def test_few_words_wait_outside_the_index(sql: Query) -> None:
    """Every search of every tenant reads all words that wait, and only VACUUM would move them."""
    sql(
        "SELECT count(*) FROM recall.remember_many(("
        " SELECT jsonb_agg(jsonb_build_object('body', w.body)) FROM ("
        "  SELECT string_agg('crate' || m || 'x' || n, ' ') AS body"
        "  FROM generate_series(1, 500) m, generate_series(1, 30) n GROUP BY m) w))"
    )
    (moved,) = sql("SELECT gin_clean_pending_list('recall.memory_words_idx') AS pages")
    assert moved["pages"] * 8_192 <= 2 * 64 * 1_024
