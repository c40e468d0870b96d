"""Chats of other programs in their own words, as ``{"messages": [{role, content}]}``.

ShareGPT names senders ``from`` and texts ``value``; Gemini CLI saves chats as a list of ``{role, parts}``;
VS Code exports a chat as a list of ``requests``, each with its response.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pgrecall.importers.chat.turns import list_of


def as_messages(value: Any) -> Any:
    """A conversation or a message of these programs in the usual form; anything else as it is."""
    if not isinstance(value, dict):
        return value
    if "role" in value and "content" not in value and isinstance(value.get("parts"), list):
        rest = {name: field for name, field in value.items() if name != "parts"}
        return rest | {"content": [_typed(part) for part in value["parts"] if not _is_call(part)]}
    said = list_of(value.get("conversations"))
    if said and all(isinstance(one, dict) and {"from", "value"} <= one.keys() for one in said):
        rest = {name: field for name, field in value.items() if name != "conversations"}
        return rest | {"messages": [_renamed(one) for one in said]}
    asked = list_of(value.get("requests"))
    if "responderUsername" in value and all(isinstance(one, dict) for one in asked):
        return {"messages": [turn for one in asked for turn in _asked(one)]}
    return value


def _is_call(part: Any) -> bool:
    return isinstance(part, dict) and bool(part.keys() & {"functionCall", "functionResponse", "thought"})


def _typed(part: Any) -> Any:
    return part | {"type": "text"} if isinstance(part, dict) and "text" in part else part


def _renamed(one: dict[str, Any]) -> dict[str, Any]:
    rest = {name: field for name, field in one.items() if name not in ("from", "value")}
    return rest | {"role": one["from"], "content": one["value"]}


def _asked(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What a person asked and was answered, in VS Code. Parts with a kind are progress and tools."""
    own, at, message = (request.get(name) for name in ("requestId", "timestamp", "message"))
    text = message.get("text") if isinstance(message, dict) else message
    parts = [part for part in list_of(request.get("response")) if isinstance(part, dict)]
    answer = "".join(
        part["value"]
        for part in parts
        if isinstance(part.get("value"), str) and part.get("kind") in (None, "markdownContent")
    )
    ids = {"user": f"{own}-request", "assistant": f"{own}-response"} if isinstance(own, str) and own else {}
    for role, content in (("user", text), ("assistant", answer)):
        named = {"id": ids[role]} if ids else {}
        yield named | {"role": role, "content": content, "timestamp": at}
