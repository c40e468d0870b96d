"""Transcripts of Cursor's agent: JSON Lines of a role and a message, without ids and times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pgrecall.importers.chat.claude import texts_of_blocks
from pgrecall.importers.chat.turns import (
    ADDED,
    EMPTY,
    Conversation,
    Tally,
    Turn,
    dated,
    kind_of,
    of_type,
    role_of_sender,
)

_QUERY, _QUERY_END = "<user_query>", "</user_query>"


def is_cursor(value: object) -> bool:
    """Whether a line looks like one of a transcript of Cursor."""
    if not isinstance(value, dict) or "type" in value or value.get("role") not in ("user", "assistant"):
        return False
    message = value.get("message")
    return isinstance(message, dict) and isinstance(message.get("content"), list | str)


def read_cursor(
    values: Iterable[tuple[str, Any]], name: str, tally: Tally, *, tools: bool
) -> Iterator[Conversation]:
    """The session in a file called ``name``, with its turns in the order of the file.

    The key of a turn ends with the number of its line, since messages have no ids and files only grow.
    """
    session = f"cursor/{name}"
    yield Conversation(session, dated(_turns(values, session, tally, tools), None, tally))


def _turns(values: Iterable[tuple[str, Any]], session: str, tally: Tally, tools: bool) -> Iterator[Turn]:
    for place, value in values:
        if not is_cursor(value):
            tally.add(of_type("lines", kind_of(value)))
            continue
        blocks = value["message"]["content"]
        text = "\n\n".join(_texts(blocks, tally, tools)).strip()
        role = role_of_sender(value["role"])
        if text and role is not None:
            yield Turn(
                key=f"{session}/{place.removeprefix('line ')}",
                author=role,
                text=text,
                place=place,
                role=role,
                at=tally.time(value.get("timestamp")),
            )
        elif not blocks:
            tally.add(EMPTY)


def _texts(content: list[Any] | str, tally: Tally, tools: bool) -> Iterator[str]:
    """The texts of a message; of what a user sent, only what was typed."""

    def said(text: str) -> str:
        *queries, rest = (part.partition(_QUERY) for part in text.split(_QUERY_END))
        typed = [query.strip() for _, begun, query in queries if begun]
        added = any(before.strip() or not begun for before, begun, _ in queries) or "".join(rest).strip()
        tally.add(ADDED, bool(added and typed))
        return "\n\n".join(typed) if typed else text.strip()

    return texts_of_blocks(content, tally, tools=tools, said=said)
