"""Session files of Codex: JSON Lines with the metadata of the session, then its items."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from pgrecall.importers.chat.turns import (
    BOOKKEEPING,
    EMPTY,
    HIDDEN,
    IMAGES,
    SYSTEM,
    THINKING,
    TOOLS,
    Conversation,
    Tally,
    Turn,
    dated,
    kind_of,
    of_type,
    role_of_sender,
)
from pgrecall.nouns.memories.models import PROJECT

_LINES = frozenset({
    "session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state",
    "token_usage_record",
})  # fmt: skip
_CALLS = frozenset({
    "function_call", "local_shell_call", "custom_tool_call", "web_search_call", "mcp_tool_call",
    "image_generation_call", "tool_search_call",
})  # fmt: skip
_RESULTS = frozenset({
    "function_call_output", "custom_tool_call_output", "local_shell_call_output", "mcp_tool_call_output",
    "tool_search_output",
})  # fmt: skip
_BOOKKEEPING = frozenset({"ghost_snapshot", "compaction", "compaction_summary", "other"})
_ADDED = re.compile(
    r"\s*(<(environment_context|user_instructions|INSTRUCTIONS|permissions instructions|turn_aborted"
    r"|user_shell_command|skill|collaboration_mode|model_switch)>|# AGENTS\.md instructions)"
)
_FILE = re.compile(r"rollout-[0-9T-]{19}-(.+)")


def is_codex(value: object) -> bool:
    """Whether a line looks like one of a session of Codex; older files begin with an object without type."""
    if not isinstance(value, dict):
        return False
    if kind_of(value) in _LINES:
        return isinstance(value.get("payload"), dict)
    return "type" not in value and {"id", "timestamp", "instructions"} <= value.keys()


def read_codex(
    values: Iterable[tuple[str, Any]], name: str, tally: Tally, *, tools: bool
) -> Iterator[Conversation]:
    """The session in a file called ``name``, with its messages in the order of the file.

    The key of a turn ends with the number of its line, since messages have no ids and files only grow.
    """
    rest = iter(values)
    head = next(rest, None)
    if head is None:
        return
    meta = _meta(head[1])
    found = _FILE.fullmatch(name)
    session = meta.get("id") if isinstance(meta.get("id"), str) else found[1] if found else name
    turns = _turns(chain([head], rest), f"codex/{session}", meta, tally, tools)
    yield Conversation(f"codex/{session}", dated(turns, tally.time(meta.get("timestamp")), tally))


def _meta(head: Any) -> dict[str, Any]:
    payload = head.get("payload", head) if isinstance(head, dict) and is_codex(head) else {}
    return payload if isinstance(payload, dict) else {}


def _turns(
    values: Iterable[tuple[str, Any]], session: str, meta: dict[str, Any], tally: Tally, tools: bool
) -> Iterator[Turn]:
    git = meta.get("git")
    branch = git.get("branch") if isinstance(git, dict) else None
    kept = {PROJECT: meta.get("cwd"), "branch": branch}
    metadata = {key: text for key, text in kept.items() if isinstance(text, str) and text}
    for place, value in values:
        item = _item(value)
        if item is None:
            known = is_codex(value) or (isinstance(value, dict) and _is_of_record(value))
            tally.add(BOOKKEEPING if known else of_type("lines", kind_of(value)))
            continue
        role, text = _message(item, tally, tools)
        if role is not None:
            yield Turn(
                key=f"{session}/{place.removeprefix('line ')}",
                author=role,
                text=text,
                place=place,
                role=role_of_sender(role),
                at=tally.time(value.get("timestamp") or item.get("timestamp")),
                metadata=metadata,
            )


def _is_of_record(value: dict[str, Any]) -> bool:
    """Whether a line belongs to no turn: a state, or in ``history.jsonl`` a question again."""
    return "record_type" in value or {"session_id", "ts", "text"} <= value.keys()


def _item(value: Any) -> dict[str, Any] | None:
    """The item of a line; older files have it without ``payload``."""
    if not isinstance(value, dict):
        return None
    if value.get("type") == "response_item":
        payload = value.get("payload")
        return payload if isinstance(payload, dict) else None
    bare = isinstance(value.get("type"), str) and value["type"] not in _LINES and "payload" not in value
    return value if bare else None


def _message(item: dict[str, Any], tally: Tally, tools: bool) -> tuple[str | None, str]:
    """The role and text of an item; no role if it is left out."""
    kind = kind_of(item) if "type" in item or "role" not in item else "message"
    if kind in _CALLS | _RESULTS:
        if tools:
            return ("assistant" if kind in _CALLS else "tool"), _tool_text(item)
        tally.add(TOOLS)
    elif kind == "reasoning":
        tally.add(THINKING)
    elif kind != "message":
        tally.add(BOOKKEEPING if kind in _BOOKKEEPING else of_type("items", kind))
    else:
        role = role_of_sender(item.get("role"))
        text = "\n".join(_texts(item.get("content"), tally)).strip()
        if role == "system":
            tally.add(SYSTEM)
        elif role is None:
            tally.add("messages without role")
        elif role == "user" and _ADDED.match(text):
            tally.add(HIDDEN)
        elif not text:
            tally.add(EMPTY)
        else:
            return role, text
    return None, ""


def _texts(content: object, tally: Tally) -> Iterator[str]:
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for part in parts if isinstance(parts, list) else ():
        kind = kind_of(part)
        if kind in ("text", "input_text", "output_text") and isinstance(part.get("text"), str):
            yield part["text"]
        elif kind == "input_image":
            tally.add(IMAGES)
        else:
            tally.add(of_type("content", kind))


def _tool_text(item: dict[str, Any]) -> str:
    kept = {name: value for name, value in item.items() if name not in ("type", "id", "call_id", "status")}
    output = kept.get("output")
    return output if isinstance(output, str) and output.strip() else json.dumps(kept, ensure_ascii=False)
