"""The OpenAPI document: every route may answer with a problem, and says so; keys are bearer tokens."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from pgrecall.faces.http.problems import MEDIA_TYPE

_TEXT = {"type": "string"}
PROBLEM: dict[str, Any] = {
    "type": "object",
    "description": "What is wrong (RFC 9457): `type` for programs, `detail` and `hint` for people.",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": _TEXT,
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": _TEXT,
        "hint": _TEXT,
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["where", "problem"],
                "properties": {"where": _TEXT, "problem": _TEXT},
            },
        },
    },
}
_ANSWER = {
    "description": "A problem.",
    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


class Application(FastAPI):
    """An application whose OpenAPI document says what holds for all of its routes."""

    needs_key = True

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            self.openapi_schema = _completed(super().openapi(), needs_key=self.needs_key)
        return self.openapi_schema


def _completed(document: dict[str, Any], *, needs_key: bool) -> dict[str, Any]:
    parts = document.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas["Problem"] = PROBLEM
    parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer", "bearerFormat": "pgr_..."}}
    for path, methods in document["paths"].items():
        for operation in methods.values():
            operation["responses"].pop("422", None)
            operation["responses"]["default"] = _ANSWER
            if path.startswith("/v1/"):
                operation["security"] = [{"key": []}] if needs_key else [{"key": []}, {}]
    return document
