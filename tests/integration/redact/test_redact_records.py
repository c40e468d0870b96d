"""What a redact plan takes out is quoted by no other plan, erasure, export and sample of the planner."""

from __future__ import annotations

import json
from datetime import timedelta

from pgrecall import Draft, Memory
from tests.databases import Query
from tests.integration.dedupe.dedupe_tools import problems
from tests.integration.prune.prune_tools import NOW
from tests.integration.redact.test_redact import GITHUB, LATER, PARTS, URL, held

PLACEHOLDER = "[removed: GitHub Token]"
SAFE_URL = "postgres://deploy:[removed: Password]@db.internal/app"


def imported(query: Query, text: str, target: str) -> None:
    """Imports a note of a source whose address has a password, with a token in its key and a pending link."""
    note = {"key": f"note {GITHUB}", "body": text, "source": URL, "links": [{"target": target}]}
    after = NOW + timedelta(hours=len(query("SELECT FROM recall.imports()")))
    query(
        "SELECT FROM recall.store_imported(%s, NULL, %s::jsonb, p_now => %s)",
        (URL, json.dumps([note]), after),
    )


def test_plans_of_imports_and_merges_and_erasures_quote_it_no_more(
    memory: Memory, query: Query, database_url: str
) -> None:
    imported(query, "The winch is mended.", f"see {GITHUB}")
    imported(query, "The winch is mended again.", "elsewhere")
    twin = "The crane lifts the boat out of the water every spring at noon."
    tagged = Draft(twin, key="two", tags=(f"tag {GITHUB}",), aliases=(f"alias {GITHUB}",))
    memory.remember_many([Draft(twin, key="one"), tagged], now=NOW)
    merge = memory.plans.dedupe(now=NOW)
    memory.plans.apply(merge.id, now=NOW)
    erasure = memory.erasure.plan(source=URL, asked_by="A person", now=NOW)
    tables = ("plan", "plan_item", "erasure")
    query(f"ANALYZE {', '.join(f'recall.{table}' for table in tables)}")
    assert held(query) >= {*tables}

    plan = memory.plans.redact(now=NOW)
    memory.plans.apply(plan.id, now=LATER)
    assert held(query) == set()
    assert problems(query) == []
    assert {one.source for one in memory.imports.list()} == {SAFE_URL}
    exported = "SELECT count(*) AS n FROM recall.export_lines() e WHERE lower(e) ~ %s"
    assert query(exported, ("|".join(PARTS),)) == [{"n": 0}]
    # What refers to a redacted text still finds it.
    assert memory.get("one").tags == (f"tag {PLACEHOLDER}",)
    memory.plans.undo(merge.id, now=LATER)
    assert memory.get("one").tags == ()
    memory.erasure.apply(erasure.id, signed_by="A person", now=LATER)
    assert query("SELECT FROM recall.memory WHERE key = %s", (f"note {PLACEHOLDER}",)) == []


def test_an_erasure_still_finds_what_keeps_its_text(memory: Memory, query: Query) -> None:
    """A password in a text of somebody may be the name of another."""
    name = "anna" + "1987x"
    memory.remember(f"The password for the wifi is {name}")
    memory.remember_many([Draft("The winch is mended.", key="winch", author=name)], now=NOW)
    erasure = memory.erasure.plan(author=name, asked_by="A person", now=NOW)
    plan = memory.plans.redact(now=NOW)
    assert len(memory.plans.apply(plan.id, now=LATER).redacted) == 1
    memory.erasure.apply(erasure.id, signed_by="A person", now=LATER)
    assert query("SELECT key, author FROM recall.memory") == [{"key": None, "author": None}]


def test_undoing_an_import_renames_memories_whose_keys_differ_in_tokens_only(
    memory: Memory, query: Query
) -> None:
    names = {"old 1": f"note {GITHUB}", "old 2": f"note {GITHUB[:-1]}e"}
    notes = json.dumps([{"key": key, "body": f"Of {key}.", "source": "notes"} for key in names])
    query("SELECT FROM recall.store_imported('notes', NULL, %s::jsonb, p_now => %s)", (notes, NOW))
    query(
        "SELECT FROM recall.rename_imported('notes', NULL, %s::jsonb, p_now => %s)", (json.dumps(names), NOW)
    )
    memory.plans.apply(memory.plans.redact(now=NOW).id, now=LATER)
    keys = "SELECT key, body FROM recall.memory ORDER BY id"
    assert query(keys)[0]["key"] == f"note {PLACEHOLDER}"
    query("SELECT recall.undo_import(p_now => %s)", (LATER,))
    assert query(keys) == [{"key": key, "body": f"Of {key}."} for key in names]


def test_the_planner_samples_nothing_that_was_taken_out(
    memory: Memory, query: Query, database_url: str
) -> None:
    memory.remember_many([Draft(f"Token {GITHUB} of {number}.") for number in range(9)], now=NOW)
    plan = memory.plans.redact(now=NOW)
    memory.plans.apply(plan.id, now=LATER)
    query("ANALYZE recall.redacted_text")
    memory.plans.drop(plan.id)
    sampled = "SELECT tablename FROM pg_stats s WHERE schemaname = 'recall' AND lower(s::text) ~ %s"
    assert query(sampled, ("|".join(PARTS),)) == []
