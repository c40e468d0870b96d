"""What a person typed of a prompt, without what a program added to it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pgrecall.importers.chat.turns import ADDED, Tally
from pgrecall.nouns.memories.models import Role

_ADDED = (
    "system-reminder", "ide_opened_file", "ide_selection", "ide_diagnostics", "environment_details",
    "user_info", "git_status",
)  # fmt: skip
_TYPED = re.compile(r"<user_query>((?:(?!<user_query>).)*?)</user_query>", re.DOTALL)
"""What a person typed, in a prompt of Cursor or Grok."""


def typed(text: str, role: Role | None, tally: Tally) -> str:
    """What a person typed of a prompt, without what the program added to it; any other text as it is."""
    if role != "user":
        return text.strip()
    kept, removed = without_tags(text, _ADDED)
    queries = _TYPED.findall(kept)
    tally.add(ADDED, removed + bool(queries and _TYPED.sub("", kept).strip()))
    return "\n\n".join(map(str.strip, queries or [kept]))


def without_tags(text: str, names: Sequence[str]) -> tuple[str, int]:
    """The text without what stands between `<name>` and `</name>`, and how often there was any.

    A beginning after the last end is not looked at: each would be searched to the end of the text.
    """
    removed = 0
    for name in names:
        begin, end = f"<{name}>", f"</{name}>"
        stop = text.rfind(end) + len(end) if end in text else 0
        rest, count = re.subn(f"{begin}.*?{end}", "", text[:stop], flags=re.DOTALL)
        text, removed = rest + text[stop:], removed + count
    return text, removed
