"""`pgrecall import list`, `import undo` and `import --archive-removed`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.acceptance.cli.command_tools import Command
from tests.databases import Query

pytestmark = pytest.mark.in_turns


def live(query: Query) -> dict[str, str]:
    rows = query("SELECT key, body FROM recall.memory WHERE archived_at IS NULL", tenant="default")
    return {row["key"]: row["body"] for row in rows}


def test_undo_of_a_changed_folder(pgrecall: Command, vault: Path, query: Query) -> None:
    assert pgrecall("import", str(vault)).code == 0
    before = live(query)
    (vault / "winch.md").write_text("Ann mends the winch.")
    (vault / "boat.md").write_text("A boat.")
    (vault / "tide.md").unlink()
    done = pgrecall("import", str(vault), "--archive-removed")
    assert done.code == 0
    assert "1 memory is archived, because the notes are gone. To undo: pgrecall import undo" in done.err
    assert sorted(live(query)) == ["boat", "winch", "yard"]
    listed = json.loads(pgrecall("import", "list", "--json").out)
    assert [(one["created"], one["changed"], one["archived"]) for one in listed] == [(1, 1, 1), (3, 0, 0)]
    assert "archived" in pgrecall("import", "list").out
    undone = pgrecall("import", "undo")
    assert (undone.code, "1 deleted, 1 given back, 1 restored." in undone.out) == (0, True)
    assert "pgrecall jobs run embed" in undone.err
    assert live(query) == before
    assert pgrecall("import", "undo", str(listed[1]["id"])).code == 0
    assert pgrecall("import", "undo").code == 2


def test_renamed_notes_get_their_old_keys_back(pgrecall: Command, vault: Path, query: Query) -> None:
    assert pgrecall("import", str(vault)).code == 0
    before = live(query)
    (vault / "winch.md").rename(vault / "crane.md")
    (vault / "tide.md").rename(vault / "ebb.md")
    (vault / "winch.md").write_text("Another winch.")
    (vault / "yard.md").write_text("Ann owns the yard. See [[crane]].")
    done = pgrecall("import", str(vault), "--archive-removed")
    assert (done.code, "1 memory has a new key, because notes were renamed." in done.err) == (0, True)
    assert sorted(live(query)) == ["crane", "ebb", "winch", "yard"]
    undone = pgrecall("import", "undo")
    assert undone.code == 0
    assert live(query) == before
    assert "deleted" in pgrecall("import", "undo").out  # the first import too, as if no note had been renamed
    assert live(query) == {}


def test_an_old_key_that_is_taken_is_named(pgrecall: Command, vault: Path, query: Query) -> None:
    assert pgrecall("import", str(vault)).code == 0
    (vault / "winch.md").rename(vault / "crane.md")
    assert pgrecall("import", str(vault)).code == 0
    assert [row["changed"] for row in json.loads(pgrecall("import", "list", "--json").out)] == [1, 0]
    assert pgrecall("remember", "By hand.", "--key", "winch").code == 0
    undone = pgrecall("import", "undo")
    assert (undone.code, "its earlier key cannot be given back" in undone.out) == (0, True)
    assert sorted(live(query)) == ["crane", "tide", "winch", "yard"]


def test_what_was_used_is_archived_and_named(pgrecall: Command, vault: Path, query: Query) -> None:
    assert pgrecall("import", str(vault)).code == 0
    assert pgrecall("access", "winch").code == 0
    assert pgrecall("edit", "yard", "--body", "By hand.").code == 0
    undone = pgrecall("import", "undo", "--source", "nothing")
    assert (undone.code, "There is no import to undo of the source 'nothing'." in undone.err) == (2, True)
    undone = pgrecall("import", "undo")
    assert "1 deleted, 1 archived." in undone.out
    assert "used since, archived" in undone.out
    assert "changed since, kept" in undone.out
    assert live(query) == {"yard": "By hand."}


def test_most_of_a_folder_is_not_archived(pgrecall: Command, vault: Path, query: Query) -> None:
    assert pgrecall("import", str(vault)).code == 0
    for name in ("winch", "yard"):
        (vault / f"{name}.md").unlink()
    (vault / "cake.md").write_text("A cake.")
    for _ in range(2):  # what is new does not make it less
        done = pgrecall("import", str(vault), "--archive-removed")
        assert (done.code, "with --archive-removed --archive-most" in done.err) == (2, True)
        assert len(live(query)) == 3
    (vault / "cake.md").unlink()
    assert pgrecall("import", str(vault), "--archive-removed", "--archive-most").code == 0
    assert list(live(query)) == ["tide"]


def test_a_source_that_has_no_folder(pgrecall: Command, tmp_path: Path) -> None:
    records = tmp_path / "some.jsonl"
    records.write_text('{"body": "x"}\n')
    refused = pgrecall("import", str(records), "--archive-removed")
    assert (refused.code, "--archive-removed needs a folder of notes" in refused.err) == (2, True)


def test_nothing_imported_yet(pgrecall: Command) -> None:
    listed = pgrecall("import", "list")
    assert (listed.code, "No import has changed anything yet." in listed.err) == (1, True)
    assert "undo" in pgrecall("import", "--help").out
