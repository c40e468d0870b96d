"""Session files of Codex: JSON Lines with the metadata of the session, then its items."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any

from pgrecall.importers.chat.turns import (
    ADDED,
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
from pgrecall.importers.chat.typed import without_tags
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
    r"|user_shell_command|skill|collaboration_mode|model_switch|hook_prompt|recommended_plugins"
    r"|subagent_notification)>|# AGENTS\.md instructions)"
)
_ABOVE = re.compile(
    r"\s*# (?:Context from my IDE setup|Files mentioned by the user):.*?^## My request for Codex:[ \t\r]*$",
    re.DOTALL | re.MULTILINE,
)
"""What the editor puts above a question: the open and the attached files."""

_ONLY_IN_ITEMS = ("oai-mem-citation", "proposed_plan")
"""Tags in the text of an item that its event has not."""

_OF_IMAGE = re.compile(r"\s*</?image\b[^<>]{0,200}>\s*")
"""What stands around a picture."""

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
    """The turns of a session: its items, and what only its events tell.

    Most versions write a message as an item and as an event, some as only one of both. An event is left out
    if an item, or an event of another type, has its text. Each stands for one event of a type.
    """
    git = meta.get("git")
    branch = git.get("branch") if isinstance(git, dict) else None
    kept = {PROJECT: meta.get("cwd"), "branch": branch}
    metadata = {key: text for key, text in kept.items() if isinstance(text, str) and text}
    read = partial(_turn, session=session, metadata=metadata, tally=tally, tools=tools)
    found: list[Turn | tuple[str, Any, dict[str, Any]]] = []
    said: Counter[object] = Counter()
    heard: Counter[object] = Counter()
    for place, value in values:
        item = _item(value)
        if item is None and (event := _event(value)) is not None:
            found.append((place, value, event))
        elif item is None:
            known = is_codex(value) or (isinstance(value, dict) and _is_of_record(value))
            tally.add(BOOKKEEPING if known else of_type("lines", kind_of(value)))
        elif (turn := read(place, value, item)) is not None:
            found.append(turn)
            said[_spoken(turn.author, turn.text)] += 1
    for one in found:
        if isinstance(one, Turn):
            yield one
            continue
        text, kind = _spoken(*_message(one[2], Tally(), tools)), kind_of(one[1]["payload"])
        heard[kind, text] += 1
        if heard[kind, text] <= said[text]:
            tally.add(BOOKKEEPING)
            continue
        said[text] += 1
        if (turn := read(*one)) is not None:
            yield turn


def _spoken(role: str | None, text: str) -> object:
    """What is equal for an item and an event of one message: white space may differ."""
    return role, "".join(without_tags(text, _ONLY_IN_ITEMS)[0].split())


def _turn(
    place: str,
    value: Any,
    item: dict[str, Any],
    *,
    session: str,
    metadata: dict[str, Any],
    tally: Tally,
    tools: bool,
) -> Turn | None:
    """The turn of an item in a line; None if it is left out."""
    role, text = _message(item, tally, tools)
    if role is None:
        return None
    return Turn(
        key=f"{session}/{place.removeprefix('line ')}",
        author=role,
        text=text,
        place=place,
        role=role_of_sender(role),
        at=tally.time(value.get("timestamp") or item.get("timestamp")),
        metadata=metadata,
    )


def _event(value: Any) -> dict[str, Any] | None:
    """The message that an event tells of; None for any other line."""
    match value.get("payload") if kind_of(value) == "event_msg" else None:
        case {"type": "user_message", "message": str(content)}:
            role = "user"
        case {"type": "agent_message", "message": str(content)}:
            role = "assistant"
        case {"type": "item_completed", "item": {"type": "UserMessage", "content": content}}:
            role = "user"
        case {"type": "item_completed", "item": {"type": "AgentMessage", "content": content}}:
            role = "assistant"
        case _:
            return None
    return {"type": "message", "role": role, "content": content}


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
        text = "\n".join(_texts(item.get("content"), tally))
        above = _ABOVE.match(text) if role == "user" else None
        text = (text[above.end() :] if above else text).strip()
        if role == "system":
            tally.add(SYSTEM)
        elif role is None:
            tally.add("messages without role")
        elif role == "user" and _ADDED.match(text):
            tally.add(HIDDEN)
        elif not text:
            tally.add(EMPTY)
        else:
            tally.add(ADDED, above is not None)
            return role, text
    return None, ""


def _texts(content: object, tally: Tally) -> Iterator[str]:
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for part in parts if isinstance(parts, list) else ():
        kind = kind_of(part).casefold()
        text = part.get("refusal" if kind == "refusal" else "text") if isinstance(part, dict) else None
        if kind in ("text", "input_text", "output_text", "refusal") and isinstance(text, str):
            if not _OF_IMAGE.fullmatch(text):
                yield text
        elif kind == "input_image":
            tally.add(IMAGES)
        else:
            tally.add(of_type("content", kind))


def _tool_text(item: dict[str, Any]) -> str:
    kept = {name: value for name, value in item.items() if name not in ("type", "id", "call_id", "status")}
    output = kept.get("output")
    return output if isinstance(output, str) and output.strip() else json.dumps(kept, ensure_ascii=False)
