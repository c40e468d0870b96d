"""Markdown of memories as HTML that is safe to show: parsed without HTML, and sanitised once more."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from pgrecall.faces.snippets import printable

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_LENGTH = 100_000
"""Characters up to which a text is rendered; a longer one is shown as it is written."""

_INLINE = ("br", "em", "strong", "s", "code", "a")
_BLOCKS = ("p", "hr", "pre", "blockquote", "ul", "ol", "li", "h3", "h4", "h5", "h6")
_TAGS = frozenset((*_INLINE, *_BLOCKS, "table", "thead", "tbody", "tr", "th", "td"))
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
_SCHEMES = frozenset(("http", "https", "mailto"))
_SHIFT, _LOWEST = 2, 6
"""A text stands below a heading of the second level, so its own begin with the third."""


def render_markdown(text: str) -> Markup | None:
    """The text as HTML; None if it is too long to render.

    HTML in the text stays text. Images become links, since the page loads nothing from other sites.
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

    parser = MarkdownIt("commonmark", {"html": False, "breaks": True})
    parser.enable(["table", "strikethrough"]).disable(["image"])
    for rule in ("heading_open", "heading_close"):
        parser.add_render_rule(rule, _lower_heading)
    return parser


def _lower_heading(_: object, tokens: Sequence[Token], place: int, *__: object) -> str:
    level = min(int(tokens[place].tag[1]) + _SHIFT, _LOWEST)
    return f"<h{level}>" if tokens[place].nesting == 1 else f"</h{level}>\n"
