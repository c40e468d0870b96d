"""Conversion of rows and documents to models, from a database that may have another version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from pgrecall.errors import SchemaMismatch

T = TypeVar("T")


def read_as(model: type[T], values: Mapping[str, Any]) -> T:
    """Converts a row or document to a model. Fields that a later version added are ignored.

    Raises:
        SchemaMismatch: a field is missing, because the database has an earlier version.
    """
    try:
        return model(**values)
    except TypeError:
        known = fields(model)  # type: ignore[arg-type]  # every model is a dataclass
        for field in known:
            if field.name not in values and field.default is MISSING and field.default_factory is MISSING:
                raise SchemaMismatch(
                    f"This database returned no {field.name} for {model.__name__}: its schema is older.",
                    hint="Run `pgrecall upgrade` for it.",
                ) from None
        return model(**{field.name: values[field.name] for field in known if field.name in values})


def read_document(model: type[T], document: Any) -> T:
    """Converts a JSON document to a model, each field by its type.

    Times are strings in ISO 8601, tuples are lists, and models are objects or lists of their fields.

    Raises:
        SchemaMismatch: a field is missing, because the database has an earlier version.
    """
    if not isinstance(document, Mapping):
        return model(*document)
    fields_of: Any = model  # mypy takes classes of dataclasses for unhashable
    readers = _readers(fields_of)
    return read_as(model, {name: readers.get(name, _unchanged)(value) for name, value in document.items()})


@cache
def _readers(model: type[Any]) -> Mapping[str, Callable[[Any], Any]]:
    """Returns a converter for each field of a model."""
    return {name: _reader(kind) for name, kind in get_type_hints(model).items()}


def _reader(kind: Any) -> Callable[[Any], Any]:
    """Returns a converter from JSON to the type of a field; covers the types in models."""
    parts = [part for part in get_args(kind) if part is not NoneType]
    origin = get_origin(kind)
    if origin is UnionType:
        read = _reader(parts[0])
        return lambda value: None if value is None else read(value)
    if origin is tuple:
        each = _reader(parts[0])
        return lambda values: tuple(map(each, values))
    if origin is Mapping:
        named = _reader(parts[1])
        return lambda values: {name: named(value) for name, value in values.items()}
    if kind is datetime:
        return datetime.fromisoformat
    model: Any = kind
    return partial(read_document, model) if is_dataclass(kind) else _unchanged


def _unchanged(value: Any) -> Any:
    return value
