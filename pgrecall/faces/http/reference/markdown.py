"""Small parts of Markdown pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def page(title: str, about: str, sections: Sequence[tuple[str, str]]) -> str:
    """A page with a table of contents, which has a line for each section."""
    contents = "\n".join(f"- [{name}](#{anchor(name)})" for name, _ in sections)
    body = "\n".join(f"\n## {name}\n\n{text.strip()}\n" for name, text in sections)
    return f"# {title}\n\n{about.strip()}\n\n{contents}\n{body}"


def anchor(heading: str) -> str:
    """The address of a heading within its page."""
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.replace(" ", "-")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; empty without rows."""
    lines = ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    if not lines:
        return ""
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *lines])


def code(text: object) -> str:
    """The text as code, where there is any."""
    return f"`{text}`" if str(text) else ""


def one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def _cell(text: str) -> str:
    return one_line(text).replace("|", "\\|")
