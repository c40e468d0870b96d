"""Projects and memories beside the conversations of Claude: the documents are their owner's own texts."""

from __future__ import annotations

import json
from pathlib import Path
from zipfile import ZipFile

import pytest

from pgrecall.importers.chat.turns import OTHER_FILES
from pgrecall.importers.detect import known_kind, open_source
from pgrecall.nouns.imports.report import Skipped
from pgrecall.nouns.memories.models import Draft

AT, LATER = "2026-04-01T10:00:00Z", "2026-04-02T10:00:00Z"
PROJECT = {
    "uuid": "p1", "name": "Lock", "description": "", "prompt_template": "Answer as a keeper.",
    "created_at": AT,
    "docs": [
        {"uuid": "d1", "filename": "winch.md", "content": "It needs oil.", "created_at": LATER},
        {"uuid": "d2", "filename": "picture.png", "content": ""}, None, {"uuid": "d3", "content": 3},
    ],
}  # fmt: skip
MEMORIES = {"conversations_memory": "Ann mends locks.", "project_memories": {"p1": "It has two gates."}}
CHATS = [
    {"uuid": "c", "chat_messages": [{"uuid": "m", "sender": "human", "text": "Hello.", "created_at": AT}]}
]

OF_PROJECT = {"claude/p1/prompt_template": "Answer as a keeper.", "claude/p1/d1": "winch.md\n\nIt needs oil."}
OF_MEMORIES = {"claude/memories/memory": "Ann mends locks.", "claude/memories/p1": "It has two gates."}
CHAT = {"claude/c/m": "Hello."}


@pytest.mark.parametrize(
    ("files", "expected", "others"),
    [
        (
            {
                "conversations.json": CHATS, "projects.json": [PROJECT], "memories.json": [MEMORIES],
                "users.json": [],
            },
            CHAT | OF_PROJECT | OF_MEMORIES, 1,
        ),
        ({"a/conversations.json": CHATS, "a/projects/p1.json": PROJECT}, CHAT | OF_PROJECT, 0),
        ({"projects/p1.json": PROJECT}, OF_PROJECT, 0),
        ({"memories/ann.json": MEMORIES}, OF_MEMORIES, 0),
        ({"conversations.json": CHATS, "projects.json": [], "memories.json": {"x": 1}}, CHAT, 2),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_packed", [True, False])
def test_what_an_export_has_beside_chats(
    tmp_path: Path, files: dict[str, object], expected: dict[str, str], others: int, is_packed: bool
) -> None:
    folder, archive = tmp_path / "export", tmp_path / "export.zip"
    with ZipFile(archive, "w") as packed:
        for name, value in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(json.dumps(value))
            packed.writestr(name, json.dumps(value))
    path = archive if is_packed else folder
    assert known_kind(path) == "claude"
    items = list(open_source(path))
    drafts = {item.key: item for item in items if isinstance(item, Draft)}
    assert {key: draft.body for key, draft in drafts.items()} == expected
    passed = [item.count for item in items if isinstance(item, Skipped) and item.what == OTHER_FILES]
    assert sum(passed) == others
    if "claude/p1/d1" in drafts:
        document = drafts["claude/p1/d1"]
        assert (document.role, document.metadata["conversation"]) == ("user", "Lock")
        assert str(document.occurred_at)[:10] == "2026-04-02"


def test_notes_with_a_folder_of_that_name_stay_notes(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "v.zip", "w") as packed:
        packed.writestr("Gate.md", "Closed.")
        packed.writestr("projects/data.json", '{"a": 1}')
    assert known_kind(tmp_path / "v.zip") == "markdown"
