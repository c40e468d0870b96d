"""`pgrecall import git`: commit messages as memories, once each."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pgrecall import Memory
from pgrecall.errors import InvalidInput
from pgrecall.importers import git as importer
from pgrecall.importers.git import read_commits
from pgrecall.nouns.imports.report import Skipped
from pgrecall.nouns.memories.models import PROJECT, Draft
from tests.acceptance.cli.command_tools import Command
from tests.unit.importers.test_projects import CLOCK, git, repository

pytestmark = pytest.mark.in_turns
DAY = "2026-05-01T10:00:00+02:00"


def commit(folder: Path, message: str, author: str = "Mira <mira@example.org>", day: str = DAY) -> None:
    git(
        folder, "commit", "--allow-empty", "--allow-empty-message", "--cleanup=verbatim", "--no-verify",
        f"--author={author}", f"--date={day}", "-m", message,
    )  # fmt: skip


@pytest.fixture
def clock(tmp_path: Path) -> Path:
    return repository(tmp_path / "clock", "git@github.com:mira/clock.git")


def drafts(folder: Path) -> list[Draft]:
    return [one for one in read_commits(folder) if isinstance(one, Draft)]


def counts(folder: Path) -> dict[str, int]:
    return {one.what: one.count for one in read_commits(folder) if isinstance(one, Skipped)}


def test_commits_become_memories_of_their_project_once(
    pgrecall: Command, clock: Path, memory: Memory
) -> None:
    commit(
        clock,
        "Let the escapement tick twice a second\n\nOnce was too slow to see.\n\nSigned-off-by: Mira <m@x>",
    )
    done = pgrecall("import", "git", str(clock), "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["created"] == 2
    again = pgrecall("import", "git", str(clock))
    assert (again.code, "0 created, 0 updated, 2 unchanged" in again.out) == (0, True)
    assert "no longer in it" not in again.out
    shown = json.loads(pgrecall("list", "--metadata", f"project={CLOCK}", "--json").out)
    one = next(one for one in shown if "escapement" in one["body"])
    assert one["body"] == "Let the escapement tick twice a second\n\nOnce was too slow to see."
    assert (one["author"], one["source"], one["layer"]) == ("Mira", "git", "episodic")
    assert datetime.fromisoformat(one["happened_at"]) == datetime(2026, 5, 1, 8, tzinfo=UTC)
    assert one["key"].startswith("git/")
    assert one["session_id"] is None
    commit(clock, "Oil the pivots")
    assert "1 created" in pgrecall("import", "git", str(clock)).out
    assert pgrecall("import", "undo").code == 0
    assert len(json.loads(pgrecall("list", "--json").out)) == 2


def test_merges_bots_and_empty_messages_are_counted(clock: Path) -> None:
    commit(clock, "Bump x", "dependabot[bot] <49699333+dependabot[bot]@users.noreply.github.com>")
    commit(clock, "Update y", "Renovate <bot@renovateapp.com>")
    commit(clock, " ")
    commit(clock, "Talbot's clock is right", "Abbot <abbot@example.org>")
    git(clock, "checkout", "-b", "side", "HEAD~1")
    commit(clock, "Wind it on Sundays")
    git(clock, "checkout", "main")
    git(clock, "merge", "--no-ff", "-m", "Merge side", "side")
    assert counts(clock) == {"commits of bots": 2, "commits without a message": 1, "merges": 1}
    assert {one.body for one in drafts(clock)} == {"begin", "Talbot's clock is right", "Wind it on Sundays"}


def test_a_clone_has_the_same_memories(clock: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", str(clock), str(tmp_path / "copy"))
    git(tmp_path / "copy", "remote", "set-url", "origin", "https://github.com/mira/clock")
    assert drafts(clock) == drafts(tmp_path / "copy")


def test_secrets_are_replaced(clock: Path) -> None:
    key = "ghp_" + "Zq8" * 12
    commit(clock, f"Rotate {key}")
    [one] = [one for one in drafts(clock) if "Rotate" in one.body]
    assert one.body == "Rotate [removed: GitHub Token]"
    assert any(key in one.body for one in read_commits(clock, keep_secrets=True) if isinstance(one, Draft))


@pytest.mark.parametrize("message", ["a\tb \x1b[31m", "--format=%n", "$(touch x)", "é ü 漢", "x" * 100_000])
def test_strange_messages_are_read_as_they_are(message: str, clock: Path) -> None:
    commit(clock, message)
    [one] = [one for one in drafts(clock) if one.body != "begin"]
    assert one.body == message


def test_many_commits_are_read_page_by_page(clock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        commit(clock, f"step {number}")
    for page in (1, 2, 3, 6, 100):
        monkeypatch.setattr(importer, "_PAGE", page)
        assert [one.body for one in drafts(clock)] == [f"step {n}" for n in (4, 3, 2, 1, 0)] + ["begin"]


def test_since(pgrecall: Command, clock: Path, memory: Memory) -> None:
    commit(clock, "An old one", day="2020-01-01T00:00:00Z")
    done = pgrecall("import", "git", str(clock), "--since", "2026-01-01", "--json")
    report = json.loads(done.out)
    assert (report["created"], report["skipped"][0]["what"]) == (1, "commits from before --since")
    assert pgrecall("import", "git", str(clock), "--since", "never").code == 2


def test_what_is_no_repository_is_refused(
    pgrecall: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = pgrecall("import", "git", str(tmp_path))
    assert (refused.code, "is not in a git repository with commits" in refused.err) == (2, True)
    git(tmp_path / "empty", "init")
    with pytest.raises(InvalidInput, match="not in a git repository with commits"):
        read_commits(tmp_path / "empty")
    assert pgrecall("import", "git", str(tmp_path / "no")).code == 2
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InvalidInput, match="or git is not installed"):
        read_commits(tmp_path)


def test_a_repository_without_a_remote_is_its_path(tmp_path: Path) -> None:
    one = repository(tmp_path / "own")
    [draft] = drafts(one)
    assert draft.metadata == {PROJECT: str(one.resolve())}
