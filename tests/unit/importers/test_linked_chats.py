"""Symbolic links in folders of chats: one rule for chats and notes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pgrecall.importers.detect import known_kind, open_source
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Draft

SESSION = "rollout-1.jsonl"


def session(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (
        {"type": "session_meta", "timestamp": "2026-01-02T10:00:00Z", "payload": {"id": text}},
        {
            "type": "response_item",
            "timestamp": "2026-01-02T10:00:00Z",
            "payload": {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": f"Where is the {text}?"}],
            },
        },
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def bodies(folder: Path, *, follow_links: bool = False) -> tuple[list[str], list[Problem]]:
    items = list(open_source(folder, follow_links=follow_links))
    return (
        [item.body for item in items if isinstance(item, Draft)],
        [item for item in items if isinstance(item, Problem)],
    )


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    folder = tmp_path / "sessions"
    session(folder / "a" / SESSION, "winch")
    session(tmp_path / "else" / SESSION, "anchor")
    session(tmp_path / "other" / SESSION, "rudder")
    (folder / "linked").symlink_to(tmp_path / "else")
    (folder / "file.jsonl").symlink_to(tmp_path / "other" / SESSION)
    (folder / "inside").symlink_to("a")
    (folder / "loop").symlink_to(folder)
    (folder / "picture.png").symlink_to("/dev/null")
    return folder


def test_links_out_of_the_folder_are_reported_and_not_read(sessions: Path) -> None:
    found, problems = bodies(sessions)
    assert found == ["Where is the winch?"]
    assert sorted(Path(problem.where).name for problem in problems) == ["file.jsonl", "linked"]
    assert all("--follow-links imports it" in problem.reason for problem in problems)


def test_links_are_followed_if_asked(sessions: Path) -> None:
    found, problems = bodies(sessions, follow_links=True)
    assert sorted(found) == ["Where is the anchor?", "Where is the rudder?", "Where is the winch?"]
    assert not problems


def test_a_folder_of_nothing_but_links_out_says_so(tmp_path: Path) -> None:
    session(tmp_path / "else" / SESSION, "anchor")
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / "x.jsonl").symlink_to(tmp_path / "else" / SESSION)
    assert known_kind(tmp_path / "sessions") == "codex"
    items = list(open_source(tmp_path / "sessions"))
    assert not [item for item in items if isinstance(item, Draft | Skipped)]
    assert "--follow-links" in str(items)


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    session(tmp_path / "real" / SESSION, "winch")
    (tmp_path / "way").symlink_to(tmp_path / "real")
    assert bodies(tmp_path / "way") == (["Where is the winch?"], [])
