"""Requests and answers as pydantic models, made from the dataclasses of the package: there is no second list
of their fields anywhere."""

from __future__ import annotations

import operator
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import UTC, datetime
from functools import cache, reduce
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import pydantic
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, GetCoreSchemaHandler, Strict
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from pgrecall.faces.http.docstrings import attributes_of, summary_of

LONGEST_TEXT = 1_000_000
"""Characters of any text in a request; what a single field may hold is narrower, and SQL says so."""

_BOUNDS: Mapping[str, Mapping[str, float]] = {
    "k": {"ge": 1, "le": 1000},
    "min_relevance": {"ge": 0, "le": 1},
    "budget_tokens": {"ge": 1, "le": 10_000_000},
}
"""Bounds that SQL holds too; here they are in the OpenAPI document."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d")


class _Given(BaseModel):
    """A request: what it does not know is refused, not ignored."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, str_max_length=LONGEST_TEXT)


class _Shown(BaseModel):
    """An answer, read from the attributes of a value."""

    model_config = ConfigDict(from_attributes=True)


class Given:
    """Annotates a parameter as a JSON object with the fields of dataclasses, or of TypedDicts.

    ``Annotated[Draft, Given(Draft)]`` is a draft; ``Annotated[dict[str, Any], Given(A, B)]`` is a mapping
    of those fields that were given, so that defaults stay where they are: in the client.
    """

    def __init__(self, *shapes: type, without: tuple[str, ...] = (), name: str = "") -> None:
        definitions: dict[str, Any] = {}
        for shape in shapes:
            definitions |= _asked(shape)
        kept = {field: definition for field, definition in definitions.items() if field not in without}
        self.model = pydantic.create_model(
            name or shapes[0].__name__, __base__=_Given, __doc__=summary_of(shapes[0]), **kept
        )

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        make = source if is_dataclass(source) and isinstance(source, type) else dict
        return core_schema.no_info_after_validator_function(
            lambda given: make(**{name: getattr(given, name) for name in given.model_fields_set}),
            handler.generate_schema(self.model),
        )


@cache
def shown(shape: type) -> type[BaseModel]:
    """The model of an answer: the fields of a dataclass and what it computes from them, all the way down."""
    hints, told = get_type_hints(shape), attributes_of(shape)
    definitions: dict[str, Any] = {
        field.name: (
            _mapped(hints[field.name], _as_shown),
            pydantic.Field(..., description=told.get(field.name)),
        )
        for field in fields(shape)
    }
    for name, member in vars(shape).items():
        if isinstance(member, property) and member.fget is not None:
            definitions[name] = (_mapped(get_type_hints(member.fget)["return"], _as_shown), ...)
    return pydantic.create_model(shape.__name__, __base__=_Shown, __doc__=summary_of(shape), **definitions)


def shown_many(shape: type) -> Any:
    """The model of a list of such answers."""
    return types.GenericAlias(list, (shown(shape),))


def _asked(shape: type) -> dict[str, Any]:
    hints, told = get_type_hints(shape), attributes_of(shape)
    if is_typeddict(shape):
        return {
            name: (_mapped(kind, _as_asked), pydantic.Field(None, description=told.get(name)))
            for name, kind in hints.items()
        }
    return {
        field.name: (_mapped(hints[field.name], _as_asked), _default(field, told.get(field.name)))
        for field in fields(shape)
    }


def _default(field: Field[Any], description: str | None) -> Any:
    more: dict[str, Any] = {"description": description, **_BOUNDS.get(field.name, {})}
    if field.default_factory is not MISSING:
        return pydantic.Field(default_factory=field.default_factory, **more)
    return pydantic.Field(**more) if field.default is MISSING else pydantic.Field(field.default, **more)


def _mapped(kind: Any, change: Callable[[Any], Any]) -> Any:
    """A type in which ``change`` has replaced what it is made of."""
    arguments = get_args(kind)
    if not arguments or get_origin(kind) is Literal:
        return change(kind)
    inner = [_mapped(argument, change) for argument in arguments]
    origin = get_origin(kind)
    return reduce(operator.or_, inner) if origin in (Union, types.UnionType) else origin[tuple(inner)]


def _as_shown(kind: Any) -> Any:
    return shown(kind) if isinstance(kind, type) and is_dataclass(kind) else kind


def _as_asked(kind: Any) -> Any:
    """The type as JSON has it: neither true nor "1" is the number 1, and a time without a zone is UTC."""
    if kind is datetime:
        return Moment
    if isinstance(kind, type) and is_dataclass(kind):
        return Annotated[kind, Given(kind)]
    if kind in (int, float):
        return Annotated[kind, BeforeValidator(_number)]
    return Annotated[bool, Strict()] if kind is bool else kind


def _number(given: object) -> object:
    if isinstance(given, bool | str):
        raise PydanticCustomError("number_type", "Input should be a number")
    return given


def _date(given: object) -> object:
    if not isinstance(given, datetime) and not (isinstance(given, str) and _DATE.match(given)):
        raise PydanticCustomError("moment_type", "Input should be an ISO 8601 date or time")
    return given


def _in_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


Moment = Annotated[datetime, BeforeValidator(_date), AfterValidator(_in_utc)]
"""A moment as JSON and queries have it."""

At = Moment | None
"""A moment in a query; without one it is now."""
