"""Errors as problem+json (RFC 9457). ``type`` tells programs which error it is, ``detail`` tells people."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from pgrecall.errors import (
    DatabaseBusy,
    DatabaseError,
    DatabaseTimeout,
    DatabaseUnavailable,
    DatabaseUnsuitable,
    EmbedderError,
    EmbedderMismatch,
    InvalidInput,
    MemoryNotFound,
    MissingExtra,
    RecallError,
    RerankerError,
    SchemaMismatch,
)

MEDIA_TYPE = "application/problem+json"
NAMESPACE = "urn:pgrecall:problem:"
RETRY_AFTER = "1"
"""Seconds after which what failed for the moment may be asked again."""

_PASSING = ("40", "53", "55", "57")
"""SQLSTATE classes of what may succeed another time: conflicts, lack of resources, locks, cancellation."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What an error is over HTTP."""

    status: int
    name: str
    title: str


KINDS: Mapping[type[RecallError], Kind] = {
    RecallError: Kind(500, "error", "It did not work"),
    InvalidInput: Kind(422, "invalid-input", "A value cannot be used"),
    MemoryNotFound: Kind(404, "memory-not-found", "There is no such memory"),
    EmbedderMismatch: Kind(409, "embedder-mismatch", "The embedder is not the database's"),
    DatabaseError: Kind(500, "database-error", "Postgres refused"),
    DatabaseUnavailable: Kind(503, "database-unavailable", "Postgres does not answer"),
    DatabaseBusy: Kind(503, "database-busy", "No connection to Postgres is free"),
    DatabaseTimeout: Kind(504, "database-timeout", "Postgres took too long"),
    DatabaseUnsuitable: Kind(500, "database-unsuitable", "Postgres lacks something"),
    SchemaMismatch: Kind(503, "schema-mismatch", "The schema is not this version's"),
    EmbedderError: Kind(502, "embedder-failed", "The embedder failed"),
    RerankerError: Kind(502, "reranker-failed", "The reranker failed"),
    MissingExtra: Kind(500, "missing-extra", "Something is not installed"),
}
PASSING = Kind(503, "try-again", "Postgres could not do it now")
MALFORMED = Kind(400, "malformed-json", "The body is not JSON")
INVALID = Kind(422, "invalid-request", "The request is not of the form it must have")
INTERNAL = Kind(500, "internal-error", "Something went wrong here")


_SAID = {
    404: "There is nothing at this path; /openapi.json lists what there is.",
    405: "This path takes other methods; the header Allow has them.",
}
"""What to say where a framework says no more than its status."""


def problem(kind: Kind, detail: str, *, headers: Mapping[str, str] | None = None, **more: object) -> Response:
    """An answer that says what is wrong; empty members are left out."""
    document = {"type": NAMESPACE + kind.name, "title": kind.title, "status": kind.status, "detail": detail}
    document |= {name: value for name, value in more.items() if value}
    # Escaped: what is quoted may hold half a surrogate pair, which has no UTF-8.
    return Response(json.dumps(document).encode(), kind.status, dict(headers or {}), MEDIA_TYPE)


def refused(error: HTTPException) -> Response:
    """What a status says by itself, as a problem."""
    phrase = HTTPStatus(error.status_code).phrase
    kind = Kind(error.status_code, phrase.lower().replace(" ", "-"), phrase)
    detail = error.detail if error.detail != phrase else _SAID.get(error.status_code, f"{phrase}.")
    return problem(kind, f"{detail.rstrip('.')}.", headers=error.headers)


def failed(error: RecallError) -> Response:
    """The problem that one of our errors is."""
    kind = kind_of(error)
    headers = {"Retry-After": RETRY_AFTER} if kind.status == HTTPStatus.SERVICE_UNAVAILABLE else None
    return problem(kind, error.message, headers=headers, hint=error.hint)


def kind_of(error: RecallError) -> Kind:
    """What this error is over HTTP: that of the nearest class above it that has a kind."""
    passing = type(error) is DatabaseError and (error.sqlstate or "").startswith(_PASSING)
    return PASSING if passing else next(KINDS[base] for base in type(error).__mro__ if base in KINDS)


def add_problems(app: FastAPI) -> None:
    """Every error of the application becomes a problem."""

    async def on_refusal(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return refused(error)

    async def on_failure(request: Request, error: Exception) -> Response:
        assert isinstance(error, RecallError)
        request.state.failure = error
        return failed(error)

    async def on_invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return invalid(error.errors())

    async def on_anything_else(_: Request, error: Exception) -> Response:
        return problem(INTERNAL, f"An error of the kind {type(error).__name__}; the log has more.")

    app.add_exception_handler(HTTPException, on_refusal)
    app.add_exception_handler(RecallError, on_failure)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(Exception, on_anything_else)


def invalid(errors: Sequence[Mapping[str, Any]]) -> Response:
    """What is wrong with a request, place by place; nothing that was sent is repeated."""
    if errors and errors[0]["type"] == "json_invalid":
        return problem(MALFORMED, f"The body is not JSON: {errors[0]['ctx']['error']}.")
    found = [{"where": _place(error["loc"]), "problem": error["msg"]} for error in errors]
    first = found[0] if found else {"where": "request", "problem": "it cannot be read"}
    return problem(INVALID, f"{first['where']}: {first['problem']}.", errors=found)


def _place(location: Sequence[int | str]) -> str:
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in location]
    return "".join(steps).lstrip(".")
