"""A small file of each program whose chats or records are read in its own words."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from pgrecall.errors import InvalidInput
from pgrecall.importers.chat.reader import SESSIONS
from pgrecall.importers.chat.turns import BRANCHES, OTHER_FILES, THINKING
from pgrecall.importers.dates import parse_logged
from pgrecall.importers.detect import known_kind, open_source
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Draft

SAID = [("user", "Which key?"), ("assistant", "The brass one.")]
AT = 1_777_629_600
TIME = "2026-05-01T10:00:00Z"


def _grok(own: str, sender: str, text: str) -> dict[str, Any]:
    at = {"$date": {"$numberLong": f"{AT}000"}}
    return {"response": {"_id": own, "sender": sender, "message": text, "create_time": at}}


def _deepseek(above: str | None, below: list[str], *fragments: tuple[str, str]) -> dict[str, Any]:
    found = [{"type": kind, "content": text} for kind, text in fragments]
    return {"parent": above, "children": below, "message": {"inserted_at": TIME, "fragments": found}}


def _open_webui(above: str | None, role: str, text: str) -> dict[str, Any]:
    return {"id": text, "parentId": above, "childrenIds": [], "role": role, "content": text, "timestamp": AT}


TREE = {
    "1": _open_webui(None, "user", "Which key?"),
    "2": _open_webui("1", "assistant", "The iron one."),
    "3": _open_webui("1", "assistant", "The brass one."),
}
CHATS: dict[str, tuple[str, Any]] = {
    "Open WebUI, the branch shown": (
        "chat-export.json",
        [{"id": "w", "title": "Keys", "created_at": AT, "chat": {
            "history": {"messages": TREE, "currentId": "3"}, "messages": [TREE["1"], TREE["3"]],
        }}],
    ),
    "Open WebUI, the tree only": (
        "chat-export.json", {"data": [{"chat": {"history": {"messages": TREE, "currentId": "3"}}}]},
    ),
    "LibreChat": (
        "Keys.json",
        {"conversationId": "l", "title": "Keys", "recursive": True, "messages": [{
            "messageId": "a", "text": "Which key?", "isCreatedByUser": True, "createdAt": TIME, "children": [
                {"messageId": "b", "text": "The iron one.", "isCreatedByUser": False, "children": []},
                {"messageId": "c", "text": "", "isCreatedByUser": False,
                 "content": [{"type": "text", "text": "The brass one."}],
                 "children": [{"messageId": "d", "text": " ", "isCreatedByUser": True}]},
            ],
        }]},
    ),
    "Grok": (
        "prod-grok-backend.json",
        {"conversations": [{"conversation": {"id": "g", "title": "Keys"}, "responses": [
            _grok("a", "human", "Which key?"), _grok("b", "ASSISTANT", "The brass one."),
        ]}]},
    ),
    "DeepSeek": (
        "conversations.json",
        [{"id": "d", "title": "Keys", "mapping": {
            "root": {"parent": None, "children": ["1"], "message": None},
            "1": _deepseek("root", ["2", "3"], ("REQUEST", "Which key?")),
            "2": _deepseek("1", [], ("RESPONSE", "The iron one.")),
            "3": _deepseek("1", [], ("THINK", "Hm."), ("RESPONSE", "The brass one.")),
        }}],
    ),
    "Gemini, from Google Takeout": (
        "My Activity.json",
        [{"header": "Gemini Apps", "title": "Prompted Which key?", "time": TIME,
          "safeHtmlItem": [{"html": "<p>The <b>brass</b> one.</p>"}]}],
    ),
    "TypingMind": (
        "typingmind.json",
        {"data": {"chats": [{"chatID": "t", "chatTitle": "Keys", "createdAt": TIME, "messages": [
            {"role": "user", "content": "Which key?"},
            {"role": "assistant", "content": [{"type": "text", "text": "The brass one."}]},
        ]}]}},
    ),
    "Chatbox": (
        "chatbox.json",
        {"chat-sessions-list-meta": [], "session:1": {"id": "1", "name": "Keys", "messages": [
            {"id": "a", "role": "user", "contentParts": [{"type": "text", "text": "Which key?"}]},
            {"id": "b", "role": "assistant", "contentParts": [{"type": "text", "text": "The brass one."}]},
        ]}},
    ),
    "Continue": (
        "session.json",
        {"sessionId": "s", "title": "Keys", "history": [
            {"message": {"role": "user", "content": "Which key?"}},
            {"message": {"role": "assistant", "content": "The brass one."}},
        ]},
    ),
    "an extension for ChatGPT": (
        "ChatGPT-Keys.json",
        {"title": "Keys", "metadata": {}, "messages": [
            {"role": "Prompt", "say": "Which key?"}, {"role": "Response", "say": "The brass one."},
        ]},
    ),
    "Zep": (
        "zep.json",
        {"messages": [
            {"uuid": "a", "role": "Ann", "role_type": "user", "content": "Which key?"},
            {"uuid": "b", "role": "", "role_type": "assistant", "content": "The brass one."},
        ]},
    ),
    "opencode": (
        "session.json",
        {"info": {"id": "s", "title": "Keys", "time": {"created": AT * 1000}}, "messages": [
            {"info": {"id": "a", "role": "user", "time": {"created": AT * 1000}},
             "parts": [{"type": "text", "text": "Which key?"}]},
            {"info": {"id": "b", "role": "assistant"},
             "parts": [{"type": "step-start"}, {"type": "text", "text": "The brass one."}, {"type": "tool"}]},
        ]},
    ),
    "a part as the content": (
        "chat.json",
        [{"role": "user", "content": {"type": "text", "text": "Which key?"}},
         {"role": "assistant", "content": "The brass one."}],
    ),
}  # fmt: skip
JOURNAL = [
    {"kind": 0, "v": {"sessionId": "v", "requests": []}},
    {"kind": 1, "k": ["customTitle"], "v": "Keys"},
    {"kind": 2, "k": ["requests"], "v": [
        {"requestId": "r", "timestamp": AT * 1000, "message": {"text": "Which key?"}, "response": []},
        {"requestId": "draft", "message": {"text": "Never sent"}},
    ]},
    {"kind": 2, "k": ["requests"], "i": 1},
    {"kind": 2, "k": ["requests", 0, "response"], "v": [
        {"kind": "thinking", "value": "Hm."}, {"value": "The "},
    ]},
    {"kind": 2, "k": ["requests", 0, "response"], "v": [
        {"kind": "markdownContent", "content": {"value": "brass one."}},
    ]},
    {"kind": 1, "k": ["nowhere", 5, "x"], "v": 1},
    "junk",
]  # fmt: skip
SILLYTAVERN = [
    {"user_name": "Ann", "character_name": "Bo", "create_date": "2026-5-1@10h00m00s", "chat_metadata": {}},
    {"name": "Ann", "is_user": True, "send_date": "May 1, 2026 10:00am", "mes": "Which key?"},
    {"name": "Bo", "is_user": False, "send_date": AT * 1000 + 1, "mes": "The brass one."},
]
GRAPH = [
    {
        "type": "entity",
        "name": "Gate",
        "entityType": "place",
        "observations": ["Made of brass", "Opens at noon"],
    },
    {"type": "entity", "name": "Ann", "entityType": "person", "observations": []},
    {"type": "relation", "from": "Ann", "to": "Gate", "relationType": "has_key_of"},
]


def lines(*values: Any) -> str:
    return "".join(f"{json.dumps(value)}\n" for value in values)


def read(path: Path) -> tuple[list[Draft], list[Problem], dict[str, int]]:
    items = list(open_source(path))
    return (
        [item for item in items if isinstance(item, Draft)],
        [item for item in items if isinstance(item, Problem)],
        {item.what: item.count for item in items if isinstance(item, Skipped)},
    )


def said(drafts: list[Draft]) -> list[tuple[str | None, str]]:
    return [(draft.role, draft.body) for draft in drafts]


@pytest.mark.parametrize("program", CHATS)
def test_a_chat_in_the_words_of_its_program(program: str, tmp_path: Path) -> None:
    name, value = CHATS[program]
    path = tmp_path / name
    path.write_text(json.dumps(value), encoding="utf-8")
    drafts, problems, skipped = read(path)
    assert (said(drafts), problems) == (SAID, [])
    assert not any(what.startswith("fields") for what in skipped)
    is_tree = program.startswith(("Open", "Libre", "Deep"))
    assert (BRANCHES in skipped) == is_tree
    assert (THINKING in skipped) == (program == "DeepSeek")
    if "title" in json.dumps(value) and "Takeout" not in program:
        assert drafts[0].metadata == {"conversation": "Keys"}


@pytest.mark.parametrize("program", ["Grok", "DeepSeek", "Gemini, from Google Takeout"])
def test_an_archive_of_it_and_a_folder(program: str, tmp_path: Path) -> None:
    name, value = CHATS[program]
    (tmp_path / "unpacked/deep").mkdir(parents=True)
    (tmp_path / "unpacked/deep" / name).write_text(json.dumps(value), encoding="utf-8")
    (tmp_path / "unpacked/user.json").write_text("{}")
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.write(tmp_path / "unpacked/deep" / name, f"deep/{name}")
    assert said(read(tmp_path / "export.zip")[0]) == SAID
    assert said(read(tmp_path / "unpacked")[0]) == SAID


def test_a_folder_of_chats_without_notes(tmp_path: Path) -> None:
    for program in ("Continue", "LibreChat"):
        name, value = CHATS[program]
        (tmp_path / name).write_text(json.dumps(value), encoding="utf-8")
    (tmp_path / "other.json").write_text('{"version": 1}')
    drafts, problems, _ = read(tmp_path)
    assert (said(drafts), problems) == (SAID + SAID, [])
    assert Skipped(OTHER_FILES, 1, (str(tmp_path / "other.json"),)) in list(open_source(tmp_path))
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/note.md").write_text("x")
    assert known_kind(tmp_path) == "markdown"


def test_the_journal_of_a_chat_in_vscode(tmp_path: Path) -> None:
    path = tmp_path / "1b2c.jsonl"
    path.write_text(lines(*JOURNAL), encoding="utf-8")
    drafts, problems, skipped = read(tmp_path)
    assert known_kind(tmp_path) in SESSIONS
    assert (said(drafts), problems) == (SAID, [])
    assert {draft.session_id for draft in drafts} == {"vscode/v"}
    assert skipped == {"changes that are not understood": 2}
    assert read(path) == (drafts, problems, skipped)


def test_a_chat_of_sillytavern(tmp_path: Path) -> None:
    path = tmp_path / "Bo.jsonl"
    path.write_text(lines(*SILLYTAVERN), encoding="utf-8")
    drafts, problems, _ = read(path)
    assert (said(drafts), problems) == (SAID, [])
    assert [draft.author for draft in drafts] == ["Ann", "Bo"]
    assert [draft.occurred_at and draft.occurred_at.isoformat()[:19] for draft in drafts] == [TIME[:19]] * 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("memory.json", lines(*GRAPH)),
        ("memory.jsonl", lines(*GRAPH)),
        ("memory.jsonl", lines(*GRAPH).replace("}\n{", "}{")),
        ("graph.json", json.dumps({"entities": GRAPH[:2], "relations": GRAPH[2:]}, indent=2)),
    ],
)
def test_the_graph_of_the_memory_server(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    (gate, ann, holds), problems, _ = read(path)
    assert problems == []
    assert (gate.key, gate.title, gate.body, gate.tags) == (
        "Gate", "Gate", "Made of brass\nOpens at noon", ("place",),
    )  # fmt: skip
    assert (ann.key, ann.body) == ("Ann", "Ann")
    assert (holds.key, holds.body) == ("Ann/has_key_of/Gate", "Ann has key of Gate")
    assert [link.target for link in holds.links] == ["Ann", "Gate"]


def _line(role: str, *content: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"type": "message", "id": role, "timestamp": TIME, **fields} | {
        "message": {"role": role, "content": list(content), "model": "m"}
    }


def _qwen(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    kind = "assistant" if role == "model" else role
    return {
        "type": kind,
        "uuid": role,
        "sessionId": "s",
        "timestamp": TIME,
        "message": {"role": role, "parts": parts},
    }


def _kimi(role: str, text: str, origin: str) -> dict[str, Any]:
    said = {"role": role, "content": [{"type": "text", "text": text}], "origin": {"kind": origin}}
    return {"type": "context.append_message", "message": said, "time": AT * 1000}


AGENTS: dict[str, list[dict[str, Any]]] = {
    "OpenClaw and Pi": [
        {"type": "session", "id": "s", "timestamp": TIME, "cwd": "/tmp"},
        _line("user", {"type": "text", "text": "Which key?"}),
        _line("toolResult", {"type": "text", "text": "a list"}),
        _line("assistant", {"type": "text", "text": "The brass one."}, {"type": "toolCall", "name": "ls"}),
    ],
    "Droid": [
        {"type": "message", "session_id": "s", "timestamp": TIME, "role": "user", "text": "Which key?"},
        {"type": "tool_call", "session_id": "s", "toolName": "ls"},
        {
            "type": "message",
            "session_id": "s",
            "timestamp": TIME,
            "role": "assistant",
            "text": "The brass one.",
        },
    ],
    "Grok": [
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "user", "content": [{"type": "text", "text": "Which key?"}]},
        {"type": "tool_result", "content": "a list"},
        {"type": "assistant", "content": "The brass one.", "model_id": "grok"},
    ],
    "Kimi, the context": [
        {"role": "_system_prompt", "content": "You are an agent."},
        {"role": "_checkpoint", "id": 0},
        {"role": "user", "content": "Which key?"},
        {"role": "_usage", "token_count": 7},
        {
            "role": "assistant",
            "content": [
                {"type": "think", "think": "Hm."},
                {"type": "text", "text": "The brass one."},
            ],
        },
    ],
    "Kimi, the events": [
        {"type": "metadata", "protocol_version": "1.4"},
        {"type": "plugin.session_start", "content": None},
        {"type": "turn.prompt", "input": [{"type": "text", "text": "Which key?"}]},
        _kimi("user", "Be brief.", "injection"),
        _kimi("user", "Which key?", "user"),
        {
            "type": "context.append_loop_event",
            "event": {"type": "content.part", "part": {"type": "text", "text": "The brass one."}},
        },
        {"type": "context.append_loop_event", "event": {"type": "step.end"}},
    ],
    "Qwen Code": [
        _qwen("user", {"text": "Which key?"}),
        _qwen("model", {"text": "Hm.", "thought": True}, {"text": "The brass one."}, {"functionCall": {}}),
    ],
}


@pytest.mark.parametrize("program", AGENTS)
def test_sessions_of_other_agents(program: str, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text(lines(*AGENTS[program]), encoding="utf-8")
    drafts, problems, _ = read(tmp_path)
    assert (said(drafts), problems) == (SAID, [])
    assert said(read(tmp_path / "s.jsonl")[0]) == SAID


def test_what_codex_prints_and_the_wire_of_kimi(tmp_path: Path) -> None:
    """The prompt is not in what ``codex exec --json`` prints; the wire repeats the context beside it."""
    item = {"id": "item_1", "type": "agent_message", "text": "The brass one."}
    path = tmp_path / "out.jsonl"
    path.write_text(lines(
        {"type": "thread.started", "thread_id": "t"}, {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "item_0", "type": "reasoning", "text": "Hm."}},
        {"type": "item.completed", "item": item}, {"type": "turn.completed", "usage": {}},
    ))  # fmt: skip
    assert said(read(path)[0]) == SAID[1:]
    wire = {"timestamp": AT, "message": {"type": "TurnBegin", "payload": {"user_input": "Which key?"}}}
    (tmp_path / "wire.jsonl").write_text(lines({"type": "metadata"}, wire))
    drafts, problems, _ = read(tmp_path)
    assert (said(drafts), problems) == (SAID[1:], [])


def test_a_damaged_chat_costs_neither_its_beginning_nor_the_others(tmp_path: Path) -> None:
    whole = json.dumps([{"role": role, "content": text} for role, text in SAID])
    (tmp_path / "a.json").write_text(whole[:-9])
    drafts, [problem], _ = read(tmp_path / "a.json")
    assert (said(drafts), "line 1, column" in problem.reason) == (SAID[:1], True)
    (tmp_path / "b.json").write_text(whole[:9])
    (tmp_path / "c.json").write_text(whole)
    drafts, problems, _ = read(tmp_path)
    assert said(drafts) == SAID[:1] + SAID
    assert [Path(problem.where).name for problem in problems] == ["a.json", "b.json"]
    assert all(problem.reason.startswith("It is not JSON: line 1") for problem in problems)
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("conversations-000.json", whole[:9])
        archive.writestr("conversations-001.json", whole)
    drafts, [problem], _ = read(tmp_path / "export.zip")
    assert (said(drafts), problem.where.endswith("conversations-000.json")) == (SAID, True)


def test_each_file_of_a_folder_has_its_own_form(tmp_path: Path) -> None:
    for name, program in (("a", "Qwen Code"), ("b", "OpenClaw and Pi")):
        (tmp_path / f"{name}.jsonl").write_text(lines(*AGENTS[program]), encoding="utf-8")
    drafts, problems, _ = read(tmp_path)
    assert (said(drafts), problems) == (SAID + SAID, [])
    assert {draft.source for draft in drafts} == {f"chat:{tmp_path.resolve()}", "claude-code"}


def test_files_of_one_name_in_two_folders_are_two_chats(tmp_path: Path) -> None:
    for folder in ("", "a", "a/b"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "chat.jsonl").write_text(lines({"role": "user", "content": "Noon?"}))
    drafts, problems, _ = read(tmp_path)
    assert sorted(draft.key or "" for draft in drafts) == ["a/b/chat/1", "a/chat/1", "chat/1"]
    assert problems == []


def test_records_of_others_name_their_text_and_time_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(lines({"id": 7, "content": "The brass key.", "created_at": AT}), encoding="utf-8")
    [draft], problems, _ = read(path)
    assert (draft.body, draft.metadata, problems) == ("The brass key.", {"id": 7}, [])
    assert draft.occurred_at is not None
    assert draft.occurred_at.timestamp() == AT


def test_records_that_were_written_on_one_line(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(
        '{"body": "One."}{"body": "Two."}\n{"body": "Three."},\n{"body": "Four."}{"bo\n{"body": "Five."}'
    )
    drafts, [problem], _ = read(path)
    assert [draft.body for draft in drafts] == ["One.", "Two.", "Three.", "Four.", "Five."]
    assert problem.reason.startswith("line 3: not JSON")
    path.write_text('{"body": "One.", "key": "a"}{"body": "Two.", "key": "a"}')
    drafts, [problem], _ = read(path)
    assert ([draft.body for draft in drafts], problem.reason) == (
        ["One."], "line 1: key 'a' is already used on line 1.",
    )  # fmt: skip


def test_turns_that_were_written_on_one_line(tmp_path: Path) -> None:
    turns = [
        {"type": "user", "uuid": f"u{number}", "sessionId": "s", "message": {"role": "user", "content": text}}
        for number, text in enumerate(("One.", "Two.", "Three."))
    ]
    path = tmp_path / "s.jsonl"
    path.write_text(lines(turns[0]) + json.dumps(turns[1]) + lines(turns[2]))
    drafts, problems, _ = read(path)
    assert ([draft.body for draft in drafts], problems) == (["One.", "Two.", "Three."], [])


def test_sessions_that_are_packed_in_another_way_are_named(tmp_path: Path) -> None:
    (tmp_path / "rollout-a.jsonl.zst").write_bytes(b"(\xb5/\xfd")
    with pytest.raises(InvalidInput, match=r"it has only \.zst"):
        open_source(tmp_path)
    (tmp_path / "chat.jsonl").write_text(lines({"role": "user", "content": "Noon?"}))
    drafts, [problem], _ = read(tmp_path)
    assert ([draft.body for draft in drafts], "unzstd" in problem.reason) == (["Noon?"], True)


def test_what_was_spoken_or_pasted_to_claude(tmp_path: Path) -> None:
    message = {"sender": "human", "created_at": TIME, "text": ""}
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{"uuid": "c", "chat_messages": [
        {**message, "uuid": "a", "content": [{"type": "voice_note", "text": "Which key?"}]},
        {**message, "uuid": "b", "attachments": [
            {"file_name": "paste.txt", "extracted_content": "A list of keys."},
            {"file_name": "keys.pdf", "extracted_content": "A book of keys."},
        ]},
    ]}]))  # fmt: skip
    drafts, problems, skipped = read(path)
    assert ([draft.body for draft in drafts], problems) == (["Which key?", "A list of keys."], [])
    assert skipped["attached files"] == 1


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("Sep 30, 2025", "2025-09-30T00:00:00"),
        ("Wednesday, October 1st 2025, 3:23:18 pm", "2025-10-01T15:23:18"),
        ("April 26, 2024 6:06am", "2024-04-26T06:06:00"),
        ("4th October 2025", "2025-10-04T00:00:00"),
        ("03 Mar 2026 10:15:09", "2026-03-03T10:15:09"),
        ("2026-5-1 @10h 00m 07s 000ms", "2026-05-01T10:00:07"),
    ],
)
def test_times_of_chats_in_words(text: str, moment: str) -> None:
    assert parse_logged(text)[0].isoformat()[:19] == moment


@pytest.mark.parametrize(
    "text",
    [
        "June 31, 2025",
        "Foo 3, 2025",
        "April 3, 2024 13:01pm",
        "Ma 3, 2025",
        "03 Mar 2026 10:15:00 +99999999999999999999",
    ],
)
def test_words_that_are_no_date(text: str) -> None:
    with pytest.raises(ValueError, match="is not a date"):
        parse_logged(text)


MORE_CHATS: dict[str, tuple[str, str]] = {
    "Google AI Studio": (
        "studio.json",
        json.dumps({
            "runSettings": {}, "chunkedPrompt": {"chunks": [
                {"role": "user", "text": "Who has the key?", "createTime": "2026-05-01T10:00:00Z"},
                {"role": "model", "text": "Let me think.", "isThought": True},
                {"role": "model", "text": "Ann."},
            ]},
        }),
    ),
    "Mistral": (
        "chat.json",
        json.dumps([
            {"id": "a", "role": "user", "content": "Who has the key?", "contentChunks": None,
             "createdAt": "2026-05-01T10:00:00Z"},
            {"id": "b", "role": "assistant", "content": "",
             "contentChunks": [{"type": "text", "text": "Ann."}]},
        ]),
    ),
    "Goose": (
        "session.jsonl",
        '{"working_dir": "/lock", "description": "Keys"}\n'
        '{"role": "user", "created": 1777629600, "content": [{"type": "text", "text": "Who has the key?"}]}\n'
        '{"role": "assistant", "created": 1777629601, "content": [{"type": "text", "text": "Ann."}]}\n',
    ),
    "Cline": (
        "api_conversation_history.json",
        json.dumps([
            {"role": "user", "content": "Who has the key?", "ts": 1777629600000},
            {"role": "assistant", "content": [{"type": "text", "text": "Ann."}]},
        ]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("program", MORE_CHATS)
def test_chats_of_more_programs_with_their_times(program: str, tmp_path: Path) -> None:
    name, text = MORE_CHATS[program]
    (tmp_path / name).write_text(text, encoding="utf-8")
    drafts, problems, _ = read(tmp_path / name)
    assert [(draft.role, draft.body) for draft in drafts] == [
        ("user", "Who has the key?"), ("assistant", "Ann."),
    ]  # fmt: skip
    assert not problems
    assert str(drafts[0].occurred_at) == "2026-05-01 10:00:00+00:00"


@pytest.mark.parametrize(
    "name", ["Meine Aktivitäten/Gemini-Apps/MeineAktivitäten", "Mon activité/Applications Gemini/MonActivité"]
)
def test_gemini_in_the_language_of_the_account(name: str, tmp_path: Path) -> None:
    _, value = CHATS["Gemini, from Google Takeout"]
    with zipfile.ZipFile(tmp_path / "takeout.zip", "w") as archive:
        archive.writestr(f"Takeout/{name}.json", json.dumps(value))
        archive.writestr("Takeout/archive_browser.html", "x")
    assert said(read(tmp_path / "takeout.zip")[0]) == SAID


def test_an_archive_of_chats_is_read_as_the_folder_that_was_packed(tmp_path: Path) -> None:
    whole = json.dumps([{"role": role, "content": text} for role, text in SAID])
    with zipfile.ZipFile(tmp_path / "chats.zip", "w") as archive:
        archive.writestr("a/chat.json", whole)
        archive.writestr("b/chat.json", whole)
        archive.writestr("b/readme.txt", "x")
        archive.writestr("b/chat.jsonl.gz", "x")
    drafts, problems, _ = read(tmp_path / "chats.zip")
    assert (said(drafts), problems) == (SAID + SAID, [])
    assert [draft.session_id for draft in drafts] == ["a/chat"] * 2 + ["b/chat"] * 2
    with zipfile.ZipFile(tmp_path / "sessions.zip", "w") as archive:
        archive.writestr("ann/.qwen/2026/s.jsonl", lines(*AGENTS["Qwen Code"]))
        archive.writestr("ann/.qwen/settings.json", "{}")
        archive.writestr("ann/.qwen/.cache/t.jsonl", "x")
        archive.writestr("__MACOSX/ann/._s.jsonl", "x")
    assert known_kind(tmp_path / "sessions.zip") == "claude-code"
    assert said(read(tmp_path / "sessions.zip")[0]) == SAID
    with zipfile.ZipFile(tmp_path / "notes.zip", "w") as archive:
        archive.writestr("vault/chat.json", whole)
        archive.writestr("vault/Gate.md", "Brass.")
    assert known_kind(tmp_path / "notes.zip") == "markdown"
