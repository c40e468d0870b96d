"""One line of a note: wikilinks become their shown words, links and tags are gathered, code is left alone."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from urllib.parse import unquote

# Every repetition is bounded, so that no line, however long or broken, costs more than linear time.
_LINK = re.compile(
    r"""
      (?P<embed>!?)\[\[(?P<wiki>[^\[\]\n]{1,1000})\]\]
    | (?P<image>!?)\[(?:[^\[\]\\]|\\.|\[[^\[\]]{0,200}\]){0,300}\]
      \(\s{0,9}(?P<url><[^<>\n]{0,2000}>|[^\s()<>]*(?:\([^\s()]{0,200}\)[^\s()]{0,2000}){0,9})
      (?:\s{1,9}(?:"[^"\n]{0,500}"|'[^'\n]{0,500}'))?\s{0,9}\)
    | (?P<html><img\b[^<>]*>)
    """,
    re.VERBOSE,
)
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_TAG = re.compile(r"(?<!\S)#([\w/-]+)")
_NOTE_SUFFIX = re.compile(r"\.(md|markdown)$", re.IGNORECASE)
_ATTACHMENT = re.compile(
    r"\.(png|jpe?g|gif|svg|webp|bmp|avif|tiff?|pdf|mp[34]|m4a|wav|ogg|flac|webm|mov|mkv|zip|csv|xlsx?|docx?|pptx?"
    r"|canvas|base|excalidraw)$",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")


@dataclass(frozen=True, slots=True)
class RawLink:
    """A link as written: a note's name or path without suffix ("" is this note), and a heading or "".

    ``relative`` holds for Markdown links, whose target is a path from the note's own folder.
    """

    target: str
    heading: str = ""
    relative: bool = False


@dataclass(frozen=True, slots=True)
class Inline:
    """One line as it is shown, with the links and tags found in it."""

    text: str
    links: tuple[RawLink, ...] = ()
    tags: tuple[str, ...] = ()


def read_inline(line: str) -> Inline:
    """The line with wikilinks as words and without images; nothing inside inline code is touched."""
    if "[" not in line and "#" not in line and "<" not in line:
        return Inline(line)
    masked = mask_code(line)
    shown: list[str] = []
    links: list[RawLink] = []
    position = 0
    for match in _LINK.finditer(masked):
        start, end = match.span()
        words, link = _link(match, line[start:end])
        shown += (line[position:start], words)
        position = end
        if link is not None:
            links.append(link)
    tags = _tags(_LINK.sub(" ` ", masked)) if "#" in masked else ()
    return Inline("".join(shown) + line[position:], tuple(links), tags)


def mask_code(line: str) -> str:
    """The line with every character of inline code as a backtick, so that positions stay the same."""
    return _CODE.sub(lambda code: "`" * len(code[0]), line) if "`" in line else line


def note_name(name: str) -> str:
    """A note's name without the suffix of Markdown files."""
    return _NOTE_SUFFIX.sub("", name.strip())


def _link(match: re.Match[str], written: str) -> tuple[str, RawLink | None]:
    """The words that stay in the text, and the link if it leads to a note."""
    if match["wiki"] is not None:
        return _wikilink(match["wiki"], embedded=bool(match["embed"]))
    if match["html"] is not None or match["image"]:
        return "", None
    return written, _markdown_link(match["url"].strip("<>"))


def _wikilink(inner: str, *, embedded: bool) -> tuple[str, RawLink | None]:
    address, _, alias = inner.partition("|")
    name, _, heading = address.rstrip("\\").partition("#")
    name, heading = name.strip(), heading.rpartition("#")[2].strip()
    if _ATTACHMENT.search(name):
        return ("" if embedded else alias.strip() or name), None
    if heading.startswith("^"):
        heading = ""
    target = note_name(name)
    shown = " > ".join(part for part in (posixpath.basename(target), heading) if part)
    link = RawLink(target, heading) if target or heading else None
    return alias.strip() or shown or inner.strip(), link


def _markdown_link(url: str) -> RawLink | None:
    path, _, heading = url.partition("#")
    path = unquote(path)
    if _SCHEME.match(path) or (path and not _NOTE_SUFFIX.search(path)) or not (path or heading):
        return None
    return RawLink(note_name(path), unquote(heading), relative=True)


def _tags(masked: str) -> tuple[str, ...]:
    tags = (match[1].strip("/-") for match in _TAG.finditer(masked))
    return tuple(tag for tag in tags if any(character.isalpha() for character in tag))
