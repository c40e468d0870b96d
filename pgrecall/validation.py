"""What a value must be, in plain words, for the errors that pydantic tells in its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_WHOLE, _NUMBER, _TRUTH, _TEXT = "a whole number", "a number", "true or false", "a text"
_LIST, _OBJECT, _TIME = "a list", "an object", "a date or time as in ISO 8601"
_KINDS = {
    _WHOLE: ("int_type", "int_parsing", "int_parsing_size", "int_from_float"),
    _NUMBER: ("float_type", "float_parsing", "finite_number", "number_type"),
    _TRUTH: ("bool_type", "bool_parsing"),
    _TEXT: ("string_type", "string_sub_type", "string_unicode"),
    _LIST: ("list_type", "tuple_type", "set_type", "frozen_set_type"),
    _OBJECT: ("dict_type", "mapping_type", "model_type", "model_attributes_type", "dataclass_type"),
    _TIME: ("datetime_type", "datetime_parsing", "datetime_from_date_parsing", "time_type"),
}
_MUST = {kind: f"must be {what}" for what, kinds in _KINDS.items() for kind in kinds} | {
    "literal_error": "must be {expected}",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must have at least {min_length} items",
    "too_long": "must have at most {max_length} items",
}


def what_it_must_be(error: Mapping[str, Any]) -> str | None:
    """The words for one of pydantic's errors, such as ``must be a whole number``; None for any other."""
    context = error.get("ctx", {})
    if context.get("min_length") == 1:
        return "must not be empty"
    words = _MUST.get(error["type"])
    return None if words is None else words.format(**context)
