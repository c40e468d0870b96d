"""The command that tells and chooses a tenant's language, and what status says of it."""

from __future__ import annotations

from pathlib import Path

from tests.acceptance.cli.command_tools import Command


def test_the_language_is_shown_chosen_and_used(pgrecall: Command, tmp_path: Path) -> None:
    (tmp_path / "song.md").write_text("Marta cantaba una canción.\n")
    assert pgrecall("import", str(tmp_path)).code == 0
    told = pgrecall("language")
    assert (told.code, told.out.splitlines()[0]) == (0, "english; accents are ignored.")
    assert "Available: arabic, " in told.out
    assert "spanish" in told.out

    chosen = pgrecall("language", "spanish")
    assert (chosen.code, chosen.out) == (0, "spanish; accents are ignored.\n1 memory was indexed again.\n")
    known = pgrecall("language", "--json").json
    assert (known["language"], known["accents_off"]) == ("spanish", True)
    assert "simple" in known["available"]
    assert "language spanish, tenant" in pgrecall("status").out
    assert pgrecall("search", "cantaron", "--json").json["hits"][0]["key"] == "song"
