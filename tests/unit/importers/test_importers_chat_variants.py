"""Chats in forms that public files have beside those of the programs: fewer fields, other wrappings."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pgrecall.importers.chat.turns import Tally
from pgrecall.importers.detect import known_kind
from pgrecall.nouns.imports.report import Skipped
from tests.unit.importers import chat_forms
from tests.unit.importers.chat_forms import write_form, write_json, write_lines
from tests.unit.importers.test_importers_chats import read, shown


def test_first_turns_without_a_time_are_dated_before_the_first_that_has_one(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Wind it daily?", "timestamp": "2026-03-08T06:00:00Z"},
        {"role": "assistant", "content": "Weekly."},
    ]
    drafts, problems, skipped = read(write_json(tmp_path / "talk.json", messages))
    assert problems == []
    assert [(turn[0], turn[2]) for turn in shown(drafts)] == [
        ("system", "08 05:59:59.998000"),
        ("system", "08 05:59:59.999000"),
        ("user", "08 06:00:00.000000"),
        ("assistant", "08 06:00:00.001000"),
    ]
    assert skipped == {
        "turns without a time, dated by the turn after": 2,
        "turns without a time, dated by the turn before": 1,
    }


def test_turns_without_any_time_are_dated_by_the_import(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    drafts, _, skipped = read(write_json(tmp_path / "talk.json", messages))
    assert [draft.occurred_at for draft in drafts] == [None, None]
    assert skipped == {"turns without a time, dated by the import": 2}


@pytest.mark.parametrize("wrapped", [False, True])
def test_messages_that_are_listed_newest_first_are_turned_round(wrapped: bool, tmp_path: Path) -> None:
    newest_first = [
        {"role": "assistant", "content": "Weekly.", "created_at": 1772949660},
        {"role": "user", "content": "Wind it daily?", "created_at": 1772949600},
        {"role": "system", "content": "Be brief.", "created_at": 1772949600},
    ]
    drafts, _, skipped = read(
        write_json(tmp_path / "talk.json", {"messages": newest_first} if wrapped else newest_first)
    )
    assert [draft.body for draft in drafts] == ["Be brief.", "Wind it daily?", "Weekly."]
    assert [link.target == after.key for draft, after in pairwise(drafts) for link in draft.links] == [
        True
    ] * 2
    assert skipped == {}
    as_they_are = [newest_first[1], newest_first[0], newest_first[2]]
    drafts, _, _ = read(write_json(tmp_path / "other.json", as_they_are))
    assert [draft.body for draft in drafts] == ["Wind it daily?", "Weekly.", "Be brief."]


def test_a_time_before_the_calendar_of_the_database_is_not_understood(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Since when?", "timestamp": "0001-01-01T00:00:00Z"},
    ]
    drafts, _, skipped = read(write_json(tmp_path / "talk.json", messages))
    assert [draft.occurred_at for draft in drafts] == [None, None]
    assert skipped == {"times that are not understood": 1, "turns without a time, dated by the import": 2}


def test_an_empty_time_gives_way_to_the_next_field(tmp_path: Path) -> None:
    message = {"role": "user", "content": "Wind it?", "timestamp": None, "created_at": "2026-03-08T06:00:00Z"}
    assert shown(read(write_json(tmp_path / "talk.json", [message]))[0])[0][2] == "08 06:00:00.000000"


@pytest.mark.parametrize(
    ("text", "expected", "assumed"),
    [
        ("Tue, 03 Mar 2026 10:34:00 +0100", "2026-03-03T09:34:00+00:00", False),
        ("3 Mar 2026 09:34 GMT", "2026-03-03T09:34:00+00:00", False),
        ("Tue, 03 Mar 2026 09:34:00", "2026-03-03T09:34:00+00:00", True),
        ("Tue, 03 Mar 2026 09:34:00 CET", "2026-03-03T09:34:00+00:00", True),
        ("Tue Mar 03 2026 10:34:00 GMT+0100 (Central European Time)", "2026-03-03T09:34:00+00:00", False),
        ("3/4/2026, 10:34:00\u202fPM", "2026-03-04T22:34:00+00:00", True),
        ("12/31/2026, 12:05 AM", "2026-12-31T00:05:00+00:00", True),
    ],
)
def test_dates_of_mails_and_browsers(text: str, expected: str, assumed: bool) -> None:
    tally = Tally()
    found = tally.time(text)
    assert found is not None
    assert found.isoformat() == expected
    assert list(tally.skipped()) == ([Skipped("times without a zone, read as UTC", 1)] if assumed else [])


@pytest.mark.parametrize(
    "text",
    [
        "Tue, 33 Mar 2026 10:34:00 +0100",
        "3 Foo 2026 10:34",
        "3 Mar 2026 10:99",
        "14/3/2026, 10:34:00 AM",
        "3/14/2026, 10:34:00 am",  # in India and Britain the day is first
        "Tue Mar 03 2026 99:34:00 GMT+0100",
    ],
)
def test_dates_of_mails_and_browsers_that_are_none(text: str) -> None:
    tally = Tally()
    assert tally.time(text) is None
    assert list(tally.skipped()) == [Skipped("times that are not understood", 1)]


def _conversation() -> Any:
    messages = [
        chat_forms.gpt_message("q", "user", "How do I free it?", 1e9),
        chat_forms.gpt_message("a", "assistant", "Clean it.", 1e9 + 4),
        chat_forms.gpt_message("t", "user", "Thanks.", 1e9 + 8),
    ]
    return chat_forms.gpt_conversation("c", messages)


@pytest.mark.parametrize("field", ["parent", "children"])
def test_a_tree_that_names_only_parents_or_only_children(field: str, tmp_path: Path) -> None:
    conversation = _conversation()
    for node in conversation["mapping"].values():
        del node[field]
    for leaf in ("t", None):
        conversation["current_node"] = leaf
        drafts, _, skipped = read(write_json(tmp_path / "conversations.json", [conversation]))
        assert [draft.body for draft in drafts] == ["How do I free it?", "Clean it.", "Thanks."]
        assert skipped == {}


def test_messages_that_are_no_tree_are_read_as_listed(tmp_path: Path) -> None:
    conversation = _conversation()
    for node in conversation["mapping"].values():
        del node["parent"], node["children"]
    del conversation["current_node"]
    drafts, _, skipped = read(write_json(tmp_path / "conversations.json", [conversation]))
    assert [draft.body for draft in drafts] == ["How do I free it?", "Clean it.", "Thanks."]
    assert (skipped, [len(draft.links) for draft in drafts]) == ({}, [1, 1, 0])


def test_messages_of_chatgpt_without_id_and_content_type(tmp_path: Path) -> None:
    conversation = _conversation()
    for node in conversation["mapping"].values():
        if node["message"]:
            del node["message"]["id"], node["message"]["content"]["content_type"]
    drafts, _, skipped = read(write_json(tmp_path / "conversations.json", [conversation]))
    assert [draft.key for draft in drafts] == ["chatgpt/c/q", "chatgpt/c/a", "chatgpt/c/t"]
    assert skipped == {}


def test_a_picture_among_the_parts_is_counted_as_one(tmp_path: Path) -> None:
    conversation = _conversation()
    content = {"content_type": "multimodal_text", "parts": ["Look", {"type": "image", "asset_pointer": "f"}]}
    conversation["mapping"]["q"]["message"]["content"] = content
    assert read(write_json(tmp_path / "conversations.json", [conversation]))[2] == {"images": 1}


@pytest.mark.parametrize("kind", ["chatgpt", "claude"])
def test_conversations_in_an_object(kind: str, tmp_path: Path) -> None:
    exported = chat_forms.chatgpt_export() if kind == "chatgpt" else chat_forms.claude_export()
    bare = read(write_json(tmp_path / "bare" / "conversations.json", exported))
    path = write_json(tmp_path / "wrapped" / "conversations.json", {"user": {}, "conversations": exported})
    assert known_kind(path) == kind
    assert read(path) == bare
    assert bare[0]


def test_codex_with_times_in_the_payload_and_messages_without_type(tmp_path: Path) -> None:
    lines = chat_forms.codex_session()
    for line in lines[1:]:
        payload = line["payload"]
        payload["timestamp"] = line.pop("timestamp")
        if payload.get("type") == "message":
            del payload["type"]
    drafts, problems, skipped = read(write_lines(tmp_path / "rollout-2026-03-07T07-00-00-r-5.jsonl", lines))
    assert problems == []
    assert shown(drafts) == [
        ("user", "Add a chime at noon", "07 07:00:02.000000", "codex/r-5"),
        ("assistant", "It chimes at noon now.", "07 07:00:06.000000", "codex/r-5"),
    ]
    assert "turns without a time, dated by the turn before" not in skipped


def test_the_format_is_found_behind_any_number_of_lines_of_bookkeeping(tmp_path: Path) -> None:
    for kind, lines in (
        ("claude-code", chat_forms.claude_code_session()),
        ("vscode", chat_forms.vscode_transcript()),
    ):
        unknown = [{"type": "telemetry", "n": number} for number in range(200)]
        assert known_kind(write_lines(tmp_path / f"{kind}.jsonl", [*unknown, *lines])) == kind


def test_a_conversation_without_an_id_gets_one_from_its_content(tmp_path: Path) -> None:
    for kind, export, names in (
        ("chatgpt", chat_forms.chatgpt_export(), ("conversation_id", "id")),
        ("claude", chat_forms.claude_export(), ("uuid",)),
    ):
        for name in names:
            export[0].pop(name)
        path = write_form(kind, tmp_path, export)
        drafts, problems, _ = read(path)
        assert problems == []
        sessions = {draft.session_id for draft in drafts}
        assert any(session and session.startswith(f"{kind}/unnamed-") for session in sessions)
        assert [draft.key for draft in read(path)[0]] == [draft.key for draft in drafts]


@pytest.mark.parametrize("write", [write_json, write_lines])
def test_the_session_of_a_message_is_its_session(write: Any, tmp_path: Path) -> None:
    turns = [("a", "One"), ("b", "Two"), ("a", "Three"), (None, "Four"), (7, "Five")]
    messages = [{"role": "user", "content": text, "session_id": session} for session, text in turns]
    ending = "jsonl" if write is write_lines else "json"
    drafts, problems, skipped = read(write(tmp_path / f"talk.{ending}", messages))
    assert (problems, skipped) == ([], {"turns without a time, dated by the import": 5})
    assert [(draft.session_id, draft.body) for draft in drafts] == [
        ("talk/a", "One"), ("talk/a", "Three"), ("talk/b", "Two"), ("talk", "Four"), ("talk/7", "Five"),
    ]  # fmt: skip
    assert [link.target for link in drafts[0].links] == [drafts[1].key]
