"""Sessions of coding agents without a reader of their own, as ``{"messages": [...]}`` or messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pgrecall.importers.chat.turns import list_of

_Object = dict[str, Any]
_OTHER_ROLES = ("bashExecution", "branchSummary", "compactionSummary")
"""Of Pi: what is no message."""


def _of_opencode(value: _Object) -> _Object | None:
    """A session that opencode exports: each message has its parts apart from what is known of it."""
    match value:
        case {"info": dict(about), "messages": [{"info": _, "parts": _}, *_] as said}:
            known = {"id": about.get("id"), "title": about.get("title"), "created_at": about.get("time")}
            return {**known, "messages": [_said_in_opencode(one) for one in said]}
    return None


def _said_in_opencode(message: Any) -> Any:
    match message:
        case {"info": dict(about), "parts": parts}:
            own, role = about.get("id"), about.get("role")
            parts = [
                {"type": "synthetic"} if isinstance(one, dict) and one.get("synthetic") else one
                for one in list_of(parts)
            ]
            return {"id": own, "role": role, "content": parts, "timestamp": about.get("time")}
    return message


def _of_events(value: _Object) -> _Object | None:
    """A line that tells what happened: of ``codex exec --json``, ``opencode run``, Kimi or Goose."""
    match value:
        case {"type": "text", "sessionID": _, "part": {"type": "text", "text": text, "id": own}}:
            return {"id": own, "role": "assistant", "content": text, "timestamp": value.get("timestamp")}
        case {"type": "item.completed", "item": {"type": "agent_message", "text": text} as item}:
            return {"id": item.get("id"), "role": "assistant", "content": text}
        case {"type": "context.append_message", "message": {"role": role, "content": content} as said}:
            origin = said.get("origin")
            if role == "user" and isinstance(origin, dict) and origin.get("kind") != "user":
                return None
            return {"role": role, "content": content, "timestamp": value.get("time")}
        case {"type": "context.append_loop_event", "event": {"type": "content.part", "part": part}}:
            return {"role": "assistant", "content": part, "timestamp": value.get("time")}
        case {"message": {"type": str(kind), "payload": _}}:
            return {"type": kind}
        case {"working_dir": _} if "role" not in value:  # the first line of Goose
            return {"type": "session"}
        case {"role": "_checkpoint" | "_usage" | "_system_prompt" as kind}:
            return {"type": kind}
    return None


def _of_agent(value: _Object) -> _Object | None:
    """A line of OpenClaw, Pi or Droid, which has a message or a text, or of Grok, whose type is the role."""
    kind, said = value.get("type"), value.get("message")
    if kind == "message" and isinstance(said, dict) and "role" in said:
        if said["role"] in _OTHER_ROLES:
            return {"type": said["role"]}
        given = {name: value[name] for name in ("id", "timestamp") if name in value}
        return {name: said[name] for name in ("role", "content") if name in said} | given
    if kind == "message" and "role" in value and "text" in value and "content" not in value:
        rest = {name: field for name, field in value.items() if name != "text"}
        return rest | {"content": value["text"]}
    is_role = kind in ("user", "assistant", "system", "tool_result") and "role" not in value
    return {"role": kind, "content": value["content"]} if is_role and "content" in value else None


def _of_langchain(value: _Object) -> _Object | None:
    """A message as LangChain writes it: with its data, or as what it is constructed from."""
    match value:
        case {"type": "human" | "ai" | "system" | "tool" as role, "data": {"content": content} as said}:
            return {"id": said.get("id"), "role": role, "content": content}
        case {"lc": _, "id": [*_, str(name)], "kwargs": {"content": content} as said} if "Message" in name:
            role = name.partition("Message")[0].casefold()
            return {"id": said.get("id"), "role": role, "content": content}
    return None


AGENT_FORMS: Sequence[Callable[[_Object], _Object | None]] = (
    _of_opencode, _of_events, _of_agent, _of_langchain,
)  # fmt: skip
