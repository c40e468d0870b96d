"""``pgrecall prune``: a dry run that is read, applied and undone, and what it exits with."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.cli.command_tools import Command

pytestmark = pytest.mark.in_turns

AGES = {"ash": 700, "bay": 600, "cod": 500}
IN_A_YEAR = (datetime.now(UTC) + timedelta(days=365)).date().isoformat()
SHARE = ("--max-share", "1")


@pytest.fixture
def vault(pgrecall: Command, tmp_path: Path) -> Command:
    """A vault of three old notes in a row, of which a kept one holds the first two; they are new today."""
    old = datetime.now(UTC)
    lines: list[dict[str, Any]] = [
        {
            "key": key,
            "title": key.capitalize(),
            "body": f"The {key} in the harbour.",
            "layer": "activity",
            "occurred_at": (old - timedelta(days=age)).isoformat(),
        }
        for key, age in AGES.items()
    ]
    lines[1]["links"] = [{"target": "ash"}, {"target": "keep"}]
    lines.append({"key": "keep", "title": "Keep", "body": "The keeper.", "pinned": True})
    file = tmp_path / "vault.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert pgrecall("import", str(file)).code == 0
    assert pgrecall("search", "keeper").code == 0  # or nobody could have used them yet
    return pgrecall


def test_new_notes_are_not_planned(vault: Command) -> None:
    told = vault("prune", *SHARE)
    assert told.code == 1
    assert "None of 4 live memories would be archived" in told.out
    assert "nothing to apply" in told.out


def test_plan_show_apply_list_undo(vault: Command) -> None:
    told = vault("prune", *SHARE, "--max-count", "2", "--now", IN_A_YEAR)
    assert (told.code, told.err) == (0, "")
    for part in (
        "Prune plan 1, created on", "Nothing has been changed yet.", "2 of 4 live memories",
        "would be archived", "left out by a limit", "active  stale  fading  dormant", "Ash",
        "Vitality 0.01", "of layer activity; 1 access,",
        "Ends 1 reference to it", "Next: pgrecall plan apply 1",
    ):  # fmt: skip
        assert part in told.out, part
    shown = vault("plan", "show", "1")
    assert (shown.code, shown.out) == (0, told.out)

    assert vault("search", "harbour", "--json").json["hits"]
    applied = vault("plan", "apply", "1", "--now", IN_A_YEAR)
    assert (applied.code, applied.err) == (0, "")
    assert "Prune plan 1 is applied: 2 memories were archived, 0 skipped." in applied.out
    assert "archived Ash" in applied.out
    assert "pgrecall plan undo 1" in applied.out
    assert "archived" in vault("plan", "show", "1").out
    hits = {hit["key"] for hit in vault("search", "harbour", "--json").json["hits"]}
    assert len(hits & set(AGES)) == 1
    found = {hit["key"] for hit in vault("search", "harbour", "--include-archived", "--json").json["hits"]}
    assert found >= set(AGES)

    listed = vault("plan", "list")
    assert listed.code == 0
    assert "applied" in listed.out
    undone = vault("plan", "undo", "1", "--now", IN_A_YEAR)
    assert (undone.code, undone.out) == (0, "Plan 1 is undone: 2 memories are back.\n")
    assert {hit["key"] for hit in vault("search", "harbour", "--json").json["hits"]} >= set(AGES)
    assert "undone" in vault("plan", "list").out


def test_memories_used_since_are_reported(vault: Command) -> None:
    vault("prune", *SHARE, "--now", IN_A_YEAR)
    assert vault("access", "cod", "--at", IN_A_YEAR, "--now", IN_A_YEAR).code == 0
    applied = vault("plan", "apply", "1", "--now", IN_A_YEAR)
    assert applied.code == 0
    assert "skipped Cod: used since" in applied.out
    assert vault("access", "ash", "--at", IN_A_YEAR, "--now", IN_A_YEAR).code == 0
    undone = vault("plan", "undo", "1", "--now", IN_A_YEAR)
    assert "1 memory is back.\n1 memory had been restored, rewritten or deleted before.\n" in undone.out


def test_kept_back_memories_are_listed(pgrecall: Command, tmp_path: Path) -> None:
    sides = [{"key": key, "title": key.capitalize(), "body": key, "pinned": True} for key in ("east", "west")]
    between: dict[str, Any] = {"title": "Bridge", "body": "The way across.", "layer": "activity"}
    between["links"] = [{"target": "east"}, {"target": "west"}]
    file = tmp_path / "sides.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in (*sides, between)))
    assert pgrecall("import", str(file)).code == 0
    told = pgrecall("prune", *SHARE, "--now", IN_A_YEAR)
    assert told.code == 1
    assert "Kept back, 1:" in told.out
    assert "  Bridge\n    Without it 1 memory would be disconnected, such as West.\n" in told.out


def test_documents(vault: Command) -> None:
    made = vault("prune", *SHARE, "--layer", "activity", "--now", IN_A_YEAR, "--json").json
    assert (made["id"], made["state"], made["options"]["layers"]) == (1, "planned", ["activity"])
    assert [item["key"] for item in made["items"]] == ["ash", "bay", "cod"]
    assert made["report"]["links"]
    assert all(len(link) == 3 for link in made["report"]["links"])
    assert vault("plan", "show", "1", "--json").json == made
    [listed] = vault("plan", "list", "--json").json
    assert (listed["id"], listed["planned"]) == (1, 3)
    applied = vault("plan", "apply", "1", "--now", IN_A_YEAR, "--json").json
    assert applied["plan"] == 1
    assert {result["outcome"] for result in applied["results"]} == {"archived"}
    undone = vault("plan", "undo", "1", "--now", IN_A_YEAR, "--json").json
    assert undone == {"plan": 1, "restored": 3, "back_before": 0}


def test_a_plan_is_removed(vault: Command) -> None:
    vault("plan", "prune", *SHARE, "--now", IN_A_YEAR)
    assert vault("plan", "list", "--kind", "dedupe").code == 1
    removed = vault("plan", "drop", "1")
    assert (removed.code, removed.out) == (0, "Plan 1 is removed.\n")
    assert vault("plan", "list").code == 1
    assert "There is no plan 1 in this tenant." in vault("plan", "drop", "1").err


def test_a_report_with_charts(vault: Command, tmp_path: Path) -> None:
    page = tmp_path / "plan.html"
    told = vault("prune", *SHARE, "--now", IN_A_YEAR, "--html", str(page))
    assert told.code == 0
    assert str(page) in told.err
    assert "Ash" in page.read_text(encoding="utf-8")
    refused = vault("plan", "show", "1", "--html", str(tmp_path / "nowhere" / "plan.html"))
    assert (refused.code, refused.out) == (2, "")
    assert "cannot be written" in refused.err


def test_nothing_to_list(pgrecall: Command) -> None:
    told = pgrecall("plan", "list")
    assert (told.code, told.out) == (1, "")
    assert "There are no plans yet" in told.err


def test_a_plan_is_applied_and_undone_once(vault: Command) -> None:
    vault("prune", *SHARE, "--now", IN_A_YEAR)
    assert vault("plan", "apply", "1").code == 2  # made for a moment that is not yet
    assert vault("plan", "undo", "1").code == 2
    assert vault("plan", "apply", "1", "--now", IN_A_YEAR).code == 0
    again = vault("plan", "apply", "1", "--now", IN_A_YEAR)
    assert again.code == 2
    assert "was already applied" in again.err
    assert vault("plan", "undo", "1", "--now", IN_A_YEAR).code == 0
    assert "was already undone" in vault("plan", "undo", "1", "--now", IN_A_YEAR).err
