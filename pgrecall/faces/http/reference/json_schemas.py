"""JSON Schemas in words and tables."""

from __future__ import annotations

import json
from typing import Any

from pgrecall.faces.http.reference.markdown import anchor, code, table
from pgrecall.faces.http.schemas import MAX_TEXT_LENGTH

Schema = dict[str, Any]

_BOUNDS = {
    "minimum": "at least {}", "exclusiveMinimum": "above {}", "maximum": "at most {}",
    "exclusiveMaximum": "below {}", "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {}", "maxItems": "at most {}",
}  # fmt: skip
_OF_EVERY = {("maxLength", MAX_TEXT_LENGTH), ("maximum", 2**63 - 1), ("exclusiveMaximum", 2**63)}
"""Bounds of every text and every id, which would only hide the others."""

_MANY = {"text": "texts", "whole number": "whole numbers", "number": "numbers", "object": "objects"}
_NAMES = {
    "string": "text",
    "object": "object",
    "integer": "whole number",
    "boolean": "yes or no",
    "null": "null",
}


def kind(schema: Schema) -> str:
    """The allowed values: type, bounds, and whether there is a default."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{anchor(name)})"
    for union in ("anyOf", "oneOf", "allOf"):
        if union in schema:
            return " or ".join(dict.fromkeys(kind(one) for one in schema[union]))
    if "const" in schema:
        return code(json.dumps(schema["const"]))
    if "enum" in schema:
        return ", ".join(code(json.dumps(value)) for value in schema["enum"])
    return _typed(schema)


def _typed(schema: Schema) -> str:
    name = schema.get("type", "any value")
    if isinstance(name, list):
        return " or ".join(kind({**schema, "type": one}) for one in name)
    text = _NAMES.get(name, name)
    if schema.get("format") == "date-time":
        text = "time (ISO 8601)"
    if name == "array":
        inner = kind(schema.get("items", {}))
        text = f"list of {_MANY.get(inner, inner)}"
    if name == "object" and isinstance(schema.get("additionalProperties"), dict):
        text = f"object of {kind(schema['additionalProperties'])}"
    bounds = [
        words.format(_number(schema[bound])) for bound, words in _BOUNDS.items() if _is_given(schema, bound)
    ]
    if schema.get("minLength") == 1:
        bounds = ["not empty" if bound == "at least 1 characters" else bound for bound in bounds]
    return f"{text} ({', '.join(bounds)})" if bounds else str(text)


def _is_given(schema: Schema, bound: str) -> bool:
    return bound in schema and (bound, schema[bound]) not in _OF_EVERY


def _number(value: float) -> str:
    return f"{value:,.10g}"


def fields(schema: Schema, prefix: str = "", *, asked: bool = True) -> list[tuple[str, str, str]]:
    """Yields each field with its type and description; fields of nested objects by their path."""
    required = set(schema.get("required", ()))
    rows = []
    for name, field in schema.get("properties", {}).items():
        notes = [field.get("description", "")]
        if asked and name in required and not prefix and "default" not in field:
            notes.append("Required.")
        elif field.get("default") not in (None, "", [], {}):
            notes.append(f"Default {code(json.dumps(field['default']))}.")
        rows.append((code(prefix + name), kind(field), " ".join(filter(None, map(_sentence, notes)))))
        inner = field.get("items", field)
        if isinstance(inner, dict) and "properties" in inner:
            step = "[]." if inner is not field else "."
            rows += fields(inner, f"{prefix}{name}{step}")
    return rows


def _sentence(text: str) -> str:
    return text if not text or text.endswith((".", "`", ")")) else f"{text}."


def field_table(schema: Schema, *, asked: bool = True) -> str:
    """Renders a table of fields; in a response none is marked as required, because all are present."""
    return table(("field", "is", "meaning"), fields(schema, asked=asked))
