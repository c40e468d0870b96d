"""A folder with sessions and exports of several programs: each file is read in its own format."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from zipfile import ZipFile

import pytest

from pgrecall.importers.detect import SourceKind, known_kind, open_source
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Draft
from tests.unit.importers.chat_forms import (
    chatgpt_export,
    claude_code_session,
    claude_export,
    codex_session,
    gemini_session,
    write_json,
    write_lines,
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    history = [{"display": "Why?", "pastedContents": {}, "timestamp": 1_772_530_440, "project": "/home/mira"}]
    write_lines(tmp_path / ".claude" / "history.jsonl", history)
    write_lines(tmp_path / ".claude" / "projects" / "clock" / "s-77.jsonl", claude_code_session())
    write_lines(tmp_path / ".codex" / "sessions" / "rollout-2026-03-07T07-00-00-r-5.jsonl", codex_session())
    write_lines(tmp_path / ".gemini" / "chats" / "session-2.jsonl", gemini_session())
    return tmp_path


def sources(path: Path, kind: SourceKind = "auto", source: str | None = None) -> Counter[str | None]:
    items = list(open_source(path, kind=kind, source=source))
    assert not [item for item in items if isinstance(item, Problem)]
    return Counter(item.source for item in items if isinstance(item, Draft))


def test_each_session_of_a_home_folder_is_read_in_its_own_format(home: Path) -> None:
    alone = sum(
        (sources(home / name) for name in (".claude/projects", ".codex", ".gemini")), Counter[str | None]()
    )
    assert set(alone) == {"claude-code", "codex", "gemini"}
    assert sources(home) == alone
    assert sources(home, source=known_kind(home)) == alone
    assert sources(home, source="mine") == {"mine": alone.total()}


def test_a_given_format_reads_no_other(home: Path) -> None:
    assert sources(home, "codex") == sources(home / ".codex")


def test_exports_of_two_programs_in_a_folder_are_both_read(tmp_path: Path) -> None:
    write_json(tmp_path / "a" / "conversations.json", chatgpt_export())
    write_json(tmp_path / "b" / "conversations.json", claude_export())
    assert sources(tmp_path) == sources(tmp_path / "a") + sources(tmp_path / "b")


@pytest.mark.parametrize(
    ("note", "kind"),
    [("p/memory/MEMORY.md", "claude-code"), ("README.md", "markdown"), ("p/a.md", "markdown")],
)
def test_notes_beside_the_sessions_of_an_archive(note: str, kind: str, tmp_path: Path) -> None:
    """An agent's own notes lie below its sessions; those of a person are at the top of what was packed."""
    write_lines(tmp_path / "s.jsonl", claude_code_session())
    path = tmp_path / "packed.zip"
    with ZipFile(path, "w") as archive:
        archive.write(tmp_path / "s.jsonl", "p/s.jsonl")
        archive.writestr(note, "Brass.")
    assert known_kind(path) == kind
    places = [place for item in open_source(path) if isinstance(item, Skipped) for place in item.places]
    assert any(place.endswith(note if kind == "claude-code" else "s.jsonl") for place in places)


def test_the_history_of_prompts_is_bookkeeping(home: Path) -> None:
    found = [item.what for item in open_source(home / ".claude") if isinstance(item, Skipped)]
    assert "lines of bookkeeping" in found
    assert "lines without a type" not in found
