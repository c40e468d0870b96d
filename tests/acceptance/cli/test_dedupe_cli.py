"""``pgrecall dedupe``: a dry run that is read, applied and undone, and what it exits with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.cli.command_tools import Command

pytestmark = pytest.mark.in_turns

NOTES = {
    "ash": "The key of the old shed hangs behind the clock in the office of the harbour master",
    "ash again": "The key of the old shed hangs behind the clock in the office of the harbour master!",
    "bay": "The ferry to Alden leaves at 7:40 every day of the week from the pier behind the market",
    "bay later": "The ferry to Alden leaves at 8:10 every day of the week from the pier behind the market",
}


@pytest.fixture
def vault(pgrecall: Command, tmp_path: Path) -> Command:
    """A vault of two notes that say the same and two that contradict each other."""
    lines: list[dict[str, Any]] = [
        {"key": key, "title": key.capitalize() if key == "ash" else "", "body": body, "tags": [key[:3]]}
        for key, body in NOTES.items()
    ]
    lines[0]["title"] = ""
    lines[1]["tags"] = ["spare"]
    file = tmp_path / "vault.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert pgrecall("import", str(file)).code == 0
    return pgrecall


def test_plan_show_apply_list_undo(vault: Command) -> None:
    told = vault("dedupe")
    assert (told.code, told.err) == (0, "")
    flat = " ".join(told.out.split())
    for part in (
        "Dedupe plan 1, created on", "Nothing has been changed yet.",
        "1 of 4 live memories would be merged into 1 other that says the same.", "stays.",
        "The same content words.", "harbour master{+!+}", "Merging moves 1 access, 0 links, the tags",
        "May contradict each other, 1; a plan makes no link:", "different numbers (7:40; 8:10)",
        "--relation contradicts", "Next: pgrecall plan apply 1",
    ):  # fmt: skip
        assert part in flat, part
    shown = vault("plan", "show", "1")
    assert (shown.code, shown.out) == (0, told.out)

    applied = vault("plan", "apply", "1")
    assert (applied.code, applied.err) == (0, "")
    assert "Dedupe plan 1 is applied: 1 memory was merged, 0 skipped." in applied.out
    assert "pgrecall plan undo 1" in applied.out
    again = vault("plan", "apply", "1")
    assert again.code == 2
    assert "was already applied" in again.err
    assert vault("verify").code == 0

    listed = vault("plan", "list", "--json").json
    assert [(plan["id"], plan["state"], plan["archived"]) for plan in listed] == [(1, "applied", 1)]
    assert "applied" in vault("plan", "list").out
    undone = vault("plan", "undo", "1")
    assert (undone.code, undone.out.strip()) == (0, "Plan 1 is undone: 1 memory is back.")
    assert "undone on" in vault("plan", "show", "1").out
    assert vault("verify").code == 0


def test_json_is_the_document_of_sql(vault: Command) -> None:
    made = vault("dedupe", "--json").json
    assert made["report"]["planned"] == 1
    [member] = made["clusters"][0]["members"]
    assert [kind for kind, _ in member["difference"]] == ["same", "added"]
    assert vault("plan", "show", str(made["id"]), "--json").json == made


def test_what_a_person_names_is_planned(vault: Command) -> None:
    told = vault("plan", "merge", "ash", "ash again")
    assert (told.code, told.err) == (0, "")
    flat = " ".join(told.out.split())
    assert "1 of 4 live memories would be merged into 1 other that you named." in flat
    assert "It was chosen to be merged." in flat
    assert vault("plan", "apply", "1").code == 0
    refused = vault("plan", "merge", "ash", "ash again")
    assert refused.code == 2
    assert "is archived" in refused.err
    assert vault("plan", "merge", "ash").code == 2
    assert vault("plan", "merge", "ash", "nobody").code == 2


def test_nothing_to_merge_and_bad_input(vault: Command) -> None:
    assert vault("forget", "ash").code == 0
    told = vault("dedupe")
    assert told.code == 1
    assert "None of 3 live memories is a duplicate of another one." in told.out
    for arguments, error in (
        (("plan", "show", "7"), "There is no plan 7"),
        (("plan", "show", "1", "--html", "plan.html"), "Plan 1 is a dedupe plan, which has no HTML report."),
        (("plan", "apply", "0"), "There is no plan 0"),
        (("plan", "undo", "1"), "has not been applied"),
        (("plan", "apply", "1", "--only", "4"), "has no cluster 4"),
        (("dedupe", "--min-similarity", "0.2"), "dedupe.min_similarity"),
        (("dedupe", "--layer", "nowhere"), "There is no layer"),
    ):
        refused = vault(*arguments)
        assert refused.code == 2, refused.out
        assert error in refused.err, refused.err
