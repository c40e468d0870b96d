"""Undoing leaves an export equal to the byte: of 500 clusters, and of vaults that Hypothesis makes up."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg.rows import dict_row

from pgrecall.search.embed.embedder import HashEmbedder
from tests.conftest import DIMENSIONS, NOW
from tests.databases import Query
from tests.integration.dedupe.dedupe_tools import export, problems
from tests.scale import SCALE

LATER = NOW + timedelta(hours=1)
EMBEDDER = HashEmbedder(DIMENSIONS)
NOUNS = ["winch", "ferry", "lamp", "crane", "rope", "buoy", "gate", "net", "pump", "log", "shed", "pier"]
WORDS = [one + other for one in NOUNS for other in NOUNS]


def _remember(sql: Query, drafts: list[dict[str, Any]], at: datetime) -> list[int]:
    texts = EMBEDDER.embed([draft["body"] for draft in drafts])
    items = [
        draft | {"embedding": [float(x) for x in text]} for draft, text in zip(drafts, texts, strict=True)
    ]
    rows = sql("SELECT id FROM recall.remember_many(%s::jsonb, 'hash', p_now => %s)", (json.dumps(items), at))
    return [row["id"] for row in rows]


def _plan(sql: Query) -> int:
    while sql("SELECT recall.find_duplicates() AS n")[0]["n"]:
        pass
    number: int = sql("SELECT recall.plan_dedupe(p_now => %s) AS id", (NOW,))[0]["id"]
    return number


@pytest.mark.timeout(600)
def test_500_clusters_merged_and_unmerged_leave_the_export_as_it_was(sql: Query) -> None:
    """With uses, links of all kinds, tags and searches that wait to be folded."""
    drafts: list[dict[str, Any]] = []
    for number in range(500):
        words = [WORDS[(number * 7 + place * 31) % len(WORDS)] for place in range(8)] + [f"cluster{number}"]
        for place, more in enumerate((".", "!", " soon")):
            drafts.append({
                "key": f"n{number}-{place}", "body": " ".join(words) + more, "tags": [f"t{place}"],
                "links": [{"target": f"n{(number * 3 + place) % 500}-{number % 3}"}],
            })  # fmt: skip
    ids = _remember(sql, drafts, NOW - timedelta(days=60))
    uses = [
        {"memory_id": ids[index], "kind": ("used", "read", "retrieval")[index % 3],
         "at": str(NOW - timedelta(days=1 + index % 50)), "session_id": f"s{index % 40}"}
        for index in range(0, len(ids), 2)
    ]  # fmt: skip
    sql("SELECT recall.record_accesses(%s::jsonb, %s)", (json.dumps(uses), NOW - timedelta(hours=1)))
    sql("SELECT recall.log_shown(%s, 'a question', p_now => %s)", (ids[::10], NOW - timedelta(minutes=1)))
    number = _plan(sql)
    before = export(sql)
    outcome = sql("SELECT outcome FROM recall.apply_plan(%s, p_now => %s)", (number, LATER))
    assert [row["outcome"] for row in outcome].count("kept") == 500
    merged = [row["outcome"] for row in outcome].count("merged")
    assert merged >= 990  # a few are less similar to their keeper by the hash of their words
    assert problems(sql) == []
    assert sql("SELECT recall.undo_plan(%s, %s) AS back", (number, LATER))[0]["back"] == merged
    assert export(sql) == before
    assert problems(sql) == []


@st.composite
def vaults(draw: st.DrawFn) -> dict[str, Any]:
    texts = [" ".join(WORDS[place * 9 + step] for step in range(9)) for place in range(3)]
    drafts = [
        {
            "key": f"m{place}",
            "body": draw(st.sampled_from(texts)) + draw(st.sampled_from([".", "!", " soon", " soon enough"])),
            "tags": draw(st.lists(st.sampled_from(["a", "B", "c"]), max_size=2, unique=True)),
            "pinned": draw(st.integers(0, 9)) == 0,
            "layer": draw(st.sampled_from(["knowledge", "knowledge", "episodic"])),
        }
        for place in range(draw(st.integers(2, 8)))
    ]
    pair = st.tuples(st.integers(0, len(drafts) - 1), st.integers(0, len(drafts) - 1))
    kinds = st.sampled_from(["used", "read", "retrieval", "reference"])
    return {
        "drafts": drafts,
        "links": draw(st.lists(st.tuples(pair, st.sampled_from(["links_to", "supports"])), max_size=6)),
        "uses": draw(
            st.lists(
                st.tuples(pair, kinds, st.integers(1, 50), st.sampled_from([None, "a", "b"])), max_size=12
            )
        ),
    }


@settings(max_examples=15 * SCALE)
@given(vault=vaults())
def test_any_merge_is_what_the_log_says_and_can_be_undone(shared_url: str, vault: dict[str, Any]) -> None:
    with (
        psycopg.connect(shared_url, row_factory=dict_row) as connection,
        connection.transaction(force_rollback=True),
    ):
        connection.execute("SELECT set_config('recall.tenant', 'acme', true)")

        def sql(statement: str, parameters: Any = None, **_: Any) -> list[dict[str, Any]]:
            cursor = connection.execute(statement, parameters)
            return cursor.fetchall() if cursor.description is not None else []

        ids = _remember(sql, vault["drafts"], NOW - timedelta(days=60))
        for (source, target), relation in vault["links"]:
            if source != target:
                sql(
                    "SELECT recall.link(%s, %s, %s, p_now => %s)",
                    (ids[source], ids[target], relation, NOW - timedelta(days=30)),
                )
        for (one, _), kind, days, session in vault["uses"]:
            sql(
                "SELECT recall.record_access(%s, %s, %s, %s, p_now => %s)",
                (ids[one], kind, NOW - timedelta(days=days), session, NOW - timedelta(hours=2)),
            )
        number = _plan(sql)
        before = export(sql)
        sql("SELECT * FROM recall.apply_plan(%s, p_now => %s)", (number, LATER))
        assert problems(sql) == []
        merged = sql("SELECT to_jsonb(a) AS row FROM recall.activation a ORDER BY memory_id")
        # Exactly what a computation anew from the log says.
        assert sql("SELECT recall.rebuild() AS changed")[0]["changed"] == 0
        assert sql("SELECT to_jsonb(a) AS row FROM recall.activation a ORDER BY memory_id") == merged
        sql("SELECT recall.undo_plan(%s, %s)", (number, LATER))
        assert export(sql) == before


@pytest.mark.parametrize("merged", ["before", "between", "after"])
def test_uses_at_the_time_of_a_merge_count_as_if_it_had_never_been(
    sql: Query, shared_connection: psycopg.Connection[Any], merged: str
) -> None:
    """In the same transaction, before and after the merge, in new sessions and in one that both had."""
    text = " ".join(WORDS[:9])
    ids = _remember(
        sql, [{"body": text + ".", "key": "keeper"}, {"body": text, "key": "other"}], NOW - timedelta(days=60)
    )
    for memory_id, session in zip([*ids, ids[1]], ["a", "b", "c"], strict=True):
        sql("SELECT recall.record_access(%s, 'used', %s, %s, p_now => %s)",
            (memory_id, NOW - timedelta(days=9), session, NOW - timedelta(hours=2)))  # fmt: skip
    number = _plan(sql)
    [keeper] = sql("SELECT memory_id AS id FROM recall.plan_item WHERE keeper")
    uses = [
        f"SELECT recall.record_access({keeper['id']}, 'used', '{LATER}', '{session}', p_now => '{LATER}')"
        for session in ("b", "d", "b", "e")
    ]
    merge = f"SELECT count(*) FROM recall.apply_plan({number}, p_now => '{LATER}')"
    undo = f"SELECT recall.undo_plan({number}, '{LATER}')"
    state = "SELECT to_jsonb(a) AS row FROM recall.activation a WHERE a.memory_id = %s"
    with shared_connection.transaction(force_rollback=True):
        for statement in uses:
            sql(statement)
        [alone] = sql(state, (keeper["id"],))
    place = {"before": 0, "between": 2, "after": 4}[merged]
    for statement in [*uses[:place], merge, *uses[place:], undo]:
        sql(statement)
    [undone] = sql(state, (keeper["id"],))
    assert undone == alone
    assert problems(sql) == []
