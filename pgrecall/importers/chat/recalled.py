"""Text that recall adds to a prompt, between marks, so that it is never captured as something that was said.

Editors write such text into their transcripts. Captured, it would be a memory of memories, new and therefore
vital, and offered again at the next start. Some escape its marks, wrap its lines, or keep only a part of it.
"""

from __future__ import annotations

import re

_NAME = "pgrecall-memories"
_LESS, _GREATER = r"(?:<|&(?:amp;){0,8}lt;|\\{1,8}u003[cC])", r"(?:>|&(?:amp;){0,8}gt;|\\{1,8}u003[eE])"
_WRAPPED = r"pgrecall-[\s>]{0,99}memories"
_BEGIN, _END = (rf"{_LESS}{slash}{_WRAPPED}\s{{0,99}}{_GREATER}" for slash in ("", r"\\{0,8}/"))
_MARK = re.compile(rf"{_BEGIN}|{_END}")
_MARKED = re.compile(rf"{_BEGIN}.*?(?:{_END}|\Z)|\A(?:(?!{_BEGIN}).)*?{_END}", re.DOTALL)


def marked(text: str) -> str:
    """The text between marks; of marks within it, which a memory may quote, a dot is left."""
    return f"<{_NAME}>\n{_MARK.sub('·', text)}\n</{_NAME}>"


def without_marked(text: str) -> tuple[str, int]:
    """The text without what is between marks, and how often there was any.

    What stands before a lone mark of the end is the rest of a text that was cut.
    """
    return _MARKED.subn("", text) if "pgrecall-" in text else (text, 0)
