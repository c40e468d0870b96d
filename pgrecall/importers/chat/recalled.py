"""Text that recall adds to a prompt, between marks, so that it is never captured as something that was said.

Editors write such text into their transcripts. Captured, it would be a memory of memories, new and therefore
vital, and offered again at the next start.
"""

from __future__ import annotations

import re

_NAME = "pgrecall-memories"
_MARKED = re.compile(rf"<{_NAME}>.*?(?:</{_NAME}>|\Z)", re.DOTALL)
_MARK = re.compile(rf"</?{_NAME}>")


def marked(text: str) -> str:
    """The text between marks; marks within it, which a memory may quote, are left out."""
    return f"<{_NAME}>\n{_MARK.sub('', text)}\n</{_NAME}>"


def without_marked(text: str) -> tuple[str, int]:
    """The text without what is between marks, and how often there was any."""
    return _MARKED.subn("", text)
