"""Pydantic models of requests and responses, derived from the package's dataclasses and their docstrings."""

from __future__ import annotations

import operator
import re
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from datetime import UTC, datetime
from functools import cache, reduce
from inspect import getdoc
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import pydantic
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, GetCoreSchemaHandler, Strict
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from pgrecall.faces.described import REQUIRED, Parameter, markdown, named, section
from pgrecall.nouns.memories.not_given import plain
from pgrecall.nouns.search.models import ConversationTurn

MAX_TEXT_LENGTH = 1_000_000
"""Characters of any text in a request; SQL holds single fields to narrower limits."""

MAX_ITEMS = 10_000
"""Items of any list in a request: checking and storing millions of small ones would keep others waiting."""

_BOUNDS: Mapping[str, Mapping[str, float]] = {
    "k": {"ge": 1, "le": 1000},
    "min_relevance": {"ge": 0, "le": 1},
    "budget_tokens": {"ge": 1, "le": 10_000_000},
}
"""Bounds that SQL enforces too; here for the OpenAPI document."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class NowField:
    """A body with nothing but its time.

    Attributes:
        now: time to use instead of the database's clock.
    """

    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    """Whether the request changed anything."""

    changed: bool


@dataclass(frozen=True, slots=True)
class Counted:
    """How many rows the request affected."""

    count: int


class _FailFast(pydantic.FailFast):
    __hash__ = object.__hash__  # parts of a union must be hashable


class _RequestModel(BaseModel):
    """Unknown fields are refused, not ignored."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, str_max_length=MAX_TEXT_LENGTH)


class _MessageModel(_RequestModel):
    """A message as chats keep it, with more than is read of it: its time, its name, its calls of tools."""

    model_config = ConfigDict(extra="ignore", json_schema_extra={"unevaluatedProperties": True})


class _ResponseModel(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class Body:
    """Annotates a parameter as a JSON object with the fields of dataclasses or TypedDicts.

    ``Annotated[Draft, Body(Draft)]`` is a Draft. ``Annotated[dict[str, Any], Body(A, B)]`` is a dict of the
    fields that the request has, so that defaults stay with the client.
    """

    def __init__(self, *types: type, without: tuple[str, ...] = (), name: str = "") -> None:
        definitions: dict[str, Any] = {}
        for each in types:
            definitions |= _request_fields(each)
        kept = {field: definition for field, definition in definitions.items() if field not in without}
        base = _MessageModel if ConversationTurn in types else _RequestModel
        self.model = _request_model(name or types[0].__name__, _summary(types[0]), kept, base)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        build = source if is_dataclass(source) and isinstance(source, type) else dict
        return core_schema.no_info_after_validator_function(
            lambda body: build(**{name: getattr(body, name) for name in body.model_fields_set}),
            core_schema.no_info_before_validator_function(_require_few, handler.generate_schema(self.model)),
        )


def request_body(name: str, about: str, parameters: Sequence[Parameter]) -> Any:
    """The type of a body with these parameters of a method; its values are those that were given."""
    definitions = {
        each.name: (
            _request_type(each.type | None if each.optional else each.type),
            pydantic.Field(
                ... if each.default is REQUIRED else each.default,
                description=each.about or None,
                **limits(each),
            ),
        )
        for each in parameters
    }
    return Annotated[_request_model(name, about, definitions), BeforeValidator(_require_few)]


def limits(parameter: Parameter) -> dict[str, Any]:
    """The bounds of a number, as keywords of ``Field``, ``Path`` and ``Query``."""
    return {} if parameter.bounds is None else {"ge": parameter.bounds.low, "le": parameter.bounds.high}


def _request_model(
    name: str, about: str, definitions: Mapping[str, Any], base: type[BaseModel] = _RequestModel
) -> type[BaseModel]:
    return pydantic.create_model(name, __base__=base, __doc__=about, **definitions)


@cache
def response_model(kind: type) -> type[BaseModel]:
    """The model of a response: the fields and properties of a dataclass, recursively."""
    hints, descriptions = get_type_hints(kind), _descriptions(kind)
    definitions: dict[str, Any] = {
        field.name: (
            _map_type(hints[field.name], _response_type),
            pydantic.Field(..., description=descriptions.get(field.name)),
        )
        for field in fields(kind)
    }
    for name, member in vars(kind).items():
        if isinstance(member, property) and member.fget is not None:
            definitions[name] = (_map_type(get_type_hints(member.fget)["return"], _response_type), ...)
    return pydantic.create_model(
        kind.__name__, __base__=_ResponseModel, __doc__=_summary(kind), **definitions
    )


def response_list(kind: type) -> Any:
    """The model of a list of such responses."""
    return types.GenericAlias(list, (response_model(kind),))


def _request_fields(kind: type) -> dict[str, Any]:
    hints, descriptions = get_type_hints(kind), _descriptions(kind)
    if is_typeddict(kind):
        return {
            name: (_request_type(hint), pydantic.Field(None, description=descriptions.get(name)))
            for name, hint in hints.items()
        }
    return {
        field.name: (
            _request_type(hints[field.name]),
            _field_info(field, descriptions.get(field.name)),
        )
        for field in fields(kind)
    }


def _field_info(field: Field[Any], description: str | None) -> Any:
    options: dict[str, Any] = {"description": description, **_BOUNDS.get(field.name, {})}
    if field.default_factory is not MISSING:
        return pydantic.Field(default_factory=field.default_factory, **options)
    if field.default is MISSING:
        return pydantic.Field(**options)
    return pydantic.Field(plain(field.default), **options)


def _map_type(
    hint: Any, convert: Callable[[Any], Any], convert_list: Callable[[Any], Any] = lambda hint: hint
) -> Any:
    """Applies ``convert`` to the leaves of a type, and ``convert_list`` to the lists and mappings in it."""
    arguments = get_args(hint)
    if not arguments or get_origin(hint) is Literal:
        return convert(hint)
    inner = [_map_type(argument, convert, convert_list) for argument in arguments]
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return reduce(operator.or_, inner)
    return convert_list(origin[tuple(inner)])


def _response_type(hint: Any) -> Any:
    return response_model(hint) if isinstance(hint, type) and is_dataclass(hint) else hint


def _request_type(hint: Any) -> Any:
    return _map_type(hint, _value_type, _bounded)


def _bounded(hint: Any) -> Any:
    """A list or mapping of at most ``MAX_ITEMS``.

    None is read if there are more, and none after the first that is invalid: collecting the errors of a few
    million items took ten seconds, in which nobody else was served.
    """
    if get_origin(hint) is Sequence:
        hint = types.GenericAlias(list, get_args(hint))
    stop = (_FailFast(),) if get_origin(hint) in (list, tuple) else ()
    return Annotated[hint, pydantic.Field(max_length=MAX_ITEMS), *stop, BeforeValidator(_require_few)]


def _value_type(hint: Any) -> Any:
    """The type with the strictness of JSON: neither true nor "1" is the number 1; a time without a zone is
    UTC."""
    if hint is datetime:
        return Timestamp
    if isinstance(hint, type) and is_dataclass(hint):
        return Annotated[hint, Body(hint)]
    if hint in (int, float):
        return Annotated[hint, BeforeValidator(_require_number)]
    return Annotated[bool, Strict()] if hint is bool else hint


def _require_number(value: object) -> object:
    if isinstance(value, bool | str):
        raise PydanticCustomError("number_type", "It must be a number")
    return value


def _require_few(value: object) -> object:
    if isinstance(value, list | dict) and len(value) > MAX_ITEMS:
        raise PydanticCustomError(
            "too_many",
            "There are {count} items; at most {most} are allowed in one request",
            {"count": f"{len(value):,}", "most": f"{MAX_ITEMS:,}"},
        )
    return value


def _require_date(value: object) -> object:
    if not isinstance(value, datetime) and not (isinstance(value, str) and _DATE.match(value)):
        raise PydanticCustomError("time_type", "It must be a date or time as in ISO 8601")
    return value


def _default_to_utc(time: datetime) -> datetime:
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


Timestamp = Annotated[datetime, BeforeValidator(_require_date), AfterValidator(_default_to_utc)]
"""A time in JSON and in query parameters."""

OptionalTimestamp = Timestamp | None


def _summary(kind: type) -> str:
    """The docstring without its list of attributes."""
    return markdown(section(getdoc(kind) or "", "").strip())


@cache
def _descriptions(kind: type) -> Mapping[str, str]:
    """The description of each field that the docstring's ``Attributes`` section has."""
    found: dict[str, str] = {}
    for part in reversed(kind.__mro__):
        found |= named(section(getdoc(part) or "", "Attributes"))
    return found
