"""Conversations of a ChatGPT export. Each is a tree of messages; only the branch shown last is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pgrecall.importers.chat.turns import (
    ATTACHMENTS,
    BRANCHES,
    EMPTY,
    HIDDEN,
    IMAGES,
    SOUNDS,
    SYSTEM,
    THINKING,
    TOOLS,
    Conversation,
    Tally,
    Turn,
    dated,
    kind_of,
    list_of,
    name_from,
    role_of_sender,
    shown_branch,
)

_KNOWN = frozenset({
    "id", "author", "create_time", "update_time", "content", "status", "end_turn", "weight", "metadata",
    "recipient", "channel",
})  # fmt: skip
_THOUGHTS = frozenset({"thoughts", "reasoning_recap"})
_HIDDEN = frozenset({"user_editable_context", "model_editable_context"})
_TOOLS = frozenset({
    "execution_output", "tether_quote", "tether_browsing_display", "tether_browsing_code", "system_error",
    "computer_output",
})  # fmt: skip
_MARKS = re.compile("\ue200[^\ue200\ue201]*\ue201")
"""Marks of citations and widgets, which mean nothing outside of ChatGPT."""


def is_chatgpt(value: object) -> bool:
    """Whether a JSON value looks like a conversation of ChatGPT."""
    mapping = value.get("mapping") if isinstance(value, dict) else None
    return isinstance(mapping, dict) and not any(map(_has_fragments, mapping.values()))


def _has_fragments(node: object) -> bool:
    """Whether it is a node of DeepSeek, whose messages are in fragments."""
    message = node.get("message") if isinstance(node, dict) else None
    return isinstance(message, dict) and "fragments" in message


def read_chatgpt(value: Any, place: str, tally: Tally, *, tools: bool) -> Conversation:
    """A conversation with the turns from the first message to ``current_node``.

    Raises:
        ValueError: the value is not a conversation.
    """
    if not is_chatgpt(value):
        raise ValueError("it has no mapping of messages")
    names = (value.get("conversation_id"), value.get("id"))
    own = [one for one in names if isinstance(one, str) and one]
    name = own[0] if own else name_from([value.get("create_time"), first_message(value["mapping"])])
    title = value.get("title")
    mapping: dict[str, Any] = value["mapping"]
    path = shown_branch(mapping, value.get("current_node"), "parent", "children", _seconds)
    tally.add(BRANCHES, sum(_is_shown(mapping[node]) for node in mapping.keys() - set(path)))
    messages = ((node, mapping[node].get("message")) for node in path)
    found = (
        _turn({**message, "id": message.get("id") or node}, name, place, tally, tools)
        for node, message in messages
        if isinstance(message, dict)
    )
    return Conversation(
        session=f"chatgpt/{name}",
        title=title.strip() if isinstance(title, str) else "",
        turns=dated((turn for turn in found if turn), tally.time(value.get("create_time")), tally),
    )


def first_message(mapping: dict[str, Any]) -> Any:
    """The first message of a conversation, which stays as it is when others are added."""
    messages = (node.get("message") for node in mapping.values() if isinstance(node, dict))
    return next((message for message in messages if message), None)


def _seconds(node: dict[str, Any]) -> float:
    """The time of a node's message."""
    message = node.get("message")
    at = message.get("create_time") if isinstance(message, dict) else None
    return float(at) if isinstance(at, int | float) else 0.0


def _is_shown(node: object) -> bool:
    """Whether a node holds a message that a person saw."""
    message = node.get("message") if isinstance(node, dict) else None
    author = message.get("author") if isinstance(message, dict) else None
    return isinstance(author, dict) and author.get("role") in ("user", "assistant")


def _turn(message: dict[str, Any], conversation: str, place: str, tally: Tally, tools: bool) -> Turn | None:
    tally.fields(message, _KNOWN, "message")
    raw_author, raw_metadata = message.get("author"), message.get("metadata")
    author = raw_author if isinstance(raw_author, dict) else {}
    metadata = raw_metadata if isinstance(raw_metadata, dict) else {}
    content = message.get("content")
    name = message.get("id")
    role = role_of_sender(author.get("role"))
    if role is None or not isinstance(name, str) or not isinstance(content, dict):
        tally.add("messages without role, id or content")
        return None
    if reason := _left_out(message, role, kind_of(content, "content_type"), metadata, tools):
        tally.add(reason)
        return None
    attachments = metadata.get("attachments")
    tally.add(ATTACHMENTS, len(list_of(attachments)))
    text = _MARKS.sub("", _text(content, tally)).strip()
    if not text:
        tally.add(EMPTY)
        return None
    tool = _tool(message, author, role)
    kept = {"model": metadata.get("model_slug"), "tool": tool}
    return Turn(
        key=f"chatgpt/{conversation}/{name}",
        author=tool if role == "tool" and isinstance(tool, str) and tool else role,
        text=text,
        place=f"{place}, message {name[:60]}",
        role=role,
        at=tally.time(message.get("create_time")),
        metadata={key: text for key, text in kept.items() if isinstance(text, str) and text},
    )


def _left_out(
    message: dict[str, Any], role: str, kind: str, metadata: dict[str, Any], tools: bool
) -> str | None:
    """Why a message is not a turn; None if it is one."""
    if role == "system":
        return SYSTEM
    if kind in _HIDDEN or metadata.get("is_visually_hidden_from_conversation"):
        return HIDDEN
    if kind in _THOUGHTS or message.get("channel") == "analysis":
        return THINKING
    calls = role == "assistant" and message.get("recipient") not in (None, "all")
    return TOOLS if not tools and (role == "tool" or calls or kind in _TOOLS) else None


def _tool(message: dict[str, Any], author: dict[str, Any], role: str) -> object:
    if role == "tool":
        return author.get("name")
    return message.get("recipient") if message.get("recipient") != "all" else None


def _text(content: dict[str, Any], tally: Tally) -> str:
    """The text of a message; other parts are counted."""
    kind, parts, text = kind_of(content, "content_type"), content.get("parts"), content.get("text")
    if kind == "code" and isinstance(text, str):
        language = content.get("language")
        return f"```{language if isinstance(language, str) and language != 'unknown' else ''}\n{text}\n```"
    if (kind in ("text", "multimodal_text") or "content_type" not in content) and isinstance(parts, list):
        return "\n".join(_parts(parts, tally))
    if kind in _TOOLS:
        found = (content.get(field) for field in ("title", "url", "text", "result", "summary"))
        return "\n".join(one for one in found if isinstance(one, str) and one)
    tally.add(f"messages of content type {kind[:40]!r}")
    return ""


def _parts(parts: list[Any], tally: Tally) -> Iterator[str]:
    for part in parts:
        kind = kind_of(part, "content_type")
        has_text = isinstance(part, dict) and kind in ("audio_transcription", "text", "None")
        text = part.get("text") if has_text else part
        if isinstance(text, str):
            yield text
        elif kind == "image_asset_pointer" or kind_of(part) == "image":
            tally.add(IMAGES)
        elif "audio" in kind or "video" in kind:
            tally.add(SOUNDS)
        else:
            tally.add(f"parts of content type {kind[:40]!r}")
