"""What the command says to somebody who has just begun: of old notes, jobs that never ran, a first key."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.cli.command_tools import Command

pytestmark = pytest.mark.in_turns
OLD = "are dormant: they are old, and nobody has searched here yet"


def notes(folder: Path, *names: str) -> str:
    for name in names:
        (folder / f"{name}.md").write_text(f"---\ndate: 2019-05-01\n---\nThe {name} hangs in the shed.")
    return str(folder)


def test_a_first_import_says_why_most_are_dormant(pgrecall: Command, tmp_path: Path) -> None:
    first = pgrecall("import", notes(tmp_path, "key", "rope"))
    assert f"Of 2 memories, 2 {OLD}" in first.err
    assert OLD not in pgrecall("import", str(tmp_path)).err
    pgrecall("search", "where is the key?")
    assert OLD not in pgrecall("import", notes(tmp_path, "mast")).err


def test_jobs_that_never_ran_are_no_alarm(pgrecall: Command, tmp_path: Path) -> None:
    pgrecall("import", notes(tmp_path, "key"))
    doctor = pgrecall("doctor")
    assert doctor.code == 0
    assert "warn  No job has ever run." in doctor.out
    assert "jobs: none has run yet; `pgrecall worker` runs them" in pgrecall("status").out
    assert "None of 1 live memory would be archived." in pgrecall("plan", "prune").out


def test_a_first_key_says_what_it_does_not_close(pgrecall: Command) -> None:
    assert "lets everybody in until it is restarted" in pgrecall("keys", "create", "agent").err
    assert "restarted" not in pgrecall("keys", "create", "other").err
