"""docs/reference/http.md: the routes of the service, from its own OpenAPI document."""

from __future__ import annotations

from typing import Any

from pgrecall.client import AsyncMemory
from pgrecall.faces.http.app import create_app
from pgrecall.faces.http.authentication import AccessPolicy
from pgrecall.faces.http.logs import service_log
from pgrecall.faces.http.service import Service
from pgrecall.settings import Settings
from scripts.reference.markdown import anchor, code, one_line, page, table
from scripts.reference.schemas import field_table, kind

ABOUT = """
The routes of `pgrecall serve`, as `/openapi.json` describes them to programs; [the
how-to](../howto/serve.md) has examples. Requests and responses are JSON. Routes under `/v1` need a key,
`Authorization: Bearer pgr_...`, once one exists. In a path, digits are a memory's id and anything else its
key; `key:42` is the key 42. Every route may respond with a [Problem](#problem). A text may have at most
1,000,000 characters.
"""


def document() -> dict[str, Any]:
    """The OpenAPI document of a service that needs keys."""
    memory = AsyncMemory(settings=Settings(database_url="postgresql:///", embedder="none", reranker="none"))
    return create_app(Service(memory, AccessPolicy(needs_key=True), service_log("json"))).openapi()


def http_page() -> str:
    told = document()
    groups: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, methods in told["paths"].items():
        for method, operation in methods.items():
            tag = operation.get("tags", ["service"])[0]
            groups.setdefault(tag, []).append((method.upper(), path, operation))
    sections = [(tag.capitalize(), _section(found)) for tag, found in groups.items()]
    shapes = told["components"]["schemas"]
    sections.append(("Schemas", "\n\n".join(_shape(name, shapes[name]) for name in sorted(shapes))))
    return page("The HTTP service", ABOUT, sections)


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
        parts.append(_body(body["content"]["application/json"]["schema"]))
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
    told = [kind(content["schema"]) for content in contents.values() if content.get("schema")]
    return ", ".join(told) or ", ".join(contents) or "nothing"


def _shape(name: str, schema: dict[str, Any]) -> str:
    asked = schema.get("additionalProperties") is False  # a request; an answer may grow
    fields = field_table(schema, asked=asked) or kind(schema)
    about = one_line(schema.get("description"))
    return "\n\n".join(filter(None, [f"### {name}", about, fields]))
