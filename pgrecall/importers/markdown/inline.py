"""Parses the text of a block: replaces wikilinks by the words they show, and collects links and tags."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any
from urllib.parse import unquote

from markdown_it.common.utils import normalizeReference

from pgrecall.importers.text import composed, one_line

# Every repetition is bounded, so that any text takes linear time.
_OPAQUE = re.compile(
    r"""
      (?P<comment><!--|%%)
    | \\[!-/:-@\[-`{-~]                                             # an escaped character
    | (?P<ticks>`++)(?:(?s:.{1,5000}?)(?<!`)(?P=ticks)(?!`))?+      # code; unmatched ticks are text
    | \$\$[^$]{1,5000}\$\$                                          # math
    | \$(?=[^\s$])[^$\n]{0,999}(?<=\S)\$(?!\d)
    | <[a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^<>\s]{0,2000}>                # a URL
    """,
    re.VERBOSE,
)
_LINK = re.compile(
    r"""
      (?P<embed>!?)\[\[(?P<wiki>[^\[\]\n]{1,1000})\]\]
    | (?P<image>!?)\[(?P<label>(?:[^\[\]\\]|\\.|\[[^\[\]]{0,200}\]){0,300})\]
      (?: \(\s{0,9}(?P<url><[^<>\n]{0,2000}>|(?:\{[{%][^{}\n]{1,300}[}%]\}){1,2}
                      |[^\s()<>]*(?:\([^\s()]{0,200}\)[^\s()]{0,2000}){0,9})
          (?:\s{1,9}(?:"[^"\n]{0,500}"|'[^'\n]{0,500}'))?\s{0,9}\)
        | \[(?P<reference>[^\[\]]{0,300})\] )
    | (?P<shortcut_image>!?)\[(?P<shortcut>[^\[\]]{1,300})\](?![\[(:])
    | (?P<html><img\b[^<>]*>)
    """,
    re.VERBOSE,
)
_JOINERS = "\u200c\u200d"  # within words of Persian and Hindi, and within emoji
COMMENT_ENDS = {"<!--": "-->", "%%": "%%"}
_NOT_BREAK = re.compile(r"[^\n]")
_TAG = re.compile(r"(?<!\S)#([^\s#]{1,500})")
_TAG_OF_WORDS = re.compile(r"(?<!\S)#([^\W\d]\S{0,50}(?: [^\s#]{1,50}){0,4} [^\s#]{2,50})#(?![\w#])")
"""``#lock keepers#``, as Bear writes it. The last word has two signs at least, unlike in ``#lock and C#``."""

_TAG_BEFORE = re.compile(r"(?:^|\s)#\Z", re.MULTILINE)
"""What stands before the link ``[[lock keepers]]`` where it is a tag, as Roam and Logseq write it."""

_HTML_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,5000}>|\{:[^{}\n]{0,500}\}")
"""Also the attributes of an element as Jekyll and MkDocs write them, ``{: #id .class }``."""

_NOTE_SUFFIX = re.compile(r"\.(md|markdown)$", re.IGNORECASE)
_ATTACHMENT = re.compile(
    r"\.(png|jpe?g|gif|svg|webp|bmp|avif|tiff?|pdf|mp[34]|m4a|wav|ogg|flac|webm|mov|mkv|zip|csv|xlsx?|docx?|pptx?"
    r"|canvas|base|excalidraw)$",
    re.IGNORECASE,
)
_DENDRON_LINK = re.compile(r"^dendron://[^/]{1,200}/|,[0-9]+(:#.*)?$|:#\*$")
_TO_A_PAGE = re.compile(r"(?:^@/|\{[{%][<%]?-?\s*(?:ref|relref|link|post_url)\s+\"?)([^\"{}\s]+)")
"""An address that a site is built with, by its file: ``@/a.md`` of Zola, ``{{< ref "a.md" >}}`` of Hugo,
``{% post_url a %}`` of Jekyll."""

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")

References = Mapping[str, Mapping[str, Any]]
"""The link definitions of a note as markdown-it keeps them: by normalized label, each with its ``href``."""


@dataclass(frozen=True, slots=True)
class RawLink:
    """A link as written: the name or path of a note without suffix ("" is this note), and a heading or "".

    Attributes:
        relative: whether it is a Markdown link, with a target relative to the folder of the note.
        is_named: whether it says that it leads to a note; one without a suffix may lead to a page of a site.
    """

    target: str
    heading: str = ""
    relative: bool = False
    is_named: bool = True


@dataclass(frozen=True, slots=True)
class Line:
    """One line as it is stored, with its links and tags."""

    text: str
    links: tuple[RawLink, ...] = ()
    tags: tuple[str, ...] = ()


def read_inline(text: str, references: References | None = None, label_first: bool = False) -> list[Line]:
    """The lines of a block's text: without comments and images, with wikilinks as words.

    With ``label_first``, the words of a wikilink stand before its target.
    """
    text, masked = _without_comments(text)
    if "[" not in text and "#" not in text and "<" not in text:
        return [Line(row if row.strip() else "") for row in text.split("\n")]
    shown, unlinked = [""], [""]
    links: dict[int, list[RawLink]] = {}
    linked_tags: dict[int, list[str]] = {}
    position = row = 0
    for match in _LINK.finditer(masked):
        found = _read_link(match, text, references or {}, label_first)
        if found is None:
            continue
        words, link = found
        start, end = match.span()
        row += text.count("\n", position, start)
        if link is not None:
            links.setdefault(row, []).append(link)
        if match["wiki"] is not None and _TAG_BEFORE.search(masked, max(start - 2, position), start):
            linked_tags.setdefault(row, []).append(composed(one_line(words)))
        # A link that stays keeps its line breaks; a removed one leaves them in the text.
        breaks = "\n" * text.count("\n", start, end)
        row += len(breaks)
        shown += (text[position:start], words if words == text[start:end] else words + breaks)
        unlinked += (masked[position:start], " ` ", breaks)
        position = end
    rows = ("".join(shown) + text[position:]).split("\n")
    bare = _HTML_TAG.sub(_only_breaks, "".join(unlinked) + masked[position:]).split("\n")
    return [
        Line(
            words if words.strip() else "",
            tuple(links.get(number, ())),
            (*linked_tags.get(number, ()), *_tags(rest)),
        )
        for number, (words, rest) in enumerate(zip(rows, bare, strict=True))
    ]


def _without_comments(text: str) -> tuple[str, str]:
    """The text without comments, line breaks kept; and the same with code and escapes as backticks."""
    if not any(mark in text for mark in "`\\$<%"):
        return text, text
    kept, masked = [""], [""]
    position = 0
    for start, end, kind in scan(text):
        if kind == "opening":
            continue
        between, inside = text[position:start], text[start:end]
        breaks = "\n" * inside.count("\n")
        kept += (between, breaks if kind == "comment" else inside)
        masked += (between, breaks if kind == "comment" else _NOT_BREAK.sub("`", inside))
        position = end
    return "".join(kept) + text[position:], "".join(masked) + text[position:]


def scan(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and kind of each part that is not plain text, from left to right.

    The kinds are ``code`` (also math, URLs and escaped characters), ``comment``, and ``opening``: the start
    of a comment that does not end in this text.
    """
    last = {opening: text.rfind(ending) for opening, ending in COMMENT_ENDS.items()}
    position = 0
    while match := _OPAQUE.search(text, position):
        start, position = match.span()
        opening = match["comment"]
        if opening is None:
            yield start, position, "code"
        elif last[opening] < position:
            yield start, position, "opening"
        else:
            ending = COMMENT_ENDS[opening]
            position = text.index(ending, position) + len(ending)
            yield start, position, "comment"


def note_name(name: str) -> str:
    """The name of a note without a Markdown suffix. Programs of Windows separate folders by ``\\``."""
    return _NOTE_SUFFIX.sub("", name.strip()).replace("\\", "/")


def _read_link(
    match: re.Match[str], text: str, references: References, label_first: bool
) -> tuple[str, RawLink | None] | None:
    """The words that stay in the text, and the link if its target is a note; None if it is not a link."""

    def written(group: str | int) -> str:
        return text[slice(*match.span(group))]

    if match["wiki"] is not None:
        return _wikilink(written("wiki"), embedded=bool(match["embed"]), label_first=label_first)
    if match["html"] is not None:
        return "", None
    if match["url"] is not None:
        url = written("url").strip("<>")
    else:
        label = next(filter(None, map(written, ("shortcut", "reference", "label"))), "")
        definition = references.get(normalizeReference(label))
        if definition is None:
            return None
        url = definition["href"]
    if match["image"] or match["shortcut_image"]:
        return "", None
    return written(0), _markdown_link(url)


def _last_heading(path: str) -> str:
    """The heading that ``Chapter#Heading`` leads to; one that ends in signs has them: C#."""
    words = path.rstrip("#")
    return words.rpartition("#")[2].strip() + path[len(words) :] if words else ""


def _wikilink(inner: str, *, embedded: bool, label_first: bool) -> tuple[str, RawLink | None] | None:
    address, _, alias = inner.partition("|")
    if label_first:
        address, alias = (alias, address) if alias else (address, "")
        address = _DENDRON_LINK.sub("", address.strip())
    address = address.rstrip("\\")
    name, _, heading = address.partition("#")
    if name.strip() and not heading.strip("# "):  # the sign belongs to the name: C#
        name, heading = address, ""
    name, _, _ = name.partition("^")  # a block, as Obsidian wrote it once
    name, heading = name.strip(), _last_heading(heading.strip())
    if "://" in name:
        return None
    if _ATTACHMENT.search(name):
        return ("" if embedded else alias.strip() or name), None
    if heading.startswith("^"):
        heading = ""
    target = note_name(name)
    shown = " > ".join(part for part in (posixpath.basename(target), heading) if part)
    link = RawLink(target, heading) if target or heading else None
    return alias.strip() or shown or inner.strip(), link


def _markdown_link(url: str) -> RawLink | None:
    page = _TO_A_PAGE.search(url)
    path, _, heading = (page[1] if page else url).partition("#")
    path = unquote(path)
    if _SCHEME.match(path) or _ATTACHMENT.search(path) or path[:1] == "{" or not (path or heading):
        return None
    if page:
        return RawLink(note_name(path), unquote(heading))
    is_named = not path or _NOTE_SUFFIX.search(path) is not None
    return RawLink(note_name(path), unquote(heading), relative=True, is_named=is_named)


def _only_breaks(match: re.Match[str]) -> str:
    """The line breaks of HTML, whose attributes hold colours and anchors, but no tags of a note."""
    return " " + "\n" * match[0].count("\n")


def _tags(masked: str) -> tuple[str, ...]:
    found = [
        match[1]
        for match in _TAG_OF_WORDS.finditer(masked)
        if all(map(_is_of_tag, re.sub("[ '’&.]", "", match[1])))
    ]
    for tag in found:
        masked = masked.replace(f"#{tag}#", " ")
    found += ("".join(takewhile(_is_of_tag, match[1])).strip("/-") for match in _TAG.finditer(masked))
    tags = (composed(tag) for tag in found)
    return tuple(tag for tag in tags if any(not (sign.isdecimal() or sign in "/-_") for sign in tag))


def _is_of_tag(sign: str) -> bool:
    """Whether a tag can have a character: letters with their marks, digits, emoji; no punctuation."""
    if sign.isascii():
        return sign.isalnum() or sign in "/-_"
    kind = unicodedata.category(sign)
    return kind[0] in "LMN" or kind in ("So", "Sk", "Pc") or sign in _JOINERS
