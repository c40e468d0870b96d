"""Conversations of a Claude export, and the texts of its projects and memories."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from pgrecall.importers.chat.turns import (
    ATTACHMENTS,
    BRANCHES,
    EMPTY,
    IMAGES,
    THINKING,
    TOOLS,
    Conversation,
    Tally,
    Turn,
    dated,
    kind_of,
    list_of,
    name_from,
    of_type,
    role_of_sender,
)

_KNOWN = frozenset({
    "uuid", "text", "content", "sender", "created_at", "updated_at", "attachments", "files", "files_v2",
    "parent_message_uuid", "index", "truncated", "stop_reason", "feedback", "chat_feedback", "sync_sources",
    "input_mode", "model",
})  # fmt: skip

_PASTED = re.compile(r"pasted?[\w -]{0,40}\.txt", re.IGNORECASE)


def is_claude(value: object) -> bool:
    """Whether a JSON value looks like a conversation, a project or the memories of Claude."""
    return isinstance(value, dict) and isinstance(_as_conversation(value).get("chat_messages"), list)


def _as_conversation(value: dict[str, Any]) -> dict[str, Any]:
    """A project with its instructions and documents, or what Claude remembers, as a conversation."""
    at: Any = value.get("created_at")
    known: dict[str, Any] = value
    texts: list[tuple[Any, Any, Any]]
    match value:
        case {"docs": list(docs), "uuid": _, "name": _}:
            sender = "human"
            texts = [(name, value.get(name), at) for name in ("description", "prompt_template")]
            for doc in docs:
                match doc:
                    case {"uuid": name, "content": str(text)} if text.strip():
                        shown = f"{doc.get('filename') or ''}\n\n{text}".strip()
                        texts.append((name, shown, doc.get("created_at") or at))
        case {"conversations_memory": text}:
            sender = "assistant"
            known = {"uuid": "memories", "name": "Memories of Claude"}
            projects = value.get("project_memories")
            texts = [("memory", text, at)]
            texts += [(*one, at) for one in projects.items()] if isinstance(projects, dict) else []
        case _:
            return value
    said = [
        {"uuid": name, "text": text, "sender": sender, "created_at": time}
        for name, text, time in texts if text
    ]  # fmt: skip
    return {**known, "chat_messages": said}


def read_claude(value: Any, place: str, tally: Tally, *, tools: bool) -> Conversation:
    """A conversation with its messages in order.

    Of a tree, these are the messages of the branch that ends with the current or newest message.

    Raises:
        ValueError: the value is not a conversation.
    """
    if not is_claude(value):
        raise ValueError("it has no chat_messages")
    value = _as_conversation(value)
    name = value.get("uuid")
    if not isinstance(name, str) or not name:
        name = name_from([value.get("created_at"), *value["chat_messages"][:1]])
    title = value.get("name")
    messages = [message for message in value["chat_messages"] if isinstance(message, dict)]
    tally.add("messages that are no objects", len(value["chat_messages"]) - len(messages))
    shown = _branch(messages, value.get("current_leaf_message_uuid"))
    tally.add(BRANCHES, len(messages) - len(shown))
    return Conversation(
        session=f"claude/{name}",
        title=title.strip() if isinstance(title, str) else "",
        turns=dated(_turns(shown, name, place, tally, tools), tally.time(value.get("created_at")), tally),
    )


def _branch(messages: list[dict[str, Any]], leaf: object) -> list[dict[str, Any]]:
    """The messages of one branch; all of them if they name no parents."""
    by_name = {name: message for message in messages if isinstance(name := message.get("uuid"), str)}
    parents = {
        parent for message in messages if isinstance(parent := message.get("parent_message_uuid"), str)
    }
    if not parents & by_name.keys() or len(by_name) < len(messages):
        return messages
    leaves = [name for name in by_name if name not in parents]
    newest = max(leaves, key=lambda name: str(by_name[name].get("created_at")), default=None)
    node: Any = leaf if isinstance(leaf, str) and leaf in by_name else newest
    found: dict[str, dict[str, Any]] = {}
    while isinstance(node, str) and node in by_name and node not in found:
        found[node] = by_name[node]
        node = by_name[node].get("parent_message_uuid")
    return list(found.values())[::-1]


def _turns(
    messages: list[dict[str, Any]], conversation: str, place: str, tally: Tally, tools: bool
) -> Iterator[Turn]:
    for message in messages:
        tally.fields(message, _KNOWN, "message")
        name, role = message.get("uuid"), role_of_sender(message.get("sender"))
        if role is None:
            tally.add("messages without a sender")
            continue
        name = name if isinstance(name, str) and name else name_from(message)
        text = _text(message, tally, tools).strip()
        if not text:
            tally.add(EMPTY)
            continue
        yield Turn(
            key=f"claude/{conversation}/{name}",
            author=role,
            text=text,
            place=f"{place}, message {name[:60]}",
            role=role,
            at=tally.time(message.get("created_at")),
        )


def _text(message: dict[str, Any], tally: Tally, tools: bool) -> str:
    """The text blocks of a message, and what was pasted: attachments without names of their own."""
    content, text = message.get("content"), message.get("text")
    blocks = list_of(content)
    texts = list(texts_of_blocks(blocks, tally, tools=tools))
    if not texts and not blocks and isinstance(text, str):
        texts = [text]
    attachments = message.get("attachments")
    for attachment in list_of(attachments):
        pasted = attachment.get("extracted_content") if isinstance(attachment, dict) else None
        name = attachment.get("file_name") if isinstance(attachment, dict) else None
        is_pasted = not name or (isinstance(name, str) and _PASTED.fullmatch(name))
        if isinstance(pasted, str) and pasted.strip() and is_pasted:
            texts.append(pasted)
        else:
            tally.add(ATTACHMENTS)
    files = (message.get(field) for field in ("files", "files_v2"))  # files_v2 lists the same ones again
    tally.add(ATTACHMENTS, max(len(list_of(listed)) for listed in files))
    return "\n\n".join(texts)


def texts_of_blocks(
    content: object, tally: Tally, *, tools: bool, said: Callable[[str], str] = str
) -> Iterator[str]:
    """The texts of a message in Anthropic's blocks, or of its one text; other parts are counted.

    Args:
        tools: also calls of tools and their results.
        said: what of a text was said, for programs that add something to it.
    """
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else list_of(content):
        kind = kind_of(block)
        if kind in ("text", "voice_note") and isinstance(block.get("text"), str):
            text = said(block["text"])
            if text.strip():
                yield text
        elif kind in ("tool_use", "tool_result"):
            if tools:
                yield tool_text(block)
            else:
                tally.add(TOOLS)
        elif kind in ("thinking", "redacted_thinking"):
            tally.add(THINKING)
        elif kind == "image":
            tally.add(IMAGES)
        elif kind == "document":
            tally.add(ATTACHMENTS)
        else:
            tally.add(of_type("content", kind))


def tool_text(block: dict[str, Any]) -> str:
    """A tool call or its result in Anthropic's blocks, as text."""
    if block.get("type") == "tool_use":
        return f"[{block.get('name')}] {json.dumps(block.get('input'), ensure_ascii=False)}"
    content = block.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str))
