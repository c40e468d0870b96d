"""Reading models from what a database returned, which may be of another version."""

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
    """A value of a model from a row or document. What a later version added to it is left out.

    Raises:
        SchemaMismatch: something is missing, since the database is of an earlier version.
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
    """A value of a model from a JSON document, each field as its type says.

    Moments are texts in ISO 8601, tuples are lists, and models are objects or lists of their fields.

    Raises:
        SchemaMismatch: something is missing, since the database is of an earlier version.
    """
    if not isinstance(document, Mapping):
        return model(*document)
    fields_of: Any = model  # mypy holds that classes of dataclasses cannot be hashed
    readers = _readers(fields_of)
    return read_as(model, {name: readers.get(name, _unchanged)(value) for name, value in document.items()})


@cache
def _readers(model: type[Any]) -> Mapping[str, Callable[[Any], Any]]:
    """How each field of a model is read."""
    return {name: _reader(kind) for name, kind in get_type_hints(model).items()}


def _reader(kind: Any) -> Callable[[Any], Any]:
    """Converts JSON to a type of a field: those that the models have."""
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
