"""A redact plan finds secrets in all stored texts, shows none of them, and its undo gives them back.

Values are put together here, so that no scanner of this repository takes them for real.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from pgrecall import Draft, InvalidInput, Memory
from pgrecall.faces.plan_words import secrets_summary
from pgrecall.nouns.memories.models import DraftLink
from pgrecall.nouns.plans import _sync as plans_group
from pgrecall.nouns.plans.redact import RedactPlan
from tests.databases import Query
from tests.integration.dedupe.dedupe_tools import problems, store
from tests.integration.prune.prune_tools import NOW
from tests.integration.versions.settled import settle

GITHUB = "gh" + "p_" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zAb3d"
PASSWORD = "h0rse" + "-battery"
URL = f"postgres://deploy:{PASSWORD}@db.internal/app"
SECRETS = (GITHUB, PASSWORD)
LATER = NOW + timedelta(days=1)

EVERYTHING = (
    "SELECT table_name::text AS name FROM information_schema.tables "
    "WHERE table_schema = 'recall' AND table_type = 'BASE TABLE' AND table_name <> 'redacted_text'"
)


PARTS = (GITHUB.lower()[4:9], "h0rse")
"""Of each secret what also stands in indexes of words, which split at some characters and cut at others."""


def held(query: Query) -> set[str]:
    """The tables in which any of the secrets is found, apart from what undo needs."""
    asked = "SELECT count(*) AS n FROM recall.{} t WHERE lower(t::text) ~ %s"
    tables = [row["name"] for row in query(EVERYTHING)]
    return {name for name in tables if query(asked.format(name), ("|".join(PARTS),))[0]["n"]}


@pytest.fixture
def stored(memory: Memory, query: Query) -> dict[str, int]:
    """Memories with secrets in each place: body, title, context, metadata, tags, an earlier version."""
    drafts = {
        "body": Draft(f"Wäsche \N{TOOLBOX}: token {GITHUB} and {GITHUB}.", key="body"),
        "title": Draft("The deployment.", title=f"Uses {GITHUB}", key="title", tags=("ops", GITHUB)),
        "context": Draft("So it goes.", context=f"before: {URL}", key="context"),
        "metadata": Draft("Settings.", metadata={"env": {"all": ["x", URL]}, "n": 3}, key="metadata"),
        "version": Draft(f"First it was {URL}", key="version"),
        "clean": Draft("The winch is oiled in spring.", key="clean"),
    }
    stored = memory.remember_many(list(drafts.values()), now=NOW)
    ids = dict(zip(drafts, (one.id for one in stored), strict=True))
    memory.edit("version", body="It is gone now.", now=NOW)
    memory.forget("context", now=NOW)
    query("SELECT recall.refresh_lexemes()")
    return ids


def shown(plan: RedactPlan) -> dict[int, list[tuple[int | None, str, str, int]]]:
    return {
        item.id: [(one.version, one.field, one.kind, one.count) for one in item.findings]
        for item in plan.items
    }


def test_every_place_is_found_and_no_secret_is_shown(
    memory: Memory, query: Query, stored: dict[str, int]
) -> None:
    before = held(query)
    plan = memory.plans.redact(now=NOW)
    assert shown(plan) == {
        stored["body"]: [(None, "body", "GitHub Token", 2)],
        stored["title"]: [(None, "tags", "GitHub Token", 1), (None, "title", "GitHub Token", 1)],
        stored["context"]: [(None, "context", "Password", 1)],
        stored["metadata"]: [(None, "metadata", "Password", 1)],
        stored["version"]: [(1, "body", "Password", 1)],
    }
    assert plan.report.kinds == {"GitHub Token": 4, "Password": 3}
    assert (plan.report.planned, plan.report.secrets, plan.report.scanned, plan.report.complete) == (
        5,
        7,
        7,
        True,
    )
    assert held(query) == before >= {"memory", "memory_version", "lexeme"}
    everything = json.dumps([str(plan), str(memory.plans.list()), str(memory.plans.get(plan.id, limit=2))])
    assert not any(secret in everything for secret in SECRETS)


def test_nothing_is_left_of_a_secret_and_undo_gives_it_back(
    memory: Memory, query: Query, stored: dict[str, int]
) -> None:
    texts = "SELECT memory_id, version, texts FROM recall.stored_texts() ORDER BY 1, 2"
    before = query(texts)
    plan = memory.plans.redact(now=NOW)
    outcome = memory.plans.apply(plan.id, now=LATER)
    assert outcome.redacted == tuple(item.id for item in plan.items)
    assert outcome.skipped == outcome.archived == ()
    assert held(query) == set()
    assert memory.get("body").body == (
        "Wäsche \N{TOOLBOX}: token [removed: GitHub Token] and [removed: GitHub Token]."
    )
    assert memory.get("metadata").metadata == {
        "env": {"all": ["x", "postgres://deploy:[removed: Password]@db.internal/app"]},
        "n": 3,
    }
    [_, earlier] = memory.history.versions("version")
    assert earlier.body == "First it was postgres://deploy:[removed: Password]@db.internal/app"
    assert problems(query) == []
    assert memory.plans.list()[0].archived == 5
    # It is found no more, and not replaced twice.
    assert memory.plans.redact(now=LATER).items == ()
    with pytest.raises(InvalidInput, match="was already applied"):
        memory.plans.apply(plan.id, now=LATER)
    undone = memory.plans.undo(plan.id, now=LATER)
    assert (undone.restored, undone.back_before) == (5, 0)
    assert query(texts) == before
    assert query("SELECT FROM recall.redacted_text") == []
    assert problems(query) == []


def test_authors_sources_and_logged_queries_hold_it_no_more(memory: Memory, query: Query) -> None:
    """Plain SQL stores what the clients leave out."""
    draft = {"body": "The winch.", "key": "winch", "author": f"bot {GITHUB}", "source": URL}
    query("SELECT recall.remember_many(%s::jsonb, p_now => %s)", (json.dumps([draft]), NOW))
    memory.edit("winch", author=f"bot {GITHUB} again", now=NOW)
    store(memory, f"Token {GITHUB}.", key="token", at=NOW)
    logged = "SELECT query, queries FROM recall.search_log ORDER BY id"
    for asked in (
        {"query": f"what is {GITHUB}"},
        {"query": "the winch", "queries": [f"who is {GITHUB}?", "its rope"]},
    ):
        query("SELECT FROM recall.search_and_log(%s::jsonb)", (json.dumps(asked),))
    assert held(query) >= {"memory", "memory_version", "search_log"}

    plan = memory.plans.redact(now=NOW)
    assert [(one.version, one.field) for one in plan.items[0].findings] == [
        (None, "author"), (None, "source"), (1, "author"),
    ]  # fmt: skip
    memory.plans.apply(plan.id, now=LATER)
    assert held(query) == set()
    assert memory.get("winch").author == "bot [removed: GitHub Token] again"
    assert memory.get("winch").source == "postgres://deploy:[removed: Password]@db.internal/app"
    replaced = [
        {"query": "what is [removed]", "queries": None},
        {"query": "the winch", "queries": ["who is [removed]?", "its rope"]},
    ]
    assert query(logged) == replaced
    memory.plans.undo(plan.id, now=LATER)
    assert (memory.get("winch").author, memory.get("winch").source) == (f"bot {GITHUB} again", URL)
    assert query(logged) == replaced
    assert problems(query) == []


def test_names_of_fields_and_sessions_hold_it_no_more(memory: Memory, query: Query) -> None:
    other = GITHUB[:-1] + "e"
    metadata = {GITHUB: {GITHUB: URL, "n": 1}, f"{other}": "b", "list": [{f"in {GITHUB}": True}], "plain": 2}
    drafts = [
        Draft("The winch.", key="winch", metadata=metadata),
        Draft("The crane is inspected on Monday.", session_id=f"chat {GITHUB}"),
    ]
    [_, talk] = memory.remember_many(drafts, now=NOW)
    session = memory.session(f"chat {GITHUB}")
    session.record_access(talk.id, "used", at=NOW, now=NOW)
    asked = {"query": "when is the crane inspected?", "session_id": f"chat {GITHUB}"}
    query("SELECT FROM recall.search_and_log(%s::jsonb)", (json.dumps(asked),))
    texts = "SELECT memory_id, version, texts FROM recall.stored_texts() ORDER BY 1, 2"
    before = query(texts)
    assert held(query) >= {"memory", "access", "search_log"}
    plan = memory.plans.redact(now=NOW)
    assert [shown(plan)[item.id] for item in plan.items] == [
        [(None, "metadata", "GitHub Token", 4), (None, "metadata", "Password", 1)],
        [(None, "session_id", "GitHub Token", 1)],
    ]
    memory.plans.apply(plan.id, now=LATER)
    assert held(query) == set()
    token = "[removed: GitHub Token]"
    kept = dict(memory.get("winch").metadata)
    inner = {token: "postgres://deploy:[removed: Password]@db.internal/app", "n": 1}
    assert sorted(kept) == ["[removed: GitHub Token]", "[removed: GitHub Token]+", "list", "plain"]
    both = [kept[token], kept[f"{token}+"]]
    assert both in ([inner, "b"], ["b", inner])
    assert kept["list"] == [{f"in {token}": True}]
    assert [one.id for one in memory.list(session_id=f"chat {token}")] == [talk.id]
    sessions = "SELECT DISTINCT session_id FROM recall.{} WHERE session_id IS NOT NULL"
    for table in ("access", "search_log"):
        assert query(sessions.format(table)) == [{"session_id": f"chat {token}"}]
    assert problems(query) == []
    assert memory.plans.redact(now=LATER).items == ()
    assert memory.plans.undo(plan.id, now=LATER).restored == 2
    assert query(texts) == before
    assert problems(query) == []


def test_keys_and_targets_of_links_hold_it_no_more(memory: Memory, query: Query) -> None:
    for number, text in enumerate(("The first.", "The second.")):
        draft = Draft(
            text, key=GITHUB if number else f"to {GITHUB}",
            links=(DraftLink(f"see {GITHUB}"), DraftLink(f"see {GITHUB}", "supports"), DraftLink("winch")),
        )  # fmt: skip
        memory.remember_many([draft], now=NOW)
    taken = store(memory, "Its key is what the second would get.", key="[removed: GitHub Token]", at=NOW)
    assert held(query) >= {"memory", "pending_link"}
    plan = memory.plans.redact(now=NOW)
    assert [(one.field, one.count) for one in plan.items[0].findings] == [("key", 1), ("links", 2)]
    second = memory.get(GITHUB).id
    assert memory.plans.apply(plan.id, now=LATER).skipped == ()
    assert held(query) == set()
    assert memory.get("to [removed: GitHub Token]").body == "The first."
    assert memory.get("[removed: GitHub Token]").id == taken
    assert memory.get(f"[removed: GitHub Token]+{second}").body == "The second."
    targets = "SELECT DISTINCT target FROM recall.pending_link ORDER BY 1"
    left = {row["target"] for row in query(targets)}
    assert left == {"see [removed: GitHub Token]", "winch"}
    assert problems(query) == []
    store(memory, "It has the key by now.", key=f"to {GITHUB}", at=LATER)
    undone = memory.plans.undo(plan.id, now=LATER)
    assert (undone.restored, undone.back_before) == (1, 1)
    assert memory.get(GITHUB).body == "The second."
    assert {row["target"] for row in query(targets)} == left


def test_the_statistics_of_postgres_quote_nothing_either(
    memory: Memory, query: Query, stored: dict[str, int]
) -> None:
    sampled = "SELECT DISTINCT tablename FROM pg_stats s WHERE schemaname = 'recall' AND lower(s::text) ~ %s"
    for table in ("memory", "memory_version", "lexeme"):
        query(f"ANALYZE recall.{table}")
    parts = ("|".join(PARTS),)
    assert {row["tablename"] for row in query(sampled, parts)} >= {"memory", "lexeme"}
    plan = memory.plans.redact(now=NOW)
    assert memory.plans.apply(plan.id, now=LATER).redacted
    assert query(sampled, parts) == []


def test_the_report_names_tables_whose_statistics_stay(
    memory: Memory, query: Query, database_url: str, stored: dict[str, int]
) -> None:
    """Another tenant can keep a transaction open that has analyzed a table."""
    query("ANALYZE recall.memory, recall.lexeme")
    plan = memory.plans.redact(now=NOW)
    with psycopg.connect(database_url) as other:
        other.execute("ANALYZE recall.memory")
        assert memory.plans.apply(plan.id, now=LATER).redacted
    applied = memory.plans.get(plan.id)
    assert isinstance(applied, RedactPlan)
    told = secrets_summary(applied.report)
    assert told.endswith(
        "The planner statistics of recall.memory may still quote what was replaced, because other "
        "transactions held it: ANALYZE recall.memory."
    )


def test_a_new_text_gets_new_vectors_and_followers_are_told(
    memory: Memory, query: Query, stored: dict[str, int]
) -> None:
    settle(query)
    cursor = memory.history.cursor()
    embedded = "SELECT key FROM recall.memory WHERE embedded_with IS NULL ORDER BY key"
    assert query(embedded) == []
    memory.plans.apply(memory.plans.redact(now=NOW).id, now=LATER)
    # Only texts are embedded, and an earlier version has no vector.
    assert [row["key"] for row in query(embedded)] == ["body", "title"]
    settle(query)
    changed = {change.id for change in memory.history.changes(cursor, kinds=["rewritten"])}
    assert changed == {stored[key] for key in stored if key != "clean"}
    memory.jobs.run("embed")
    assert query(embedded) == []
    assert memory.search("removed GitHub token", now=LATER).hits[0].id in (stored["body"], stored["title"])


def test_what_was_rewritten_since_is_skipped_with_a_reason(memory: Memory, stored: dict[str, int]) -> None:
    plan = memory.plans.redact(now=NOW)
    memory.edit("body", body=f"Another text with {GITHUB}.", now=NOW)
    memory.edit("metadata", metadata={"env": URL}, now=NOW)
    memory.forget("title", hard=True, now=NOW)
    memory.edit("version", body="A text after it.", now=NOW)  # its version 1 is as it was
    outcome = memory.plans.apply(plan.id, now=LATER)
    assert {(one.id, one.outcome, one.note) for one in outcome.results} == {
        (stored["body"], "skipped", "rewritten since"),
        (stored["metadata"], "skipped", "rewritten since"),
        (stored["context"], "redacted", None),
        (stored["version"], "redacted", None),
    }
    assert GITHUB in memory.get("body").body
    again = memory.plans.redact(now=LATER)
    assert [(item.id, len(item.findings)) for item in again.items] == [
        (stored["body"], 2), (stored["metadata"], 2),
    ]  # fmt: skip


def test_a_text_that_changed_and_changed_back_is_rewritten_too(memory: Memory, query: Query) -> None:
    store(memory, f"Token {GITHUB}.", key="back", at=NOW)
    plan = memory.plans.redact(now=NOW)
    memory.edit("back", body="Something else.", now=NOW)
    memory.edit("back", body=f"Token {GITHUB}.", now=NOW)
    assert [one.note for one in memory.plans.apply(plan.id, now=NOW).skipped] == ["rewritten since"]
    memory.plans.apply(memory.plans.redact(now=NOW).id, now=NOW)
    assert held(query) == set()


def test_only_chosen_memories_are_redacted(memory: Memory, stored: dict[str, int]) -> None:
    plan = memory.plans.redact(now=NOW)
    with pytest.raises(InvalidInput, match=f"Redact plan {plan.id} has no memory {stored['clean']}"):
        memory.plans.apply(plan.id, parts=[stored["clean"]], now=NOW)
    outcome = memory.plans.apply(plan.id, parts=[stored["body"]], now=NOW)
    assert outcome.redacted == (stored["body"],)
    assert {one.note for one in outcome.skipped} == {"not chosen"}
    assert GITHUB in memory.get("title").title


def test_undo_leaves_what_changed_since(memory: Memory, stored: dict[str, int]) -> None:
    plan = memory.plans.redact(now=NOW)
    memory.plans.apply(plan.id, now=NOW)
    memory.edit("body", body="Written by hand.", now=LATER)
    memory.edit("title", tags=["ops"], now=LATER)
    undone = memory.plans.undo(plan.id, now=LATER)
    assert (undone.restored, undone.back_before) == (3, 2)
    assert memory.get("body").body == "Written by hand."
    assert (memory.get("title").title, memory.get("title").tags) == (f"Uses {GITHUB}", ("ops",))


def test_dropping_an_applied_plan_deletes_what_undo_needs(
    memory: Memory, query: Query, stored: dict[str, int]
) -> None:
    plan = memory.plans.redact(now=NOW)
    memory.plans.apply(plan.id, now=NOW)
    kept = "SELECT string_agg(taken::text, '') AS taken FROM recall.redacted_text"
    assert all(secret in query(kept)[0]["taken"] for secret in SECRETS)
    assert memory.plans.drop(plan.id)
    assert query(kept) == [{"taken": None}]
    with pytest.raises(InvalidInput, match=f"There is no plan {plan.id}"):
        memory.plans.undo(plan.id, now=NOW)


@pytest.mark.parametrize("way", ["forget", "erase memory", "erase version"])
def test_what_undo_needs_goes_with_its_memory(memory: Memory, query: Query, way: str) -> None:
    store(memory, f"At first {URL}", key="one", author="Ada", source="notes", at=NOW)
    memory.edit("one", body="Then nothing.", author="Bob", now=NOW)
    memory.plans.apply(memory.plans.redact(now=NOW).id, now=NOW)
    assert len(query("SELECT FROM recall.redacted_text")) == 1
    if way == "forget":
        memory.forget("one", hard=True, now=NOW)
    else:
        subject = {"source": "notes"} if way == "erase memory" else {"author": "Ada"}
        erasure = memory.erasure.plan(**subject, asked_by="A person", now=NOW)
        memory.erasure.apply(erasure.id, signed_by="A person", now=NOW)
    assert query("SELECT FROM recall.redacted_text") == []
    assert query("SELECT FROM recall.memory WHERE key = 'one'") == ([] if way != "erase version" else [{}])


def test_no_export_has_a_plan_of_secrets(
    memory: Memory, query: Query, stored: dict[str, int], tmp_path: Any
) -> None:
    memory.plans.apply(memory.plans.redact(now=NOW).id, now=NOW)
    memory.plans.redact(now=NOW)
    file = tmp_path / "all.jsonl"
    memory.export.write(file)
    assert not any(secret in file.read_text("utf-8") for secret in SECRETS)
    assert '"redact"' not in file.read_text("utf-8")
    planted = {"id": 900, "state": "planned", "created_at": "2026-01-01", "options": {}, "report": {}}
    rows = json.dumps([planted | {"kind": "redact"}])
    with pytest.raises(Exception, match="an export has no redact plans"):
        query("SELECT recall_private.check_imported_rows('acme', 'plan', %s)", (rows,))


def test_a_plan_has_a_bound_and_says_so(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans_group, "MAX_REDACTED", 3)
    memory.remember_many([Draft(f"Token {number}: {GITHUB}") for number in range(9)], now=NOW)
    plan = memory.plans.redact(now=NOW)
    assert not plan.report.complete


def unit(**changes: Any) -> dict[str, Any]:
    """One finding in the form that is taken, apart from these changes."""
    place = {"path": changes.pop("path", ["body"]), "spans": changes.pop("spans", [[0, 1, "Key"]])}
    return {"id": 1, "version": 0, "digest": "0" * 32, "places": [place]} | changes


BAD: list[Any] = [
    {}, [1], [{"id": 1}], None, [unit(places=[])], [unit(id=1.5)], [unit(version=-1)], [unit(digest="x")],
    [unit(path=["layer"])], [unit(spans=[[0, 0, "Key"]])], [unit(spans=[[5, 2, "Key"], [6, 1, "Key"]])],
    [unit(spans=[[0, 1, "hunter2"]])], [unit(spans={"a": 1})], [unit(spans=[])],
    [unit(spans=[[2**31 - 1, 1, "Key"]])],
]  # fmt: skip


@pytest.mark.parametrize("found", BAD)
def test_findings_of_another_form_are_refused_and_nothing_is_stored(query: Query, found: Any) -> None:
    with pytest.raises(Exception, match="The findings must be an array"):
        query("SELECT recall.plan_redact(%s::jsonb)", (json.dumps(found),))
    assert query("SELECT FROM recall.plan") == []


def test_findings_in_memories_of_nobody_or_beyond_a_text_change_nothing(memory: Memory, query: Query) -> None:
    stored = store(memory, "Short.", key="short", at=NOW)
    [row] = query("SELECT digest FROM recall.stored_texts()")
    found = [
        unit(id=123456, digest=row["digest"]),
        unit(id=stored, digest=row["digest"], path=["metadata", "no"]),
    ]
    [made] = query("SELECT recall.plan_redact(%s::jsonb, p_now => %s) AS id", (json.dumps(found), NOW))
    assert memory.plans.apply(made["id"], now=NOW).redacted == (stored,)
    assert (memory.get("short").body, memory.get("short").metadata) == ("Short.", {})


@pytest.mark.parametrize("page", [1, 2, 500])
def test_pages_of_stored_texts_have_each_text_once(query: Query, stored: dict[str, int], page: int) -> None:
    whole = query("SELECT memory_id, version FROM recall.stored_texts()")
    assert len(whole) == 7
    read: list[Any] = []
    after = {"memory_id": 0, "version": 0}
    while rows := query(
        "SELECT memory_id, version FROM recall.stored_texts(%s, %s, %s)",
        (after["memory_id"], after["version"], page),
    ):
        read += rows
        after = rows[-1]
    assert read == whole
    [first] = query("SELECT memory_id FROM recall.stored_texts(p_max_bytes => 1)")
    assert first["memory_id"] == whole[0]["memory_id"]


def test_another_tenant_keeps_its_texts(memory: Memory, query: Query, stored: dict[str, int]) -> None:
    other = memory.for_tenant("other")
    store(other, f"Theirs: {GITHUB}", key="theirs", at=NOW)
    memory.plans.apply(memory.plans.redact(now=NOW).id, now=NOW)
    assert GITHUB in other.get("theirs").body
    assert other.plans.list() == ()
