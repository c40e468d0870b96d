"""Chats imported twice and grown: nothing twice, what is new is added, and nothing else changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pgrecall import Memory
from pgrecall.importers.detect import BY_SESSION, known_kind, open_source, source_name
from pgrecall.nouns.imports.report import ImportReport
from tests.unit.importers import chat_forms
from tests.unit.importers.chat_forms import KINDS, write_form

pytestmark = pytest.mark.in_turns

TURNS = {
    "chatgpt": 5, "claude": 3, "claude-code": 3, "codex": 2, "cursor": 2, "gemini": 2, "vscode": 2,
    "openai": 3, "lines": 4, "list": 4,
}  # fmt: skip


def load(memory: Memory, path: Path) -> ImportReport:
    kind = known_kind(path)
    source = source_name(path, kind)
    items = open_source(path, kind=kind, source=source)
    return memory.import_drafts(items, source=source, by_session=kind in BY_SESSION)


def counts(report: ImportReport) -> tuple[int, int, int, int]:
    assert report.problems == ()
    return report.created, report.updated, report.unchanged, len(report.removed)


def grown(kind: str) -> Any:
    """The form of this kind with one more turn at its end."""
    later = "2026-03-09T08:00:00Z"
    match kind:
        case "chatgpt":
            export = chat_forms.chatgpt_export()
            mapping, leaf = export[0]["mapping"], export[0]["current_node"]
            message = chat_forms.gpt_message("m8", "user", "Thank you", chat_forms.SPRING + 90)
            mapping[leaf]["children"].append("m8")
            mapping["m8"] = {"id": "m8", "message": message, "parent": leaf, "children": []}
            export[0]["current_node"] = "m8"
            return export
        case "claude":
            export = chat_forms.claude_export()
            export[0]["chat_messages"].append(chat_forms.claude_message("a5", "human", "Thank you", later))
            return export
        case "claude-code":
            return [*chat_forms.claude_code_session(), chat_forms.code_line("u9", "user", "Thank you", later)]
        case "codex":
            content = [{"type": "input_text", "text": "Thank you"}]
            payload = {"type": "message", "role": "user", "content": content}
            return [
                *chat_forms.codex_session(),
                {"timestamp": later, "type": "response_item", "payload": payload},
            ]
        case "cursor":
            line = {"role": "user", "message": {"content": [{"type": "text", "text": "Thank you"}]}}
            return [*chat_forms.cursor_transcript(), line]
        case "gemini":
            return [*chat_forms.gemini_session(), chat_forms.gemini_message("g4", "user", "Thank you", later)]
        case "vscode":
            event = {"type": "user.message", "data": {"content": "Thank you"}, "id": "e8", "timestamp": later}
            return [*chat_forms.vscode_transcript(), {**event, "parentId": "e7"}]
        case "openai":
            messages = chat_forms.openai_messages()
            messages["messages"].append({"role": "user", "content": "Thank you"})
            return messages
    return [*chat_forms.dated_messages(), {"role": "user", "content": "Thank you", "timestamp": later}]


@pytest.mark.parametrize("kind", KINDS)
def test_imported_twice_and_grown(kind: str, memory: Memory, tmp_path: Path) -> None:
    turns = TURNS[kind]
    path = write_form(kind, tmp_path)
    assert counts(load(memory, path)) == (turns, 0, 0, 0)
    assert counts(load(memory, path)) == (0, 0, turns, 0)
    assert counts(load(memory, write_form(kind, tmp_path, grown(kind)))) == (1, 0, turns, 0)
    page = memory.list(limit=100)
    assert len(page) == turns + 1
    last = next(one for one in page if one.body == "Thank you")
    linked = [link for link in memory.get(last.id).links if link.relation == "next"]
    assert [(link.outgoing, link.other_key is not None) for link in linked] == [(False, True)]


def test_another_export_of_the_same_account_continues_the_first(memory: Memory, tmp_path: Path) -> None:
    load(memory, write_form("chatgpt", tmp_path))
    (tmp_path / "later").mkdir()
    report = load(memory, write_form("chatgpt", tmp_path / "later", grown("chatgpt")))
    assert counts(report) == (1, 0, 5, 0)
    other = chat_forms.gpt_conversation("c-3", [chat_forms.gpt_message("o1", "user", "Another account")])
    assert counts(load(memory, write_form("chatgpt", tmp_path, [other]))) == (1, 0, 0, 0)


def test_a_new_title_updates_and_duplicates_nothing(memory: Memory, tmp_path: Path) -> None:
    load(memory, write_form("chatgpt", tmp_path))
    export = chat_forms.chatgpt_export()
    export[0]["title"] = "Escapements"
    assert counts(load(memory, write_form("chatgpt", tmp_path, export))) == (0, 4, 1, 0)
    assert memory.get("chatgpt/c-1/m1").metadata["conversation"] == "Escapements"


def test_a_regenerated_answer_is_reported_as_gone(memory: Memory, tmp_path: Path) -> None:
    load(memory, write_form("chatgpt", tmp_path))
    export = chat_forms.chatgpt_export()
    export[0]["current_node"] = "m1b"
    report = load(memory, write_form("chatgpt", tmp_path, export))
    assert (report.created, report.unchanged) == (1, 1)
    assert report.removed == ("chatgpt/c-1/m1", "chatgpt/c-1/m5", "chatgpt/c-1/m6", "chatgpt/c-1/m7")
    assert {one.what: one.count for one in report.skipped}["turns of other branches"] == 6
