"""The OpenAPI document, made fit for people and for generators of clients."""

from __future__ import annotations

import re
from typing import Any

from pgrecall.faces.http.problems import FIELD_PROBLEM_SCHEMA, MEDIA_TYPE, PROBLEM_SCHEMA

API_PREFIX = "/v1"

_EXAMPLES: dict[str, dict[str, Any]] = {
    "remember": {
        "body": "Mira signs the harbour contract on Friday.",
        "key": "contract",
        "layer": "episodic",
        "tags": ["harbour"],
    },
    "edit": {"body": "Mira signs the harbour contract on Monday.", "tags": None},
    "search": {"query": "when is the contract signed?", "k": 3},
    "context": {"query": "what do I need to know about the contract?", "budget_tokens": 400},
    "used": {"search_id": 1, "memories": ["contract"]},
    "record_accesses": {"accesses": [{"memory": "contract", "kind": "read", "idempotency_key": "step-7"}]},
    "link": {"source": "contract", "target": "harbour", "relation": "mentions"},
    "supersede": {"old": "contract", "new": "contract/2"},
    "plan_erasure": {"author": "Mira", "asked_by": "Mira"},
}
"""A body for the operations that people begin with."""

_JSON = {"None": "null", "True": "true", "False": "false"}
_PYTHON = re.compile(r"`?\b(None|True|False)\b`?")


def finish_document(document: dict[str, Any], *, needs_key: bool) -> dict[str, Any]:
    """Adds problems, keys and examples to FastAPI's document, and removes the titles that repeat a name.

    Args:
        document: what FastAPI made of the routes; it is changed.
        needs_key: every request must have a key.
    """
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    _for_clients(document)
    schemas["ProblemDetails"] = PROBLEM_SCHEMA
    schemas["FieldProblem"] = FIELD_PROBLEM_SCHEMA
    components["securitySchemes"] = {
        "key": {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "pgr_...",
            "description": "A key of one tenant, which `pgrecall keys create NAME` makes.",
        }
    }
    reference = {"$ref": "#/components/schemas/ProblemDetails"}
    for path, methods in document["paths"].items():
        for operation in methods.values():
            _remove_null_parameters(operation)
            operation["responses"].pop("422", None)
            operation["responses"]["default"] = {
                "description": "A problem.",
                "content": {MEDIA_TYPE: {"schema": reference}},
            }
            if path.startswith(f"{API_PREFIX}/"):
                operation["security"] = [{"key": []}] if needs_key else [{"key": []}, {}]
            if example := _EXAMPLES.get(operation["operationId"]):
                operation["requestBody"]["content"]["application/json"]["example"] = example
    return document


def _remove_null_parameters(operation: dict[str, Any]) -> None:
    """Removes null from optional parameters: a query can leave one out, but not set it to null."""
    for parameter in operation.get("parameters", ()):
        schema = parameter["schema"]
        choices = [choice for choice in schema.pop("anyOf", ()) if choice != {"type": "null"}]
        if len(choices) == 1:
            schema.update(choices[0])
        elif choices:
            schema["anyOf"] = choices


def _for_clients(schema: Any) -> None:
    """Removes the titles that pydantic derives from names, but no field named title; says `null` for None."""
    if isinstance(schema, list):
        for item in schema:
            _for_clients(item)
    elif isinstance(schema, dict):
        if isinstance(schema.get("title"), str) and "version" not in schema:
            del schema["title"]
        if isinstance(about := schema.get("description"), str):
            schema["description"] = _PYTHON.sub(lambda word: f"`{_JSON[word[1]]}`", about)
        for name, value in schema.items():
            if name not in ("default", "example", "enum", "const"):
                _for_clients(value)
