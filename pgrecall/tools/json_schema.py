"""JSON Schemas as models read them best: no titles, no references, no null where leaving out will do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel

Schema = dict[str, Any]


def input_schema(model: type[BaseModel]) -> Schema:
    """The schema of a tool's arguments; what may be left out is not said to accept null, though it does."""
    return _plain_object(model, "validation", nulls=False)


def output_schema(model: type[BaseModel]) -> Schema:
    """The schema of what a tool returns."""
    return _plain_object(model, "serialization", nulls=True)


def _plain_object(
    model: type[BaseModel], mode: Literal["validation", "serialization"], *, nulls: bool
) -> Schema:
    schema = model.model_json_schema(mode=mode)
    shared = schema.pop("$defs", {})
    plain: Schema = _plain(schema, shared, nulls=nulls)
    plain.pop("description", None)  # that of the model, which the tool's own says better
    needed = plain.get("required", [])
    plain["properties"] = dict(
        sorted(plain.get("properties", {}).items(), key=lambda item: item[0] not in needed)
    )
    return plain


def _plain(node: Any, shared: Mapping[str, Any], *, nulls: bool) -> Any:
    if isinstance(node, list):
        return [_plain(item, shared, nulls=nulls) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = shared[node["$ref"].rpartition("/")[2]]
        beside = {name: value for name, value in node.items() if name != "$ref"}
        return _plain({**target, **beside}, shared, nulls=nulls)
    told = {
        name: _properties(value, shared, nulls=nulls)
        if name == "properties"
        else _plain(value, shared, nulls=nulls)
        for name, value in node.items()
        if name != "title"
    }
    return told if nulls else _without_null(told)


def _properties(properties: Mapping[str, Any], shared: Mapping[str, Any], *, nulls: bool) -> Schema:
    """Of these the names are ours, ``title`` among them."""
    return {name: _plain(value, shared, nulls=nulls) for name, value in properties.items()}


def _without_null(node: Schema) -> Schema:
    if node.get("default", 0) is None:
        del node["default"]
    choices = [choice for choice in node.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) == 1:
        rest = {name: value for name, value in node.items() if name != "anyOf"}
        return {**choices[0], **rest}
    if choices:
        node["anyOf"] = choices
    return node
