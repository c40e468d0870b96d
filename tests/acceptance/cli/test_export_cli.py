"""A tenant moved by the command line: through a file, and through a pipe."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.cli.command_tools import Command

pytestmark = pytest.mark.in_turns

HELD = "2 memories, 3 accesses, 1 link, 1 plan, 0 logged searches; "


@pytest.fixture
def filled(pgrecall: Command, tmp_path: Path) -> Command:
    notes = '{"key": "a", "body": "Mira", "links": ["b"]}\n{"key": "b", "body": "A café at the quay."}'
    (tmp_path / "notes.jsonl").write_text(notes)
    assert pgrecall("import", str(tmp_path / "notes.jsonl")).code == 0
    assert pgrecall("access", "a", "--kind", "used").code == 0
    return pgrecall


def test_a_file_moves_a_tenant(filled: Command, tmp_path: Path) -> None:
    file = str(tmp_path / "all.jsonl.gz")
    made = filled("export", file)
    assert (made.code, made.out.startswith(f"Exported tenant default: {HELD}")) == (0, True)
    come = filled("--tenant", "other", "import", file)
    assert (come.code, come.out.startswith(f"Imported tenant default as other: {HELD}")) == (0, True)
    assert filled("--tenant", "other", "search", "cafe", "--json").json["hits"][0]["key"] == "b"

    again = filled("--tenant", "other", "import", file)
    assert (again.code, again.out) == (2, "")
    assert again.err.startswith("Error: Tenant 'other' is not empty: it has 2 memories")


def test_a_pipe_moves_a_tenant(filled: Command) -> None:
    made = filled("export", "-", "--no-embeddings")
    assert made.code == 0
    assert made.err.startswith(f"Exported tenant default: {HELD}")
    come = filled("--tenant", "other", "import", "-", stdin=made.out.encode())
    assert come.out.startswith(f"Imported tenant default as other: {HELD}")
    assert come.err == "It has no embeddings; a worker computes them, or `pgrecall jobs run embed`.\n"
    assert "2 without embedding" in filled("--tenant", "other", "status").out


def test_what_does_not_go_together_is_refused(filled: Command, tmp_path: Path) -> None:
    file = str(tmp_path / "all.jsonl")
    assert filled("export", file).code == 0
    for option in (("--layer", "diary"), ("--prefix", "x"), ("--source", "y"), ("--strict",)):
        done = filled("--tenant", "other", "import", file, *option)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"Error: {option[0]} cannot be used with an export")
    asked = filled("import", "-", "--kind", "jsonl", stdin=b"{}")
    assert "Standard input is read as an export, not as jsonl." in asked.err
    assert "is a folder, not a file" in filled("export", str(tmp_path)).err
    assert "This is not an export of pgrecall" in filled("import", "--kind", "export", __file__).err
