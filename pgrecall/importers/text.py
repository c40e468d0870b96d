"""Text functions shared by importers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import unquote

from pgrecall.importers.dates import day_in_name

_MARKS = re.compile(r"[*`~]+|(?<!\w)_+|_+(?!\w)")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_UNREAD = re.compile(
    r"</?(?:a|b|br|center|code|div|em|font|i|kbd|mark|p|small|span|strong|su[bp]|u)(?:\s[^<>]{0,500})?/?>"
    r"|\s\{[#.:][^{}]{0,200}\}\s*$|\s\^[\w-]{1,80}\s*$",
    re.IGNORECASE,
)
"""What a reader of a heading does not see: tags of HTML, and at its end attributes or the id of a block."""

_MAX_SLUG_LENGTH = 80


def composed(text: str) -> str:
    """The text with each letter and its marks as one character, where there is one (NFC)."""
    return unicodedata.normalize("NFC", text)


def one_line(text: str) -> str:
    """The text with every run of white space replaced by one space."""
    return " ".join(text.split())


def sentence(fault: object) -> str:
    """A fault as a sentence: with a capital and a full stop."""
    said = str(fault)
    return f"{said[:1].upper()}{said[1:]}."


def words(name: str) -> str:
    """A file or folder name as words: ``rotate-the_keys`` is ``rotate the keys``."""
    return one_line(re.sub(r"[-_]+", " ", name)) or name


def file_words(name: str) -> str:
    """A file name as words; one with a date stays as it is. Logseq writes the page ``Tool/Text`` as
    ``Tool___Text``, or ``Tool%2FText``."""
    if day_in_name(name):
        return name
    if "___" not in name and "%2F" not in name:
        return words(name)
    return "/".join(words(part) for part in re.split("___|/", unquote(name)) if part.strip()) or words(name)


def without_marks(text: str) -> str:
    """The text as one line without Markdown's emphasis and code marks, unless nothing else is left."""
    return one_line(_MARKS.sub("", text)) or one_line(text)


def without_addresses(heading: str) -> str:
    """A heading as it is read: ``[1.2](https://a.b) Gate {#gate}`` is ``1.2 Gate``."""
    return _UNREAD.sub("", _LINK.sub(r"\1", heading)).strip() or heading


def slugify(text: str) -> str:
    """Lower-case words joined by hyphens, at most 80 characters; ``section`` for a text without words."""
    signs = (sign if _is_of_word(sign) else "-" for sign in composed(text).casefold())
    return re.sub("-+", "-", "".join(signs))[:_MAX_SLUG_LENGTH].strip("-") or "section"


def _is_of_word(sign: str) -> bool:
    """Whether it is a letter, a digit, or a mark on one: without its marks, a Hindi word is another word."""
    return sign.isalnum() or unicodedata.category(sign)[0] == "M"


def normalized_name(name: str) -> str:
    """The form in which names are compared: NFC, case-folded, single spaces."""
    return one_line(composed(name).casefold())


def folded_name(name: str) -> str:
    """A name as words are compared: also full-width letters and half-width kana as ordinary ones (NFKC)."""
    return normalized_name(unicodedata.normalize("NFKC", name))


def unique(texts: list[str]) -> tuple[str, ...]:
    """The texts, stripped, without empty ones and repeats; case is ignored."""
    first: dict[str, str] = {}
    for text in texts:
        if shown := one_line(text):
            first.setdefault(shown.casefold(), shown)
    return tuple(first.values())


class Slugs:
    """Makes slugs unique within a note: ``keys``, ``keys-2``, ``keys-3``."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._last: dict[str, int] = {}

    def take(self, slug: str) -> str:
        base = slug
        while slug in self._taken:
            self._last[base] = self._last.get(base, 1) + 1
            slug = f"{base}-{self._last[base]}"
        self._taken.add(slug)
        return slug
