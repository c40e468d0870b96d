"""A folder of notes that was reordered is imported again: its memories get the new keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.cli.command_tools import Command
from tests.databases import Query

pytestmark = pytest.mark.in_turns

LONG = "".join(f"# Part {n}\n\n{f'Rope number {n} is tarred and coiled. ' * 20}\n\n" for n in range(3))


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "winch.md").write_text("Ann mends the winch. See [[yard]].")
    (folder / "yard.md").write_text(LONG)
    for name in ("one", "two"):
        (folder / f"{name}.md").write_text("The same.")
    return folder


def stored(query: Query) -> dict[str, int]:
    rows = query("SELECT id, key FROM recall.memory WHERE archived_at IS NULL", tenant="default")
    return {row["key"]: row["id"] for row in rows}


def test_moved_notes_keep_their_memories(pgrecall: Command, vault: Path, query: Query) -> None:
    assert pgrecall("import", str(vault)).code == 0
    before = stored(query)
    parts = [key for key in before if key.startswith("yard")]
    assert len(parts) > 1
    (vault / "dock").mkdir()
    (vault / "winch.md").rename(vault / "dock" / "winch.md")
    (vault / "yard.md").rename(vault / "dock" / "place.md")
    done = pgrecall("import", str(vault))
    assert done.code == 0
    assert f"{1 + len(parts)} memories have a new key, because notes were renamed." in done.err
    assert done.out.startswith("0 created, ")
    assert "no longer in it" not in done.out
    after = stored(query)
    moved = {"winch": "dock/winch"} | {key: key.replace("yard", "dock/place", 1) for key in parts}
    assert after == {moved.get(key, key): number for key, number in before.items()}
    again = pgrecall("import", str(vault))
    assert (again.out.startswith("0 created, 0 updated, "), "new key" in again.err) == (True, False)


def test_notes_that_cannot_be_told_apart_are_new(pgrecall: Command, vault: Path, query: Query) -> None:
    assert pgrecall("import", str(vault)).code == 0
    before = stored(query)
    (vault / "one.md").rename(vault / "three.md")
    (vault / "two.md").rename(vault / "four.md")
    (vault / "winch.md").unlink()
    (vault / "capstan.md").write_text("Ann mends the capstan.")
    done = pgrecall("import", str(vault))
    assert done.out.startswith("3 created, ")
    assert "3 memories of this source are no longer in it" in done.out
    assert before.items() <= stored(query).items()


def test_a_copy_is_new(pgrecall: Command, vault: Path, query: Query) -> None:
    assert pgrecall("import", str(vault)).code == 0
    before = stored(query)
    (vault / "copy.md").write_text((vault / "winch.md").read_text())
    assert pgrecall("import", str(vault)).out.startswith("1 created, ")
    assert before.items() <= stored(query).items()


def test_the_key_of_another_source_is_left_to_it(pgrecall: Command, vault: Path, query: Query) -> None:
    assert pgrecall("import", str(vault)).code == 0
    assert pgrecall("remember", "Mine.", "--key", "capstan").code == 0
    before = stored(query)
    (vault / "winch.md").rename(vault / "capstan.md")
    done = pgrecall("import", str(vault))
    assert (done.code, "this key belongs to a memory made by hand" in done.out) == (4, True)
    assert stored(query) == before
