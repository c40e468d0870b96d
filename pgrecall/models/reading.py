"""Reading models from what a database returned, which may be of another version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

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
                    f"This database does not know {field.name} of {model.__name__}, as earlier versions.",
                    hint="Run `pgrecall upgrade` for it.",
                ) from None
        return model(**{field.name: values[field.name] for field in known if field.name in values})
