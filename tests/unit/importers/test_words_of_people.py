"""What people said, in forms that programs changed or hide among their own lines; all of it is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pgrecall.importers.detect import open_source
from pgrecall.nouns.imports.report import Skipped
from pgrecall.nouns.memories.models import Draft

AT = "2026-09-01T10:00:00Z"
META = {"type": "session_meta", "timestamp": AT, "payload": {"id": "s1", "cwd": "/w"}}


def codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"type": kind, "timestamp": AT, "payload": payload}


def item(role: str, *parts: dict[str, str]) -> dict[str, Any]:
    return codex("response_item", type="message", role=role, content=list(parts))


def completed(kind: str, text: str) -> dict[str, Any]:
    content = [{"type": "Text" if kind == "AgentMessage" else "text", "text": text}]
    return codex("event_msg", type="item_completed", item={"type": kind, "id": kind, "content": content})


def event(kind: str, text: str) -> dict[str, Any]:
    return codex("event_msg", type=kind, message=text)


def parts(*texts: str) -> list[dict[str, str]]:
    return [{"type": "output_text", "text": text} for text in texts]


def asked(text: str) -> dict[str, Any]:
    return item("user", {"type": "input_text", "text": text})


def claude(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content}
    return {"type": kind, "uuid": f"{kind}-1", "timestamp": AT, "sessionId": "c1", "message": message, **more}


OPEN, MINE = "# Context from my IDE setup:", "## My request for Codex:"
QUOTED = f"Codex writes\n{MINE}\nabove it."
QUEUED = {
    "type": "attachment", "timestamp": AT, "sessionId": "c1",
    "attachment": {"type": "queued_command", "commandMode": "prompt", "prompt": "Oil the hinge too."},
}  # fmt: skip
FINISHED = {**QUEUED, "attachment": {**QUEUED["attachment"], "commandMode": "task-notification"}}  # type: ignore[dict-item]  # it is an object
COMMAND = (
    "<command-message>mend</command-message>\n<command-name>/mend</command-name>\n"
    "<command-args>the lock\nof the shed</command-args>"
)


@pytest.mark.parametrize(
    ("lines", "texts"),
    [
        pytest.param(
            [META, completed("UserMessage", "Where?"), completed("AgentMessage", "There.")],
            ["Where?", "There."],
            id="Codex tells of messages in events alone",
        ),
        pytest.param(
            [META, event("user_message", "Where?"), event("agent_message", "There.")],
            ["Where?", "There."],
            id="Codex tells of messages in its older events alone",
        ),
        pytest.param(
            [META, asked("Where?"), completed("UserMessage", "Where?"), completed("AgentMessage", "There.")],
            ["Where?", "There."],
            id="Codex has questions as items too, which count once",
        ),
        pytest.param(
            [META, asked(f"{OPEN}\n- a.py\n\n{MINE}\nMend it")],
            ["Mend it"],
            id="Codex puts the open files above a question",
        ),
        pytest.param(
            [META, asked("First"), event("user_message", "First"), event("user_message", "Second"),
             event("user_message", "First")],
            ["First", "Second", "First"],
            id="Codex has an item for some of its events",
        ),
        pytest.param(
            [META, event("user_message", "Go on"), completed("UserMessage", "Go on"), asked("Go on"),
             asked("Go on"), item("assistant", *parts("Here.", " It is.<proposed_plan>1.</proposed_plan>")),
             event("agent_message", "Here. It is."), event("agent_message", "Go on")],
            ["Go on", "Go on", "Here.\n It is.<proposed_plan>1.</proposed_plan>", "Go on"],
            id="Codex tells of an item in events of two types, and without a plan",
        ),
        pytest.param(
            [META, item("assistant", *parts(QUOTED)), asked(QUOTED), asked(f"See {OPEN}\n{MINE}\nit"),
             asked(f"{OPEN} {MINE} it\n{MINE}\nWhy\n{MINE}\ntwice?")],
            [QUOTED, QUOTED, f"See {OPEN}\n{MINE}\nit", f"Why\n{MINE}\ntwice?"],
            id="somebody quotes what Codex puts above a question",
        ),
        pytest.param(
            [META, asked(f"\n# Files mentioned by the user:\n\n## a.png: /a.png\n\n{MINE}\r\nSee it")],
            ["See it"],
            id="Codex puts the attached files above a question",
        ),
        pytest.param(
            [META, asked("<hook_prompt>x</hook_prompt>"), asked("Where?"),
             item("user", {"type": "input_text", "text": "<image name=[Image #1]>"}, {"type": "input_image"},
                  {"type": "input_text", "text": "</image>"}, {"type": "input_text", "text": "See this"}),
             item("assistant", {"type": "refusal", "refusal": "I cannot."})],
            ["Where?", "See this", "I cannot."],
            id="Codex adds hooks and marks of pictures, and refuses",
        ),
        pytest.param(
            [claude("user", "Mend it."), QUEUED, FINISHED, claude("assistant", "Done.")],
            ["Mend it.", "Oil the hinge too.", "Done."],
            id="Claude Code keeps what is typed while it works as an attachment",
        ),
        pytest.param(
            [claude("user", COMMAND), claude("user", "<command-name>/model</command-name>", uuid="2")],
            ["/mend the lock of the shed"],
            id="Claude Code has the words after a command in a tag",
        ),
        pytest.param(
            [[{"role": "user", "content": "Where?"}, {"role": "assistant", "content": "There."}]],
            ["Where?", "There."],
            id="a list of messages on one line",
        ),
        pytest.param(
            [{"page_content": "Brass.", "metadata": {"source": "a.md"}}],
            ["Brass."],
            id="LangChain has a text in a document",
        ),
        pytest.param(
            [{"type": "human", "data": {"content": "Where?"}},
             {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "AIMessage"],
              "kwargs": {"content": "There."}}],
            ["Where?", "There."],
            id="LangChain has a message in its data",
        ),
    ],
)  # fmt: skip
def test_every_word_of_people_is_read(lines: list[Any], texts: list[str], tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    assert [item.body for item in open_source(path) if isinstance(item, Draft)] == texts


OPENCODE = {
    "info": {"id": "s1"},
    "messages": [{"info": {"id": "m1", "role": "user"}, "parts": [
        {"type": "text", "text": "Where?"}, {"type": "text", "text": "Called Read", "synthetic": True},
    ]}],
}  # fmt: skip
QWEN = {"data": [{"id": "q1", "chat": {"history": {"currentId": "b", "messages": {
    "a": {"id": "a", "role": "user", "content": "Where?", "childrenIds": ["b"]},
    "b": {"id": "b", "role": "assistant", "content": "", "parentId": "a", "content_list": [
        {"phase": "think", "content": "Hm."}, {"phase": "answer", "content": "There."},
    ]},
}}}}]}  # fmt: skip
LETTA = {"agents": [{"name": "keeper", "messages": [{"role": "user", "content": "Where?"}]}], "tools": []}


@pytest.mark.parametrize(
    ("value", "texts"), [(OPENCODE, ["Where?"]), (QWEN, ["Where?", "There."]), (LETTA, ["Where?"])]
)
def test_what_people_said_in_an_export(value: object, texts: list[str], tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(value))
    assert [item.body for item in open_source(path) if isinstance(item, Draft)] == texts


def test_sessions_that_number_their_turns_alike_are_all_read(tmp_path: Path) -> None:
    """Their keys stay when a session is added, so that none is written over another."""
    for name, text in (("b", "Where?"), ("c", "Oil it.")):
        lines = [claude("user", text, sessionId=name), claude("user", "Otherwise.", sessionId=name)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    before = {item.key: item.body for item in open_source(tmp_path) if isinstance(item, Draft)}
    (tmp_path / "a.jsonl").write_text(json.dumps(claude("user", "Where?", sessionId="a")))
    items = list(open_source(tmp_path))
    assert before == {"claude-code/b/user-1": "Where?", "claude-code/c/user-1": "Oil it."}
    assert {item.key: item.body for item in items if isinstance(item, Draft)} == {
        "claude-code/a/user-1": "Where?", **before,
    }  # fmt: skip
    assert [(item.what, item.count) for item in items if isinstance(item, Skipped)] == [
        ("turns with the id of an earlier one that says something else", 2)
    ]


def test_a_resumed_session_has_the_turns_of_an_earlier_one_once(tmp_path: Path) -> None:
    own = "0198c1f2-7a51-7cc3-9d1e-0a4f5b6c7d8e"
    for name in ("a", "b"):
        line = claude("user", "Where?", uuid=own, sessionId=name)
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(line))
    items = list(open_source(tmp_path))
    assert [item.key for item in items if isinstance(item, Draft)] == [f"claude-code/{own}"]
    assert [(item.what, item.count) for item in items if isinstance(item, Skipped)] == [
        ("turns that occur twice", 1)
    ]


def test_a_session_in_json_beside_sessions_in_lines(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, [META, asked("Where?")])))
    (tmp_path / "b.json").write_text(json.dumps([{"role": "user", "content": "And the shed?"}]))
    (tmp_path / "settings.json").write_text('{"model": "x"}')
    items = list(open_source(tmp_path))
    assert [item.body for item in items if isinstance(item, Draft)] == ["Where?", "And the shed?"]
    others = [
        item for item in items if isinstance(item, Skipped) and item.what == "files without conversations"
    ]
    assert [item.places for item in others] == [(str(tmp_path / "settings.json"),)]


GEMINI = {
    "sessionId": "s1", "projectHash": "h",
    "messages": [{"type": "user", "content": "Where?"}, {"type": "model", "content": "There."}],
}  # fmt: skip
CHATGPT = [{"mapping": {
    "a": {"id": "a", "children": [], "message": {
        "author": {"role": "user"}, "content": {"parts": [{"content_type": "text", "text": "Where?"}, None]},
    }},
}}]  # fmt: skip
CLAUDE = [{"uuid": "k1", "chat_messages": [
    {"sender": "human", "text": "Where?"}, {"uuid": None, "sender": "assistant", "text": "There."},
]}]  # fmt: skip
COPILOT = [
    {"type": kind, "parentId": None, "data": {"content": text}}
    for kind, text in (("user.message", "Where?"), ("assistant.message", "There."))
]


SAID = [{"type": "user", "content": "Go on."}, {"type": "model", "content": "First step."}]
GEMINI_AGAIN = {**GEMINI, "messages": [*SAID, SAID[0], {"type": "model", "content": "Second step."}]}
GEMINI_LINES = [{"sessionId": "s1", "projectHash": "h"}, *SAID, SAID[0], {"$set": {"messages": SAID}}]
BOTH = ["Where?", "There."]


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        pytest.param(GEMINI, BOTH, id="Gemini CLI"),
        pytest.param(GEMINI_AGAIN, ["Go on.", "First step.", "Go on.", "Second step."], id="said again"),
        pytest.param(GEMINI_LINES, ["Go on.", "First step.", "Go on."], id="said again and listed again"),
        pytest.param(CHATGPT, BOTH[:1], id="ChatGPT"),
        pytest.param(CLAUDE, BOTH, id="Claude"),
        pytest.param(COPILOT, BOTH, id="Copilot"),
        pytest.param({"messages": [{"role": "user", "text": "Where?"}]}, BOTH[:1], id="messages"),
    ],
)
def test_a_message_without_an_id_or_in_other_words_is_read(
    value: Any, texts: list[str], tmp_path: Path
) -> None:
    has_lines = value in (COPILOT, GEMINI_LINES)
    path = tmp_path / ("chat.jsonl" if has_lines else "chat.json")
    path.write_text("\n".join(map(json.dumps, value)) if has_lines else json.dumps(value))
    first = [item for item in open_source(path) if isinstance(item, Draft)]
    assert [item.body for item in first] == texts
    keys = [item.key for item in open_source(path) if isinstance(item, Draft)]
    assert [item.key for item in first] == keys
    assert len({*keys}) == len(keys)
