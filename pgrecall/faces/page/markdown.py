"""Markdown of memories as safe HTML: tags are rebuilt from their names, then sanitised."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from html import escape, unescape
from typing import TYPE_CHECKING

from markupsafe import Markup

from pgrecall.faces.printable import printable

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_LENGTH = 100_000
"""Characters up to which a text is rendered; a longer one is shown as it is written."""

_INLINE = ("br", "em", "strong", "s", "code", "a", "b", "i", "u", "del", "ins", "kbd", "sub", "sup", "mark")
_BLOCKS = ("p", "hr", "pre", "blockquote", "ul", "ol", "li", "details", "summary")
_TABLE = ("table", "thead", "tbody", "tr", "th", "td")
_WRITTEN = frozenset((*_INLINE, *_BLOCKS, *_TABLE))
"""HTML that people write in notes. It counts without its attributes, except for the address of a link."""
_TAGS = _WRITTEN | {"h3", "h4", "h5", "h6"}
_LEFT_OUT = frozenset((
    "abbr", "article", "aside", "big", "center", "cite", "dd", "div", "dl", "dt", "figcaption", "figure",
    "font", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "img", "main", "nav", "picture",
    "section", "small", "source", "span", "tfoot",
))  # fmt: skip
"""HTML that only arranges or colours: its text stays. All other tags are shown as they are written."""
_TAG = re.compile(r"<!--(?:(?!<!--).)*?-->|<(/?)([A-Za-z][A-Za-z0-9]*)(?=[\s/>])([^<>]*)>", re.S)
_ADDRESS = re.compile(r"""\b(href|alt)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>=]+))""", re.I)
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
_SCHEMES = frozenset(("http", "https", "mailto"))
_SHIFT, _LOWEST = 2, 6
"""A text is shown below a heading of level 2, so its own headings begin with level 3."""


def render_markdown(text: str) -> Markup | None:
    """The text as HTML; None if it is too long to render.

    Simple HTML, such as `<b>` and `<br>`, means what it does elsewhere, comments are left out, and any other
    tag stays text. Images become links or their description, since the page loads nothing from other sites.
    """
    if len(text) > MAX_LENGTH:
        return None
    import nh3

    html = _parser().render(printable(text))
    return Markup(
        nh3.clean(
            html,
            tags=set(_TAGS),
            attributes=_ATTRIBUTES,
            url_schemes=set(_SCHEMES),
            link_rel="noopener noreferrer nofollow",
        )
    )


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": True, "breaks": True})
    parser.enable(["table", "strikethrough"]).disable(["image"])
    for rule in ("heading_open", "heading_close"):
        parser.add_render_rule(rule, _lower_heading)
    for rule in ("html_inline", "html_block"):
        parser.add_render_rule(rule, _simple_html)
    return parser


def _lower_heading(_: object, tokens: Sequence[Token], place: int, *__: object) -> str:
    level = min(int(tokens[place].tag[1]) + _SHIFT, _LOWEST)
    return f"<h{level}>" if tokens[place].nesting == 1 else f"</h{level}>\n"


def _simple_html(_: object, tokens: Sequence[Token], place: int, *__: object) -> str:
    text = tokens[place].content
    made: list[str] = []
    last = 0
    for tag in _TAG.finditer(text):
        made += (escape(unescape(text[last : tag.start()])), _simple_tag(tag))
        last = tag.end()
    return "".join((*made, escape(unescape(text[last:]))))


def _simple_tag(tag: re.Match[str]) -> str:
    """Returns a simple tag without attributes, nothing for a tag that only arranges, and the escaped text of
    others."""
    if tag[2] is None:
        return ""  # a comment
    name = tag[2].lower()
    values = {one[1].lower(): one[2] or one[3] or one[4] or "" for one in _ADDRESS.finditer(tag[3])}
    if name == "img":
        return escape(unescape(values.get("alt") or "image"))
    if name == "a" and not tag[1]:
        return f'<a href="{escape(unescape(values.get("href", "")))}">'
    if name in _WRITTEN:
        return f"<{tag[1]}{name}>"
    return "" if name in _LEFT_OUT else escape(tag[0])
