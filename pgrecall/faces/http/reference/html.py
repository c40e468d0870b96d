"""The page `/docs`: the reference of the routes as HTML that loads nothing and runs no script."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from markdown_it import MarkdownIt
from mdit_py_plugins.anchors import anchors_plugin
from starlette.responses import HTMLResponse

from pgrecall.faces.http.reference.markdown import anchor
from pgrecall.faces.http.reference.routes_page import routes_page

_STYLE = """
:root { color-scheme: light dark; }
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
h2 { margin-top: 3rem; border-bottom: 1px solid; }
h3 { margin-top: 2rem; font-family: ui-monospace, monospace; font-size: 1rem; }
table { display: block; overflow-x: auto; border-collapse: collapse; }
th, td { padding: .25rem .75rem .25rem 0; text-align: left; vertical-align: top; }
th { font-weight: 600; }
td:first-child { white-space: nowrap; }
"""
_POLICY = (
    "default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_MORE = "The [document itself](openapi.json) is for tools that read it."


def docs_response(document: dict[str, Any]) -> HTMLResponse:
    """The reference of an OpenAPI document as a page."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    return HTMLResponse(docs_html(document), headers={"Content-Security-Policy": _POLICY.format(digest)})


def docs_html(document: dict[str, Any]) -> str:
    """The reference of an OpenAPI document as HTML; what it says is text, never markup."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    markdown.use(anchors_plugin, max_level=3, slug_func=anchor)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>The HTTP API of pgrecall</title><style>{_STYLE}</style></head><body><main>\n"
        f"{markdown.render(routes_page(document, _MORE))}</main></body></html>\n"
    )
