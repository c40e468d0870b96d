"""`pgrecall import --watch` as a process: notes that come, change and go, a lost database, and its end."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.cli.command_tools import Command, started
from tests.databases import Query
from tests.waiting import PATIENCE, until


@pytest.fixture
def watching(database_url: str, vault: Path) -> Iterator[subprocess.Popen[str]]:
    with started("import", str(vault), "--watch", database_url=database_url, tenant="acme") as process:
        yield process


def live(query: Query) -> dict[str, str]:
    rows = query("SELECT key, body FROM recall.memory WHERE archived_at IS NULL")
    return {row["key"]: row["body"] for row in rows}


def are(query: Query, vault: Path) -> None:
    """Waits until the live memories are the notes of the folder."""

    def same() -> bool:
        return live(query) == {path.stem: path.read_text() for path in vault.glob("*.md")}

    until(same, "the folder in the database", pause=0.1)


def stopped(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> tuple[int, str, str]:
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def test_live_memories_are_the_notes(watching: subprocess.Popen[str], vault: Path, query: Query) -> None:
    are(query, vault)
    (vault / "boat.md").write_text("A boat.")
    (vault / "winch.md").write_text("Ann mends the winch.")
    are(query, vault)
    (vault / "tide.md").rename(vault / ".tide")
    are(query, vault)
    (vault / ".tide").rename(vault / "tide.md")  # unchanged, with its time
    are(query, vault)
    (vault / ".half.tmp").write_text("Synchronised.")
    (vault / ".half.tmp").rename(vault / "synced.md")
    are(query, vault)
    (vault / "yard.md").write_text("")  # truncated, not yet written: nothing is archived
    (vault / "last.md").write_text("The last one.")
    assert watching.stdout is not None
    lines: list[str] = []
    while "The file is empty" not in "".join(lines):
        lines.append(watching.stdout.readline())
        assert lines[-1], "it ended and never said that the file is empty"
    assert live(query)["yard"] == "The yard of the harbour."
    code, _, err = stopped(watching)
    assert (code, err.splitlines()[-1]) == (0, "Stopped watching.")
    assert lines[0] == "3 created.\n"
    assert {"1 created, 1 updated.\n", "1 archived.\n", "1 updated.\n"} <= set(lines)


def test_a_renamed_note_keeps_its_memory(watching: subprocess.Popen[str], vault: Path, query: Query) -> None:
    are(query, vault)
    ids = {row["key"]: row["id"] for row in query("SELECT id, key FROM recall.memory")}
    (vault / "winch.md").rename(vault / "capstan.md")
    are(query, vault)
    assert {row["key"]: row["id"] for row in query("SELECT id, key FROM recall.memory")} == {
        "capstan": ids["winch"], "yard": ids["yard"], "tide": ids["tide"],
    }  # fmt: skip
    assert watching.stdout is not None
    assert watching.stdout.readline() == "3 created.\n"
    assert watching.stdout.readline() == "1 renamed, 1 updated.\n"
    assert stopped(watching)[0] == 0


def test_a_lost_database_is_waited_for(
    watching: subprocess.Popen[str], vault: Path, query: Query, database_url: str
) -> None:
    are(query, vault)
    query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    (vault / "boat.md").write_text("A boat.")
    are(query, vault)
    assert stopped(watching, signal.SIGINT)[0] == 0


def test_an_emptied_folder_archives_nothing(
    watching: subprocess.Popen[str], vault: Path, query: Query
) -> None:
    are(query, vault)
    for note in list(vault.glob("*.md")):
        note.unlink()
    said = watching.stderr
    assert said is not None
    until(lambda: "--archive-most" in said.readline(), "the sentence")
    assert len(live(query)) == 3
    assert stopped(watching)[0] == 0


@pytest.fixture
def bare(vault: Path) -> None:
    """The folder has no notes yet; one of its files is none."""
    for note in vault.glob("*.md"):
        note.unlink()
    (vault / "boat.png").write_bytes(b"\x89PNG")


def test_a_folder_without_notes_waits_for_the_first(
    bare: None, watching: subprocess.Popen[str], vault: Path, query: Query
) -> None:
    said = watching.stderr
    assert said is not None
    until(lambda: "Watching" in said.readline(), "the watch")
    (vault / "winch.md").write_text("The winch of the harbour.")
    are(query, vault)
    (vault / "winch.md").rename(vault / "capstan.md")
    are(query, vault)
    code, out, _ = stopped(watching)
    assert (code, "Problem" in out) == (0, False)


def test_a_folder_that_vanishes(watching: subprocess.Popen[str], vault: Path, query: Query) -> None:
    are(query, vault)
    vault.rename(vault.with_name("elsewhere"))
    _, err = watching.communicate(timeout=PATIENCE)
    assert watching.returncode == 2
    assert f"The folder {vault} is gone; its memories are kept as they are." in err
    assert len(live(query)) == 3


def test_what_cannot_be_watched(pgrecall: Command, tmp_path: Path) -> None:
    records = tmp_path / "some.jsonl"
    records.write_text('{"body": "x"}\n')
    refused = pgrecall("import", str(records), "--watch")
    assert refused.code == 2
    assert "--watch needs a folder of notes" in refused.err
    refused = pgrecall("import", str(tmp_path), "--watch")
    assert (refused.code, "Import a file of records by its own name." in refused.err) == (2, True)
    (tmp_path / "gate.md").write_text("The gate is locked.\n")
    refused = pgrecall("import", str(tmp_path), "--watch", "--strict")
    assert (refused.code, "--strict cannot be used with --watch." in refused.err) == (2, True)
    refused = pgrecall("import", str(tmp_path), "--archive-most")
    assert refused.code == 2
    assert "--archive-most goes with --watch or --archive-removed." in refused.err
