"""Texts that an endpoint repeats in its error, left out of it: errors of jobs outlive a forgotten memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pgrecall.search.foreign_words import on_one_line

RUN = 16
"""Characters in a row that count as a quotation. Shorter texts are found as a whole."""

_MIN_LENGTH = 4
_LEFT_OUT = "…"


def texts_in(body: Mapping[str, Any]) -> list[str]:
    """The texts that a request sends: those in lists, contents of messages, and the query."""
    lists = [value for value in body.values() if isinstance(value, list)]
    items = [item.get("content") if isinstance(item, dict) else item for each in lists for item in each]
    found = [text for text in items if isinstance(text, str)]
    return [*found, *(value for name, value in body.items() if name == "query" and isinstance(value, str))]


def without_quotations(message: str, texts: list[str]) -> str:
    """A message of one line, with an ellipsis in place of what it repeats of these texts."""
    lines = [on_one_line(text) for text in texts]
    for line in lines:
        if _MIN_LENGTH <= len(line) < RUN:
            message = message.replace(line, _LEFT_OUT)
    sent = "\n".join(lines)
    made: list[str] = []
    at = 0
    while at < len(message):
        end = at + RUN
        if end > len(message) or message[at:end] not in sent:
            made.append(message[at])
            at += 1
            continue
        while end < len(message) and message[at : end + 1] in sent:
            end += 1
        made.append(_LEFT_OUT)
        at = end
    return "".join(made)
