"""Files in the forms that chat programs export, with invented content."""

# ruff: noqa: E501  # a line of a file is a line here
from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Json = dict[str, Any]

SPRING = 1_772_530_440.25
"""3 March 2026, 09:34:00.25 UTC."""


def gpt_message(
    name: str,
    role: str,
    text: str | None,
    at: float | None = SPRING,
    *,
    content: Json | None = None,
    metadata: Json | None = None,
    recipient: str = "all",
    author: str | None = None,
    **more: object,
) -> Json:
    return {
        "id": name,
        "author": {"role": role, "name": author, "metadata": {}},
        "create_time": at,
        "update_time": None,
        "content": content or {"content_type": "text", "parts": [text]},
        "status": "finished_successfully",
        "end_turn": True,
        "weight": 1.0,
        "metadata": metadata or {},
        "recipient": recipient,
        "channel": None,
        **more,
    }


def gpt_conversation(
    name: str, messages: Sequence[Json], title: str = "Clock repair", branches: Sequence[Json] = ()
) -> Json:
    """A chain of messages below an empty root; ``branches`` are further answers to the first message."""
    mapping: Json = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    before = "root"
    for message in messages:
        mapping[before]["children"].append(message["id"])
        mapping[message["id"]] = {"id": message["id"], "message": message, "parent": before, "children": []}
        before = message["id"]
    for message in branches:
        first = messages[0]["id"]
        mapping[first]["children"].insert(0, message["id"])
        mapping[message["id"]] = {"id": message["id"], "message": message, "parent": first, "children": []}
    return {
        "title": title,
        "create_time": SPRING,
        "update_time": SPRING + 60,
        "mapping": mapping,
        "moderation_results": [],
        "current_node": before,
        "plugin_ids": None,
        "conversation_id": name,
        "conversation_template_id": None,
        "gizmo_id": None,
        "is_archived": False,
        "safe_urls": [],
        "default_model_slug": "gpt-4o",
        "id": name,
    }


def chatgpt_export() -> list[Json]:
    """Two conversations with all that such exports contain."""
    repair = [
        gpt_message("m0", "system", "", None, metadata={"is_visually_hidden_from_conversation": True}),
        gpt_message("m1", "user", "How do I free a seized escapement?"),
        gpt_message(
            "m2", "assistant", None, SPRING + 1, content={"content_type": "thoughts", "thoughts": [{"content": "hm"}]}
        ),
        gpt_message(
            "m3", "assistant", None, SPRING + 2, recipient="web",
            content={"content_type": "code", "language": "unknown", "text": "search('escapement')"},
        ),
        gpt_message(
            "m4", "tool", None, SPRING + 3, author="web",
            content={"content_type": "tether_quote", "url": "u", "title": "t", "text": "oil it"},
        ),
        gpt_message(
            "m5", "assistant", "Clean it first, then oil it.\ue200cite\ue202turn0search0\ue201", SPRING + 4,
            metadata={"model_slug": "gpt-4o"},
        ),
        gpt_message(
            "m6", "user", None, SPRING + 50, metadata={"attachments": [{"id": "f", "name": "clock.jpg"}]},
            content={
                "content_type": "multimodal_text",
                "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "file-service://f"}, "This one?"],
            },
        ),
        gpt_message("m7", "assistant", "Yes.", None),
    ]  # fmt: skip
    other = [
        gpt_message("n1", "user", "Name three stars", "2026-03-04T08:00:00"),
        gpt_message("n2", "assistant", ""),
    ]  # type: ignore[arg-type]
    return [
        gpt_conversation("c-1", repair, branches=[gpt_message("m1b", "assistant", "Use force.")]),
        gpt_conversation("c-2", other, title="Stars"),
    ]


def claude_message(name: str, sender: str, text: str, at: str, **more: object) -> Json:
    return {
        "uuid": name,
        "text": text,
        "content": [
            {"start_timestamp": at, "stop_timestamp": at, "type": "text", "text": text, "citations": []}
        ],
        "sender": sender,
        "created_at": at,
        "updated_at": at,
        "attachments": [],
        "files": [],
        **more,
    }


def claude_export() -> list[Json]:
    use = {"type": "tool_use", "name": "repl", "input": {"code": "1+1"}}
    answer = claude_message("a2", "assistant", "Two.", "2026-03-05T10:00:02.5Z")
    answer["content"] = [{"type": "thinking", "thinking": "add"}, use, {"type": "tool_result", "content": "2"},
                         *answer["content"]]  # fmt: skip
    pasted = {"file_name": "", "file_type": "txt", "file_size": 9, "extracted_content": "my ledger"}
    named = {"file_name": "a.pdf", "file_type": "pdf", "file_size": 9, "extracted_content": "pages"}
    third = claude_message(
        "a3", "human", "", "2026-03-05T10:01:00Z", attachments=[pasted, named], files=[{"file_name": "b.png"}]
    )
    third["content"] = []
    return [
        {
            "uuid": "conv-9",
            "name": "Sums",
            "summary": "",
            "created_at": "2026-03-05T09:59:00Z",
            "updated_at": "2026-03-05T10:02:00Z",
            "account": {"uuid": "acc"},
            "chat_messages": [
                claude_message("a1", "human", "What is one and one?", "2026-03-05T12:00:00+02:00"),
                answer,
                third,
                claude_message("a4", "assistant", "", "2026-03-05T10:02:00Z"),
            ],
        }
    ]


def code_line(
    name: str, kind: str, content: object, at: str, parent: str | None = None, **more: object
) -> Json:
    return {
        "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/home/mira/clock",
        "sessionId": "s-77", "version": "2.0.1", "gitBranch": "main", "type": kind,
        "message": {"role": kind, "content": content, **({"model": "claude-opus", "id": "msg_1"} if kind == "assistant" else {})},
        "uuid": name, "timestamp": at, **more,
    }  # fmt: skip


def claude_code_session() -> list[Json]:
    at = "2026-03-06T07:00:0{}.000Z".format
    call = [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
    ]
    return [
        {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}, "isSnapshotUpdate": False},
        code_line("u1", "user", "Why does the test fail?<system-reminder>be kind</system-reminder>", at(1)),
        code_line("u2", "assistant", [{"type": "thinking", "thinking": "hm", "signature": "s"}], at(2), "u1"),
        code_line("u3", "assistant", call, at(3), "u2"),
        code_line(
            "u4",
            "user",
            [{"type": "tool_result", "tool_use_id": "t1", "content": "a.py"}],
            at(4),
            "u3",
            toolUseResult={},
        ),
        code_line("u5", "assistant", [{"type": "text", "text": "A missing import."}], at(5), "u4"),
        code_line("u6", "user", "<command-name>/clear</command-name>", at(6), "u5"),
        code_line("u7", "user", "caveat", at(7), "u6", isMeta=True),
        code_line("u8", "user", "look for imports", at(8), None, isSidechain=True, agentId="ag1"),
        {"type": "summary", "summary": "Missing import found", "leafUuid": "u5"},
        {"type": "summary", "summary": "Of another session", "leafUuid": "elsewhere"},
    ]


def codex_session() -> list[Json]:
    at = "2026-03-07T07:00:0{}.000Z".format

    def item(number: int, **payload: object) -> Json:
        return {"timestamp": at(number), "type": "response_item", "payload": payload}

    def message(number: int, role: str, text: str) -> Json:
        kind = "output_text" if role == "assistant" else "input_text"
        return item(number, type="message", role=role, content=[{"type": kind, "text": text}])

    meta = {"id": "r-5", "timestamp": at(0), "cwd": "/home/mira/clock", "originator": "codex_cli_rs",
            "cli_version": "0.90.0", "instructions": None, "git": {"branch": "dev"}}  # fmt: skip
    return [
        {"timestamp": at(0), "type": "session_meta", "payload": meta},
        message(1, "developer", "<permissions instructions>"),
        message(1, "user", "<environment_context>\n<cwd>/home/mira/clock</cwd>\n</environment_context>"),
        message(2, "user", "Add a chime at noon"),
        {
            "timestamp": at(2),
            "type": "event_msg",
            "payload": {"type": "user_message", "message": "Add a chime at noon"},
        },
        {
            "timestamp": at(2),
            "type": "turn_context",
            "payload": {"model": "gpt-5", "cwd": "/home/mira/clock"},
        },
        item(3, type="reasoning", summary=[], encrypted_content="x"),
        item(4, type="function_call", name="shell", arguments="{}", call_id="c"),
        item(5, type="function_call_output", call_id="c", output="done"),
        message(6, "assistant", "It chimes at noon now."),
    ]


def gemini_message(name: str, kind: str, content: object, at: str, **more: object) -> Json:
    return {"id": name, "timestamp": at, "type": kind, "content": content, **more}


def gemini_session() -> list[Json]:
    """The lines of a session: its metadata, messages, one of them written twice, and one taken back."""
    at = "2026-03-08T07:00:0{}.000Z".format
    call = {"id": "c", "name": "read_file", "args": {"path": "a.py"}, "result": [{"text": "x"}],
            "status": "success", "timestamp": at(3)}  # fmt: skip
    answer = gemini_message(
        "g2", "gemini", "The mainspring is worn.", at(4), model="gemini-pro", toolCalls=[call],
        thoughts=[{"subject": "s", "description": "d", "timestamp": at(2)}], tokens=None,
    )  # fmt: skip
    return [
        {"sessionId": "g-3", "projectHash": "ab12", "startTime": at(0), "lastUpdated": at(0), "kind": "main"},
        gemini_message("g0", "info", "Update available", at(1)),
        gemini_message("g1", "user", [{"text": "Why is it slow?"}], at(1)),
        {**answer, "content": "", "toolCalls": []},
        answer,
        gemini_message("g3", "user", "Never mind", at(5)),
        {"$rewindTo": "g3"},
        {"$set": {"summary": "A slow clock", "lastUpdated": at(6)}},
    ]


def gemini_record() -> Json:
    """The same session in one object, as earlier versions wrote it."""
    head, info, question, _, answer, *_ = gemini_session()
    return {**head, "summary": "A slow clock", "messages": [info, question, answer]}


def cursor_transcript() -> list[Json]:
    def line(role: str, *blocks: Json) -> Json:
        return {"role": role, "message": {"content": list(blocks)}}

    asked = "<open_files>a.py</open_files>\n<user_query>\nRename the dial\n</user_query>"
    return [
        line("user", {"type": "text", "text": asked}),
        line(
            "assistant",
            {"type": "text", "text": "It is called face now."},
            {"type": "tool_use", "name": "Edit", "input": {"path": "a.py"}},
        ),
    ]


def vscode_transcript() -> list[Json]:
    at = "2026-03-09T07:00:0{}.000Z".format

    def event(number: int, kind: str, **data: object) -> Json:
        before = f"e{number - 1}" if number else None
        return {"type": kind, "data": data, "id": f"e{number}", "timestamp": at(number), "parentId": before}

    request = {"toolCallId": "c", "name": "read_file", "arguments": "{}", "type": "function"}
    return [
        event(0, "session.start", sessionId="v-4", version=1, producer="copilot-agent", copilotVersion="0.40",
              vscodeVersion="1.110", startTime=at(0), context={"cwd": "/home/mira/clock"}),
        event(1, "user.message", content="Which oil for the pivots?", attachments=[{"name": "a"}]),
        event(2, "assistant.turn_start", turnId="0"),
        event(3, "assistant.message", messageId="m", content="", toolRequests=[request], reasoningText="hm"),
        event(4, "tool.execution_start", toolCallId="c", toolName="read_file", arguments={}),
        event(5, "tool.execution_complete", toolCallId="c", success=True, result={"content": "oil.md"}),
        event(6, "assistant.message", messageId="n", content="A drop of synthetic oil.", toolRequests=[]),
        event(7, "assistant.turn_end", turnId="0"),
    ]  # fmt: skip


def openai_messages() -> Json:
    return {
        "messages": [
            {"role": "system", "content": "You repair clocks."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What is this?"},
                    {"type": "image_url", "image_url": {"url": "data:"}},
                ],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "a chronometer"},
            {"role": "assistant", "content": "A chronometer.", "mood": "proud"},
        ]
    }


def dated_messages() -> list[Json]:
    return [
        {"role": "user", "content": "Wind it daily?", "timestamp": "2026-03-08T06:00:00Z"},
        {"role": "assistant", "content": "Weekly.", "created_at": 1_772_950_500},
        {"role": "user", "content": "And the chime?", "timestamp": "2026-03-08 07:00"},
        {"role": "assistant", "content": "Monthly.", "timestamp": "some day"},
    ]


def write_lines(path: Path, values: Sequence[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def write_json(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return path


def write_zip(path: Path, entries: dict[str, object]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in entries.items():
            archive.writestr(name, value if isinstance(value, str) else json.dumps(value))
    return path


def write_form(kind: str, folder: Path, value: Any = None) -> Path:
    """A file of this kind as its program writes it, or with another value."""
    match kind:
        case "chatgpt":
            entries = {
                "conversations.json": value or chatgpt_export(),
                "chat.html": "<html>",
                "user.json": {},
            }
            return write_zip(folder / "export.zip", entries)
        case "claude":
            entries = {"conversations.json": value or claude_export(), "users.json": [], "projects.json": []}
            return write_zip(folder / "data.zip", entries)
        case "claude-code":
            write_lines(
                folder / "projects" / "-home-mira-clock" / "s-77.jsonl", value or claude_code_session()
            )
            return folder / "projects"
        case "codex":
            name = "rollout-2026-03-07T07-00-00-r-5.jsonl"
            write_lines(folder / "sessions" / "2026" / "03" / "07" / name, value or codex_session())
            return folder / "sessions"
        case "cursor":
            write_lines(folder / "agent-transcripts" / "k-1" / "k-1.jsonl", value or cursor_transcript())
            return folder / "agent-transcripts"
        case "gemini":
            write_lines(folder / "chats" / "session-2026-03-08T07-00-g3.jsonl", value or gemini_session())
            return folder / "chats"
        case "vscode":
            return write_lines(folder / "transcripts" / "v-4.jsonl", value or vscode_transcript())
        case "openai":
            return write_json(folder / "clock.json", value or openai_messages())
        case "lines":
            return write_lines(folder / "talk.jsonl", value or dated_messages())
    return write_json(folder / "talk.json", value or dated_messages())


KINDS = (
    "chatgpt", "claude", "claude-code", "codex", "cursor", "gemini", "vscode", "openai", "lines", "list",
)  # fmt: skip
