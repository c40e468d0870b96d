"""What models and functions of others say about their failures, as part of our own sentences.

It may be long, on many lines, with control characters that a terminal obeys, or fail to be a text at all.
"""

from __future__ import annotations

from contextlib import suppress

MAX_CHARACTERS = 300


def on_one_line(words: str) -> str:
    """All of a text on one line, printable; what is not printable parts words like a space."""
    return " ".join("".join(c if c.isprintable() else " " for c in words).split())


def in_one_line(words: object) -> str:
    """The first line of what somebody said: printable, short, without its full stop. Empty for no text."""
    if not isinstance(words, str):
        return ""
    lines = words[: 4 * MAX_CHARACTERS].strip().splitlines() or [""]
    return on_one_line(lines[0])[:MAX_CHARACTERS].rstrip(". ")


def message_of(error: BaseException) -> str:
    """The first line of an error's message; empty where it has none, or asking for it fails."""
    message = ""
    with suppress(Exception):  # the class is not ours
        message = str(error)
    return in_one_line(message)


def described(error: BaseException) -> str:
    """The class of an error with the first line of its message."""
    name, message = type(error).__name__, message_of(error)
    return f"{name}: {message}" if message else name
