"""Session files of Gemini CLI: one JSON object with the messages, or JSON Lines that only grow."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from pgrecall.importers.chat.turns import (
    ADDED,
    ATTACHMENTS,
    BRANCHES,
    EMPTY,
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
from pgrecall.importers.chat.typed import without_tags

NOTICES = "notices of the program"

_ADDED = ("hook_context", "session_context")
"""What hooks and the program itself add to a user's message, or send as one."""

_TYPES = {"user": "user", "gemini": "assistant", "model": "assistant"}
_NOTICES = frozenset({"info", "error", "warning"})
_META = frozenset({"sessionId", "projectHash"})


def is_gemini(value: object) -> bool:
    """Whether a value looks like a session of Gemini CLI, or the first line of one."""
    return isinstance(value, dict) and value.keys() >= _META and "type" not in value


def read_gemini(
    values: Iterable[tuple[str, Any]], name: str, tally: Tally, *, tools: bool
) -> Iterator[Conversation]:
    """The session in a file called ``name``.

    A line with the id of an earlier one replaces it, and a rewound one is left out.
    """
    session, title, began_at = name, "", None
    held: dict[str, tuple[str, dict[str, Any]]] = {}
    unnamed: Counter[str] = Counter()
    for place, value in values:
        if not isinstance(value, dict):
            tally.add(of_type("lines", kind_of(value)))
            continue
        if isinstance(value.get("$rewindTo"), str):
            _rewind(held, value["$rewindTo"], tally)
            continue
        meta = value["$set"] if isinstance(value.get("$set"), dict) else value
        if meta is value and not is_gemini(value):
            _hold(held, value, place, tally, unnamed)
            continue
        session = meta["sessionId"] if isinstance(meta.get("sessionId"), str) else session
        title = meta["summary"].strip() if isinstance(meta.get("summary"), str) else title
        began_at = began_at or tally.time(meta.get("startTime"))
        again: Counter[str] = Counter()  # a later list has the messages of an earlier one again
        for number, message in enumerate(list_of(meta.get("messages")), start=1):
            _hold(held, message, f"{place}, message {number}", tally, again)
    turns = _turns(held, f"gemini/{session}", tally, tools)
    yield Conversation(f"gemini/{session}", dated(turns, began_at, tally), title=title)


def _hold(
    held: dict[str, tuple[str, dict[str, Any]]],
    message: Any,
    place: str,
    tally: Tally,
    unnamed: Counter[str],
) -> None:
    """Holds a message by its id; by its content and its place among equal ones if it has none."""
    if not isinstance(message, dict):
        tally.add("messages that are no objects")
        return
    own = message.get("id")
    if not isinstance(own, str) or not own:
        own = name_from(message)
        unnamed[own] += 1
        own += f"-{unnamed[own]}" if unnamed[own] > 1 else ""
    held[own] = (held[own][0] if own in held else place, message)


def _rewind(held: dict[str, tuple[str, dict[str, Any]]], to: str, tally: Tally) -> None:
    """Takes back a message and all after it."""
    names = list(held)
    for own in names[names.index(to) :] if to in held else ():
        del held[own]
        tally.add(BRANCHES)


def _turns(
    held: dict[str, tuple[str, dict[str, Any]]], session: str, tally: Tally, tools: bool
) -> Iterator[Turn]:
    for own, (place, message) in held.items():
        kind = kind_of(message)
        if kind not in _TYPES:
            tally.add(NOTICES if kind in _NOTICES else of_type("messages", kind))
            continue
        role, at = _TYPES[kind], tally.time(message.get("timestamp"))
        shown = message.get("displayContent")
        texts = _texts(message.get("content") if shown is None else shown, tally)
        calls = [call for call in list_of(message.get("toolCalls")) if isinstance(call, dict)]
        tally.add(THINKING, len(list_of(message.get("thoughts"))))
        if tools:
            texts += [_call(call) for call in calls]
        else:
            tally.add(TOOLS, len(calls))
        text, added = without_added("\n\n".join(filter(None, texts)))
        tally.add(ADDED, added)
        text = text.strip()
        if text:
            model = message.get("model")
            yield Turn(
                key=f"{session}/{own}",
                author=role,
                text=text,
                place=place,
                role=role_of_sender(role),
                at=at,
                metadata={"model": model} if isinstance(model, str) and model else {},
            )
        elif not (calls or added):
            tally.add(EMPTY)


def without_added(text: str) -> tuple[str, int]:
    """The text without what hooks and the program added, and how often they did."""
    return without_tags(text, _ADDED)


def _call(call: dict[str, Any]) -> str:
    given, answer = (json.dumps(call.get(name), ensure_ascii=False) for name in ("args", "result"))
    return f"[{call.get('name')}] {given}\n{answer}"


def _texts(content: object, tally: Tally) -> list[str]:
    """The texts of a message: one text, one part, or a list of both."""
    texts = []
    for part in content if isinstance(content, list) else [content]:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(part, dict) and part.get("thought"):
            tally.add(THINKING)
        elif isinstance(text, str):
            texts.append(text.strip())
        elif isinstance(part, dict) and part.keys() & {"functionCall", "functionResponse"}:
            tally.add(TOOLS)
        elif isinstance(part, dict) and part.keys() & {"inlineData", "fileData"}:
            tally.add(ATTACHMENTS)
        elif part is not None:
            tally.add("parts that are not understood")
    return texts
