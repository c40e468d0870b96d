"""Mends front matter that is not YAML where what is meant is plain: a title with a colon, tabs, tags."""

from __future__ import annotations

import json
import re

from pgrecall.importers.markdown.yaml_values import UNREADABLE, Fields, Node, Scalar, read_yaml

MAX_ROWS = 1_000
"""Each row is parsed on its own, so a longer block is left as it is."""

MAX_VALUE_LENGTH = 1_000
"""What is longer is not what somebody typed."""

_NOT_TYPED = re.compile(f"{UNREADABLE.pattern}|[\x85\xa0\u2028\u2029]")
"""What comes with pasted text: what YAML does not allow, and spaces and breaks that it reads otherwise."""

_TABS = re.compile(r"^[ \t]*\t[ \t]*", re.MULTILINE)
_VALUE = re.compile(r"( *(?:-[ ]+)?[^\s:#'\"-][^:\n]{0,100}:(?:[ ]+|(?=\[\[))| *-[ ]+)(\S.*)")
_TAGS = re.compile(r"^((?:tags?|keywords):[ \t]+|[ \t]*-[ \t]+)(#[^\s#].*)$", re.IGNORECASE | re.MULTILINE)
"""Tags that begin with ``#`` without quotes, which YAML reads as a comment."""


def read_mended(block: str, first_line: int) -> tuple[Node | None, int]:
    """The value of a block, and the first line that had to be read as it is meant, or 0.

    Raises:
        ValueError: it cannot be read even so, with the line of the fault.
    """
    odd = UNREADABLE.search(block)
    pasted = first_line + block.count("\n", 0, odd.start()) if odd else 0
    block = _NOT_TYPED.sub(" ", block)
    block = _TAGS.sub(lambda found: found[1] + _quoted(found[2].rstrip()), block)
    try:
        return read_yaml(block, first_line), pasted
    except ValueError:
        if block.count("\n") > MAX_ROWS:
            raise
        mended, at = _mended(block)
        try:
            node = read_yaml(mended, first_line)
        except ValueError:
            node = None
        if not isinstance(node, Fields):
            raise
        return node, pasted or first_line + at


def _mended(block: str) -> tuple[str, int]:
    """The block with every value in quotes that is no YAML on its own, and the number of the first."""
    rows: list[str] = []
    changed: list[int] = []
    text_above: int | None = None  # the indent of a field whose text stands below it
    for number, row in enumerate(block.split("\n")):
        spaced = _TABS.sub(lambda tabs: tabs[0].replace("\t", "  "), row).rstrip()
        indent = len(spaced) - len(spaced.lstrip())
        if text_above is not None and (indent > text_above or not spaced):
            rows.append(spaced)
            continue
        found = _VALUE.fullmatch(spaced)
        text_above = indent if found is not None and found[2][0] in "|>" else None
        if found is not None and len(found[2]) <= MAX_VALUE_LENGTH and not _is_yaml(found[2]):
            spaced = f"{found[1].rstrip()} {_quoted(_meant(found[2]))}"
        if spaced != row.rstrip():
            changed.append(number)
        rows.append(spaced)
    return "\n".join(rows), changed[0] if changed else 0


def _is_yaml(text: str) -> bool:
    """Whether a value is YAML on its own, or the beginning of one that goes on in the next rows."""
    if text[0] in "|>&" or (text[0] in "[{" and "]" not in text and "}" not in text):
        return True
    try:
        node = read_yaml(text, 1)
    except ValueError:
        return False
    return text[0] in "[{" or isinstance(node, Scalar | None)


def _meant(text: str) -> str:
    """A value without quotes that end too early or never, and without the brackets of a damaged list."""
    if text[0] in "'\"":
        return text[1:].removesuffix(text[0])
    return text[1:-1] if text[0] == "[" != text[1:2] and text[-1] == "]" else text


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
