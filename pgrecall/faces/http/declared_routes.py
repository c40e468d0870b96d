"""The routes of the methods that are declared (:mod:`pgrecall.nouns.declared`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from types import FunctionType
from typing import Annotated, Any, get_args, get_origin

from fastapi import APIRouter, Path, Query

from pgrecall import AsyncMemory
from pgrecall.encoding import memory_reference
from pgrecall.faces.described import REFERENCE, REQUIRED, Described, Parameter, described
from pgrecall.faces.http.authentication import TenantMemory
from pgrecall.faces.http.request_handling import ApiRoute
from pgrecall.faces.http.schemas import (
    Changed,
    Counted,
    OptionalTimestamp,
    Timestamp,
    limits,
    request_body,
    response_list,
    response_model,
)
from pgrecall.nouns.declared import Declaration, declarations

REFERENCE_HELP = "Digits are an id, anything else is a key; `key:42` is the key 42."
MAX_NAME = 200
"""Characters of a name in a path."""
_COUNTS: dict[type, type[Changed | Counted]] = {bool: Changed, int: Counted}


def declared_methods(client: type) -> Iterator[tuple[Callable[..., Any], Declaration]]:
    """The declared methods of a client and of its groups, in their order."""
    for part in reversed(client.__mro__):
        for name in vars(part):
            member = getattr(client, name)
            members = vars(member).values() if isinstance(member, type) else (member,)
            for method in members:
                if isinstance(method, FunctionType):
                    for declaration in declarations(method):
                        yield method, declaration


def declared_router() -> APIRouter:
    """A router with every declared method of the client."""
    router = APIRouter(route_class=ApiRoute)
    for method, declaration in declared_methods(AsyncMemory):
        about = described(method)
        router.add_api_route(
            _path(about, declaration),
            _endpoint(about, declaration),
            methods=[declaration.verb],
            name=declaration.operation,
            description=about.about,
            response_model=_response(about.result),
            response_description=about.returns or "Successful Response",
            tags=[declaration.tag or about.group or "memories"],
        )
    return router


def _path(about: Described, declaration: Declaration) -> str:
    """The path; a memory's key at its end may contain slashes."""
    references = {each.name for each in about.parameters if each.type == REFERENCE}
    start, _, last = declaration.path.rpartition("/")
    return f"{start}/{last[:-1]}:path}}" if last.strip("{}") in references else declaration.path


def _endpoint(about: Described, declaration: Declaration) -> Callable[..., Any]:
    given = about.parameters
    in_path = [each for each in given if f"{{{each.name}}}" in declaration.path]
    others = [each for each in given if each not in in_path]
    fields = [each for each in others if each.name != "now"] and others  # a time alone is in the query
    if declaration.verb in ("GET", "DELETE") or declaration.in_query:
        fields = []
    parameters = {each.name: (_path_type(each), each.default) for each in in_path}
    parameters |= {each.name: (_query_type(each), each.default) for each in others if each not in fields}
    if fields:
        model = "".join(word.title() for word in declaration.operation.split("_")) + "Body"
        parameters["body"] = (request_body(model, "", fields), REQUIRED)
    references = [each.name for each in given if each.type == REFERENCE and each not in fields]

    async def endpoint(client: AsyncMemory, **values: Any) -> Any:
        if fields:
            body = values.pop("body")
            values |= {name: getattr(body, name) for name in body.model_fields_set}
        values |= {name: memory_reference(values[name]) for name in references}
        result = await about.bound(client)(**values)
        return _COUNTS[about.result](result) if about.result in _COUNTS else result

    keyword = partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)
    vars(endpoint)["__signature__"] = inspect.Signature(
        [keyword("client", annotation=TenantMemory)]
        + [keyword(name, annotation=kind, default=default) for name, (kind, default) in parameters.items()]
    )
    return endpoint


def _path_type(parameter: Parameter) -> Any:
    if parameter.type == REFERENCE:
        return Annotated[str, Path(description=REFERENCE_HELP)]
    longest = MAX_NAME if parameter.type is str else None
    asked = Path(description=parameter.about, max_length=longest, **limits(parameter))
    return Annotated[parameter.type, asked]


def _query_type(parameter: Parameter) -> Any:
    kind = parameter.type
    if parameter.name == "now":
        return OptionalTimestamp
    if kind == REFERENCE:
        kind = str
    elif get_origin(kind) is Sequence:
        kind = list[get_args(kind)[0]]  # type: ignore[misc]  # a type at run time
    elif kind is datetime:
        kind = Timestamp
    asked = Query(description=parameter.about, **limits(parameter))
    return Annotated[kind | None if parameter.optional else kind, asked]


def _response(result: Any) -> Any:
    if get_origin(result) is tuple:
        return response_list(get_args(result)[0])
    kind: type = _COUNTS.get(result, result)
    return response_model(kind)
