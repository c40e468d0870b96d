"""Transcripts of VS Code's agent (Copilot): JSON Lines, one event each with an id, a time and its data.

The files of its chats begin with the state of a chat, and go on with what changed in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from pgrecall.importers.chat.messages import read_messages
from pgrecall.importers.chat.other_forms import of_requests
from pgrecall.importers.chat.turns import (
    ATTACHMENTS,
    BOOKKEEPING,
    EMPTY,
    THINKING,
    TOOLS,
    Conversation,
    Tally,
    Turn,
    dated,
    kind_of,
    name_from,
    of_type,
    role_of_sender,
)
from pgrecall.nouns.imports.report import Problem
from pgrecall.nouns.memories.models import PROJECT

_ROLES = {"user.message": "user", "assistant.message": "assistant", "tool.execution_complete": "tool"}
_BOOKKEEPING = frozenset({
    "session.start", "assistant.turn_start", "assistant.turn_end", "assistant.usage", "tool.execution_start",
})  # fmt: skip


def is_vscode(value: object) -> bool:
    """Whether a line looks like one of a transcript of VS Code, or the first one of a chat."""
    return _is_event(value) or _state(value) is not None


def _state(line: object) -> dict[str, Any] | None:
    """The chat in its first line; None for any other line."""
    state = line.get("v") if isinstance(line, dict) and line.get("kind") == 0 else None
    return state if isinstance(state, dict) and isinstance(state.get("requests"), list) else None


def _is_event(value: object) -> bool:
    kind = value.get("type") if isinstance(value, dict) else None
    known = isinstance(kind, str) and (kind in _ROLES or kind in _BOOKKEEPING)
    return known and isinstance(value, dict) and isinstance(value.get("data"), dict) and "parentId" in value


def read_vscode(
    values: Iterable[tuple[str, Any]], name: str, tally: Tally, *, tools: bool
) -> Iterator[Conversation]:
    """The session in a file called ``name``, with its turns in the order of the file."""
    rest = iter(values)
    head = next(rest, None)
    if head is None:
        return
    state = _state(head[1])
    if state is not None:
        yield from _chat(state, rest, name, tally)
        return
    data = head[1].get("data") if _is_event(head[1]) else None
    meta = data if isinstance(data, dict) else {}
    own = meta.get("sessionId")
    session = f"vscode/{own if isinstance(own, str) and own else name}"
    turns = _turns(chain([head], rest), session, _project(meta), tally, tools)
    yield Conversation(session, dated(turns, tally.time(meta.get("startTime")), tally))


def _chat(
    state: dict[str, Any], changes: Iterable[tuple[str, Any]], name: str, tally: Tally
) -> Iterator[Conversation]:
    """The chat as it was last."""
    for _, change in changes:
        tally.add("changes that are not understood", not _changed(state, change))
    own = state.get("sessionId")
    problems: list[Problem] = []
    chat = of_requests({"responderUsername": "", **state})
    session = f"vscode/{own if isinstance(own, str) and own else name}"
    for found in read_messages([("message 1", chat)], session, tally, problems, tools=False):
        yield replace(found, session=session)
    tally.add("requests that cannot be read", len(problems) + (chat is None))


def _changed(state: dict[str, Any], change: Any) -> bool:
    """Makes a change: 1 sets what is at a path, 2 appends to the list there, after it was cut; whether it
    could be made."""
    try:
        *path, last = change["k"]
        place: Any = state
        for step in path:
            place = place[step]
        if change["kind"] == 1:
            place[last] = change.get("v")
        elif change["kind"] == 2:
            held = place[last]
            held[change.get("i", len(held)) :] = change.get("v") or []
        return change["kind"] in (1, 2)
    except (LookupError, TypeError, ValueError):
        return False


def _project(meta: dict[str, Any]) -> dict[str, Any]:
    context = meta.get("context")
    folder = context.get("cwd") if isinstance(context, dict) else None
    return {PROJECT: folder} if isinstance(folder, str) and folder else {}


def _turns(
    values: Iterable[tuple[str, Any]], session: str, metadata: dict[str, Any], tally: Tally, tools: bool
) -> Iterator[Turn]:
    for place, value in values:
        kind = kind_of(value)
        if not _is_event(value) or kind in _BOOKKEEPING:
            tally.add(BOOKKEEPING if kind in _BOOKKEEPING else of_type("lines", kind))
            continue
        own = value.get("id")
        own = own if isinstance(own, str) and own else name_from(value)
        text = _text(kind, value["data"], tally, tools)
        if text:
            yield Turn(
                key=f"{session}/{own}",
                author=_ROLES[kind],
                text=text,
                place=place,
                role=role_of_sender(_ROLES[kind]),
                at=tally.time(value.get("timestamp")),
                metadata=metadata,
            )


def _text(kind: str, data: dict[str, Any], tally: Tally, tools: bool) -> str:
    """The text of an event; other parts are counted."""
    if kind == "tool.execution_complete":
        result = data.get("result")
        text = result.get("content") if isinstance(result, dict) else None
        if tools and isinstance(text, str):
            return text.strip()
        tally.add(TOOLS, not tools)
        return ""
    content, calls, files = (data.get(name) for name in ("content", "toolRequests", "attachments"))
    calls = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    tally.add(ATTACHMENTS, len(files) if isinstance(files, list) else 0)
    tally.add(THINKING, bool(data.get("reasoningText")))
    texts = [content.strip()] if isinstance(content, str) else []
    if tools:
        texts += [f"[{call.get('name')}] {json.dumps(call.get('arguments'))}" for call in calls]
    else:
        tally.add(TOOLS, len(calls))
    text = "\n\n".join(filter(None, texts))
    tally.add(EMPTY, not text and not calls)
    return text
