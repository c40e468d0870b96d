"""The job `import`: a worker keeps folders of notes in step, and tells what is wrong with one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from pgrecall import Memory
from pgrecall.errors import InvalidInput
from pgrecall.faces.watched_folders import WatchedFolders
from pgrecall.importers.detect import open_source
from pgrecall.jobs.job import Stopped
from pgrecall.jobs.worker import Worker
from pgrecall.nouns.jobs.models import JobOutcome
from pgrecall.settings import Settings
from tests.databases import Query

IDLE = Event()


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgrecall.faces.watched_folders.QUIET_SECONDS", 0.05)


@pytest.fixture
def plain(database_url: str) -> Iterator[Memory]:
    with Memory(settings=Settings(database_url=database_url, tenant="acme", embedder="none")) as memory:
        yield memory


@pytest.fixture
def hook(plain: Memory, vault: Path) -> WatchedFolders:
    return WatchedFolders(plain, (vault,))


def run(plain: Memory, hook: WatchedFolders) -> JobOutcome:
    [outcome] = plain.jobs.run("import", folders=hook)
    return outcome


def live(query: Query) -> set[str]:
    return {row["key"] for row in query("SELECT key FROM recall.memory WHERE archived_at IS NULL")}


def test_a_worker_keeps_a_folder_in_step(
    plain: Memory, memory: Memory, vault: Path, query: Query, hook: WatchedFolders
) -> None:
    worker = Worker(plain.jobs.runner(folders=hook))
    outcomes = {outcome.job: outcome for outcome in worker.run_once()}
    assert outcomes["import"].counts == {
        "created": 3, "updated": 0, "renamed": 0, "archived": 0, "problems": 0,
    }  # fmt: skip
    assert live(query) == {"winch", "yard", "tide"}
    assert run(plain, hook).counts == {}
    (vault / "yard.md").unlink()
    (vault / "winch.md").rename(vault / "capstan.md")
    (vault / "tide.md").write_text("The tide turns.")
    assert run(plain, hook).counts == {
        "created": 0, "updated": 2, "renamed": 1, "archived": 1, "problems": 0,
    }  # fmt: skip
    assert live(query) == {"capstan", "tide"}
    assert memory.imports.undo().restored == 1
    [embedded] = memory.jobs.run("embed")
    assert embedded.done == 3


def test_without_a_folder_the_job_does_not_run(plain: Memory) -> None:
    assert "import" not in {outcome.job for outcome in Worker(plain.jobs.runner()).run_once()}
    [refused] = plain.jobs.run("import")
    assert (refused.state, refused.error) == (
        "failed", "There is no folder of notes to follow.",
    )  # fmt: skip


def test_a_folder_that_is_missing_is_told_and_the_others_are_imported(
    plain: Memory, vault: Path, query: Query
) -> None:
    hook = WatchedFolders(plain, (vault.with_name("elsewhere"), vault))
    outcome = run(plain, hook)
    assert outcome.state == "failed"
    assert outcome.error is not None
    assert outcome.error.startswith(
        f"The folder {vault.with_name('elsewhere')} is not there. Its memories are kept."
    )
    assert len(live(query)) == 3
    assert [each.error for each in plain.jobs.runs("import")] == [outcome.error]


@pytest.mark.parametrize("how", ["gone", "emptied", "a file", "another"])
def test_a_folder_that_vanishes_archives_nothing(
    plain: Memory, vault: Path, query: Query, hook: WatchedFolders, how: str
) -> None:
    assert run(plain, hook).state == "done"
    for note in list(vault.iterdir()):
        note.unlink()
    if how in ("gone", "a file"):
        vault.rmdir()
    if how == "another":
        for number in range(9):
            (vault / f"cake {number}.md").write_text(f"Cake {number}.")
    if how == "a file":
        vault.write_text("no folder")
    for _ in range(2):  # it is told until it is mended
        outcome = run(plain, hook)
        assert outcome.state == "failed"
        assert outcome.error is not None
        assert "kept" in outcome.error
        assert len(live(query)) == 3


def test_a_folder_that_is_renamed_during_an_import_keeps_its_memories(
    plain: Memory, vault: Path, query: Query, hook: WatchedFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(plain, hook)
    ids = {row["key"]: row["id"] for row in query("SELECT key, id FROM recall.memory")}
    (vault / "notes").mkdir()
    for name in ("winch", "yard", "tide"):
        (vault / f"{name}.md").rename(vault / "notes" / f"{name}.md")
    assert run(plain, hook).counts["renamed"] == 3

    def renaming(*given: Any, **options: Any) -> Iterator[Any]:
        for item in open_source(*given, **options):
            yield item
            if (vault / "notes").exists():
                (vault / "notes").rename(vault / "old")

    (vault / "notes" / "tide.md").touch()
    monkeypatch.setattr("pgrecall.faces.watched_folders.open_source", renaming)
    assert run(plain, hook).counts["archived"] == 0
    assert run(plain, hook).counts["renamed"] == 3
    assert {row["key"]: row["id"] for row in query("SELECT key, id FROM recall.memory")} == {
        f"old/{key}": own for key, own in ids.items()
    }


def test_a_folder_that_cannot_be_read(plain: Memory, vault: Path, query: Query, hook: WatchedFolders) -> None:
    assert run(plain, hook).state == "done"
    (vault / "inner").mkdir()
    (vault / "inner" / "boat.md").write_text("A boat.")
    assert run(plain, hook).state == "done"
    assert "inner/boat" in live(query)

    def refuse(self: Path) -> None:
        raise PermissionError(13, "Permission denied")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "iterdir", refuse)
        with pytest.raises(InvalidInput, match="cannot be read: Permission denied"):
            hook(IDLE)
    assert len(live(query)) == 4


def test_a_stop_ends_a_long_import(plain: Memory, hook: WatchedFolders, query: Query) -> None:
    stopped = Event()
    stopped.set()
    with pytest.raises(Stopped):
        hook(stopped)
    assert live(query) == set()
