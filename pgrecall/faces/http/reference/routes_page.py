"""The reference of the routes from the OpenAPI document: as Markdown, and as the page `/docs`.

The page `/docs` loads nothing and runs no script.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from markdown_it import MarkdownIt
from mdit_py_plugins.anchors import anchors_plugin
from starlette.responses import HTMLResponse

from pgrecall.faces.http.reference.json_schemas import field_table, kind
from pgrecall.faces.http.reference.markdown import anchor, code, one_line, page, table

ABOUT = """
The routes of `pgrecall serve`, as `/openapi.json` describes them to programs. {more}
Requests and responses are JSON. Routes under `/v1` need a key,
`Authorization: Bearer pgr_...`, once one exists. In a path, digits are a memory's id and anything else its
key; `key:42` is the key 42. Every route may respond with a [Problem](#problem). A text may have at most
1,000,000 characters.
"""

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


def routes_page(document: dict[str, Any], more: str = "") -> str:
    """The routes of an OpenAPI document by their tag, then its schemas.

    Args:
        document: what `/openapi.json` returns.
        more: a sentence that leads to examples.
    """
    groups: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tag = operation.get("tags", ["service"])[0]
            groups.setdefault(tag, []).append((method.upper(), path, operation))
    sections = [(tag.capitalize(), _section(found)) for tag, found in groups.items()]
    shapes = document["components"]["schemas"]
    sections.append(("Schemas", "\n\n".join(_shape(name, shapes[name]) for name in sorted(shapes))))
    return page("The HTTP service", ABOUT.replace("{more}", more), sections)


def _section(operations: list[tuple[str, str, dict[str, Any]]]) -> str:
    brief = table(
        ("route", "description"),
        (
            (
                f"[`{method} {path}`](#{anchor(f'{method} {path}')})",
                _about(operation).split(". ")[0].rstrip("."),
            )
            for method, path, operation in operations
        ),
    )
    return "\n\n".join([brief, *(_operation(*each) for each in operations)])


def _about(operation: dict[str, Any]) -> str:
    return " ".join((operation.get("description") or operation.get("summary", "")).split())


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    asked = [
        (code(each["name"]), each["in"], kind(each["schema"]),
         each.get("description", each["schema"].get("description", "")))
        for each in operation.get("parameters", [])
    ]  # fmt: skip
    parts = [
        f"### {method} {path}",
        operation.get("description", ""),
        table(("parameter", "in", "is", "meaning"), asked),
    ]
    if body := operation.get("requestBody"):
        parts += [_body(content["schema"]) for content in body["content"].values()]
    answers = [
        f"{status} {_answer(answer)}"
        for status, answer in operation["responses"].items()
        if status != "default"
    ]
    return "\n\n".join(filter(None, [*parts, "Responses: " + "; ".join(answers) + "."]))


def _body(schema: dict[str, Any]) -> str:
    if "properties" in schema:
        return f"Body:\n\n{field_table(schema)}"
    return f"Body: {kind(schema)}."


def _answer(answer: dict[str, Any]) -> str:
    contents = answer.get("content", {})
    kinds = [kind(content["schema"]) for content in contents.values() if content.get("schema")]
    return ", ".join(kinds) or ", ".join(contents) or "nothing"


def _shape(name: str, schema: dict[str, Any]) -> str:
    # A request; an answer may grow.
    asked = not schema.keys().isdisjoint(("additionalProperties", "unevaluatedProperties"))
    fields = field_table(schema, asked=asked) or kind(schema)
    about = one_line(schema.get("description"))
    return "\n\n".join(filter(None, [f"### {name}", about, fields]))


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
