"""Watching a folder: which changes count, when they have settled, and what is gone."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from watchfiles import Change

from pgrecall.faces.cli.watching import MAX_WAIT, may_be_note, settled
from pgrecall.faces.note_folder import gone_keys

A, B = (Change.added, "a.md"), (Change.modified, "b.md")


def nothing() -> None:
    """The folder is there."""


@given(st.lists(st.sets(st.sampled_from([A, B])), max_size=20))
def test_every_change_before_a_quiet_time_is_passed_on_once(batches: list[set[tuple[Change, str]]]) -> None:
    passed = list(settled([*batches, set()], nothing, clock=lambda: 0.0))
    assert all(passed)
    runs, run = [], set[tuple[Change, str]]()
    for batch in [*batches, set()]:
        run |= batch
        if not batch and run:
            runs.append(run)
            run = set()
    assert passed == runs


def test_a_busy_file_does_not_hold_up_the_rest() -> None:
    seconds = iter(range(0, 1000, 10))
    passed = settled([{A}, {B}, {B}, {B}, {B}], nothing, clock=lambda: float(next(seconds)))
    assert next(passed) == {A, B}
    assert MAX_WAIT == 30


def test_a_folder_that_is_gone_ends_the_wait() -> None:
    def gone() -> None:
        raise FileNotFoundError

    with pytest.raises(FileNotFoundError):
        next(settled([set()], gone))


def test_what_is_gone() -> None:
    seen = {"read", "read#kept"}
    present = {"read", "unreadable"}
    removed = ("read#renamed-heading", "unreadable", "unreadable#part", "deleted", "deleted#part")
    assert gone_keys(removed, seen, present) == ("read#renamed-heading", "deleted", "deleted#part")


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("note.md", True), ("Note.MARKDOWN", True), ("folder", True), ("gone", True), ("picture.png", False),
        (".obsidian/x.md", False), ("folder/.note.md.swp", False), ("note.md~", False), ("note.tmp", False),
    ],
)  # fmt: skip
def test_which_changes_can_change_a_note(tmp_path: Path, name: str, counts: bool) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "picture.png").touch()
    assert may_be_note(tmp_path, str(tmp_path / name)) is counts
