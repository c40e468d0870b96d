"""Lists of ``{role, content}``, with or without times, and OpenAI's ``{"messages": [...]}``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from pgrecall.importers.chat.other_forms import as_messages
from pgrecall.importers.chat.turns import (
    ATTACHMENTS,
    BRANCHES,
    EMPTY,
    IMAGES,
    SOUNDS,
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
from pgrecall.importers.chat.typed import typed
from pgrecall.importers.draft_checks import required_text
from pgrecall.nouns.imports.report import Problem
from pgrecall.nouns.memories.models import Role

_TIMES = ("timestamp", "created_at", "create_time", "createdAt", "created", "time", "date", "ts")

_SESSIONS = (
    "session_id",
    "conversation_id",
    "thread_id",
    "sessionId",
    "conversationId",
    "threadId",
    "chat_id",
)
_KNOWN = frozenset({
    "id", "role", "content", "text", "name", "tool_calls", "tool_call_id", "function_call", "refusal", "type",
    *_SESSIONS, *_TIMES,
})  # fmt: skip
_CONVERSATION = frozenset({
    "messages", "id", "title", "name", "model", "tools", "functions", "metadata", "branches", *_TIMES,
})  # fmt: skip
_THOUGHTS = ("think", "thinking", "reasoning")
_TEXTS = ("text", "input_text", "output_text", "refusal")
_THOUGHT = re.compile(
    r"(?:\s*+(?:<(think|thinking)>.*?</\1>|<details(?=[^<>]{0,200}\btype=\"reasoning\").*?</details>))++",
    re.DOTALL,
)
"""What a model that runs at home thinks, as Ollama and Open WebUI write it before its answer."""


def is_message(value: object) -> bool:
    """Whether a JSON value looks like a message."""
    value = as_messages(value)
    return isinstance(value, dict) and "role" in value and ("content" in value or "tool_calls" in value)


def is_messages(value: object) -> bool:
    """Whether a JSON value looks like an object with a list of messages."""
    value = as_messages(value)
    messages = value.get("messages") if isinstance(value, dict) else None
    return isinstance(messages, list) and any(
        isinstance(message, dict) and "role" in message for message in messages
    )


def read_messages(
    values: Iterable[tuple[str, Any]], name: str, tally: Tally, problems: list[Problem], *, tools: bool
) -> Iterator[Conversation]:
    """The conversations in a file called ``name``: its messages as one, or one for each list of messages.

    Args:
        values: messages or objects with ``messages``, each with its place, such as ``message 1``.
        problems: where messages that cannot be used are added, with the place as ``where``.
    """
    loose: list[tuple[str, Any]] = []
    whole = 0
    for number, (place, given) in enumerate(values, start=1):
        value = as_messages(given)
        if is_messages(value):
            whole += 1
            yield _conversation(value, name, number, place, tally, problems, tools)
        else:
            loose.append((place, value))
    yield from _sessions(loose, f"{name}#messages" if whole else name, tally, problems, tools)


def _sessions(
    values: Iterable[tuple[str, Any]], name: str, tally: Tally, problems: list[Problem], tools: bool
) -> Iterator[Conversation]:
    """The conversations of a list of messages: one for each session that they name, as they begin."""
    held: dict[str, list[tuple[str, Any]]] = {}
    for place, value in values:
        known = value if isinstance(value, dict) else {}
        given = next((known[field] for field in _SESSIONS if known.get(field)), None)
        session = f"{name}/{given}" if isinstance(given, str | int) and str(given).strip() else name
        held.setdefault(session, []).append((place, value))
    for session, messages in held.items():
        turns = _turns(_oldest_first(messages), session, tally, problems, tools)
        yield Conversation(session, dated(turns, None, tally))


def _oldest_first(messages: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The messages in their order: services list the newest first, each with its time."""
    reads = Tally()
    times = [reads.time(_time(message)) if isinstance(message, dict) else None for _, message in messages]
    known = [time for time in times if time is not None]
    turned = len(known) == len(messages) and all(later >= at for later, at in pairwise(known))
    return messages[::-1] if turned and known[:1] != known[-1:] else messages


def _conversation(
    value: dict[str, Any],
    name: str,
    number: int,
    place: str,
    tally: Tally,
    problems: list[Problem],
    tools: bool,
) -> Conversation:
    tally.fields(value, _CONVERSATION, "conversation")
    branches = value.get("branches")
    tally.add(BRANCHES, branches if type(branches) is int else 0)
    own, title = value.get("id"), value.get("title") or value.get("name")
    session = f"{name}/{own}" if isinstance(own, str) and own else name if number == 1 else f"{name}#{number}"
    before = "" if place == "message 1" else f"{place}, "
    messages = [(f"{before}message {index}", one) for index, one in enumerate(value["messages"], start=1)]
    began_at = tally.time(_time(value))
    turns = _turns(_oldest_first(messages), session, tally, problems, tools)
    return Conversation(
        session, dated(turns, began_at, tally), title=title.strip() if isinstance(title, str) else ""
    )


def _turns(
    values: Iterable[tuple[str, Any]], session: str, tally: Tally, problems: list[Problem], tools: bool
) -> Iterator[Turn]:
    for index, (place, value) in enumerate(values, start=1):
        try:
            turn = _turn(value, session, index, place, tally, tools)
        except ValueError as error:
            problems.append(Problem(place, str(error)))
        else:
            if turn is not None:
                yield turn


def _turn(value: Any, session: str, index: int, place: str, tally: Tally, tools: bool) -> Turn | None:
    """The turn of a message; None if it is left out. Raises ValueError if it cannot be used."""
    value = as_messages(value)
    if not isinstance(value, dict):
        raise ValueError("must be an object")
    kind = kind_of(value)
    if "role" not in value and kind != "None" and (value.get("content") is None or kind != "message"):
        tally.add(of_type("lines", kind))
        return None
    speaker = required_text(value.get("role"), "role")
    role = role_of_sender(speaker)
    tally.fields(value, _KNOWN, "message")
    calls = value.get("tool_calls") or value.get("function_call")
    content = value.get("content", value.get("text"))
    if content is None and "content" not in value and not calls:
        raise ValueError("content is missing")
    if content in (None, "", []):  # OpenAI's is null where the model calls a tool or refuses
        content = value.get("refusal")
    content = _own_words(_content(content, tally), role, tally)
    empty = content is None or (isinstance(content, str) and not content.strip())
    if empty and not calls:
        tally.add(EMPTY)
        return None
    texts = [] if empty else [required_text(content, "content")]
    if calls or role == "tool":
        if not tools:
            tally.add(TOOLS)
            if role == "tool" or not texts:
                return None
        elif calls:
            texts.append(json.dumps(calls, ensure_ascii=False))
    own, name = value.get("id"), value.get("name")
    return Turn(
        key=f"{session}/{own if isinstance(own, str) and own else index}",
        author=name if isinstance(name, str) and name.strip() else speaker,
        text="\n".join(texts),
        place=place,
        role=role,
        at=tally.time(_time(value)),
    )


def _time(value: dict[str, Any]) -> object:
    """The first field for a time that is not empty; None if all are."""
    return next((value[field] for field in _TIMES if value.get(field) not in (None, "")), None)


def _own_words(content: object, role: Role | None, tally: Tally) -> object:
    """A text without what a model thought before it, or a program added to what a person typed."""
    if not isinstance(content, str):
        return content
    content = typed(content, role, tally)
    if role != "assistant" or (thought := _THOUGHT.match(content)) is None:
        return content
    tally.add(THINKING)
    return content[thought.end() :]


def _content(content: object, tally: Tally) -> object:
    """The content if it is a text, or the texts of its parts."""
    content = content.get("parts", [content]) if isinstance(content, dict) else content
    if not isinstance(content, list):
        return content
    texts = []
    for part in content:
        kind = kind_of(part) if isinstance(part, dict) else ""
        text = (
            next((part.get(field) for field in ("text", "refusal") if part.get(field)), None)
            if kind
            else part
        )
        text = text.get("value") if isinstance(text, dict) else text  # in OpenAI's threads
        if kind in (*_TEXTS, "None", "") and isinstance(text, str):
            texts.append(text)
        elif "image" in kind:
            tally.add(IMAGES)
        elif kind in _THOUGHTS:
            tally.add(THINKING)
        elif "tool" in kind.casefold():
            tally.add(TOOLS)
        elif "audio" in kind or "video" in kind:
            tally.add(SOUNDS)
        elif "file" in kind or kind == "document":
            tally.add(ATTACHMENTS)
        else:
            tally.add(of_type("parts", kind))
    return "\n".join(texts)
