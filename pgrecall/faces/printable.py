"""Text made safe to print."""

from __future__ import annotations

import unicodedata

_SHOWN_CONTROLS = "\n"
_HIDDEN = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def printable(text: str) -> str:
    """Removes control characters and directional marks, which could move a terminal's cursor, colour text or
    change its direction."""
    if text.isprintable():
        return text
    return "".join(
        character
        if character in _SHOWN_CONTROLS
        or (unicodedata.category(character) != "Cc" and character not in _HIDDEN)
        else " "
        for character in text
    )
