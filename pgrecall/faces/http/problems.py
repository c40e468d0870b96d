"""Errors as problem+json (RFC 9457): ``type`` for programs, ``detail`` for people."""

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
    AlertError,
    CellUnavailable,
    DatabaseBusy,
    DatabaseError,
    DatabaseTimeout,
    DatabaseUnavailable,
    DatabaseUnsuitable,
    EmbedderError,
    EmbedderMismatch,
    InvalidInput,
    LanguageModelError,
    MemoryNotFound,
    MissingExtra,
    RecallError,
    RerankerError,
    SchemaMismatch,
    TenantElsewhere,
)
from pgrecall.validation import what_it_must_be

MEDIA_TYPE = "application/problem+json"
NAMESPACE = "urn:pgrecall:problem:"
MAX_LISTED = 100
"""Errors of one request that its response lists."""

RETRY_AFTER = "1"
"""Seconds, for errors that may pass."""

_TRANSIENT = ("25006", "25P03", "25P04", "40", "53", "55", "57")
"""SQLSTATE classes of errors that may pass: read-only, conflicts, lack of resources, locks, cancellation."""


@dataclass(frozen=True, slots=True)
class ProblemType:
    """The status, type and title of a problem."""

    status: int
    name: str
    title: str


PROBLEM_TYPES: Mapping[type[RecallError], ProblemType] = {
    RecallError: ProblemType(500, "error", "The request failed"),
    InvalidInput: ProblemType(422, "invalid-input", "A value is invalid"),
    MemoryNotFound: ProblemType(404, "memory-not-found", "There is no such memory"),
    EmbedderMismatch: ProblemType(409, "embedder-mismatch", "The embedder does not match the database"),
    DatabaseError: ProblemType(500, "database-error", "Postgres refused the request"),
    DatabaseUnavailable: ProblemType(503, "database-unavailable", "Postgres does not answer"),
    CellUnavailable: ProblemType(503, "cell-unavailable", "The tenant's cell does not answer"),
    DatabaseBusy: ProblemType(503, "database-busy", "No connection to Postgres is free"),
    DatabaseTimeout: ProblemType(504, "database-timeout", "Postgres took too long"),
    TenantElsewhere: ProblemType(503, "tenant-elsewhere", "The tenant lives in another cell"),
    DatabaseUnsuitable: ProblemType(500, "database-unsuitable", "Postgres has missing parts"),
    SchemaMismatch: ProblemType(503, "schema-mismatch", "The schema does not match this version"),
    EmbedderError: ProblemType(502, "embedder-failed", "The embedder failed"),
    AlertError: ProblemType(502, "alert-failed", "The alert hook failed"),
    RerankerError: ProblemType(502, "reranker-failed", "The reranker failed"),
    LanguageModelError: ProblemType(502, "language-model-failed", "The language model failed"),
    MissingExtra: ProblemType(500, "missing-extra", "A package is not installed"),
}
TRY_AGAIN = ProblemType(503, "try-again", "Postgres could not complete the request")
MALFORMED_JSON = ProblemType(400, "malformed-json", "The body is not JSON")
INVALID_REQUEST = ProblemType(422, "invalid-request", "The request does not have the required form")
INTERNAL_ERROR = ProblemType(500, "internal-error", "Internal error")

CLOSING = {"Connection": "close"}
"""Headers of an unexpected error: the server closes the connection, so the client must not use it again."""

_DETAILS = {
    404: "There is nothing at this path; /openapi.json lists all paths.",
    405: "This path takes other methods; see the header Allow.",
}
"""For statuses that the framework raises without a detail."""

PROBLEM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "An error (RFC 9457) with `type` for programs, and `detail` and `hint` for people.",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {
            "type": "string",
            "format": "uri",
            "description": f"`{NAMESPACE}` and the name of the problem.",
            "examples": [f"{NAMESPACE}memory-not-found"],
        },
        "title": {"type": "string", "description": "What the type means."},
        "status": {"type": "integer", "minimum": 400, "maximum": 599, "description": "The HTTP status."},
        "detail": {"type": "string", "description": "What is wrong, in a sentence."},
        "hint": {"type": "string", "description": "How to solve it, if known."},
        "errors": {
            "type": "array",
            "items": {"$ref": "#/components/schemas/FieldProblem"},
            "description": f"The invalid fields, at most {MAX_LISTED}.",
        },
    },
}
FIELD_PROBLEM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "An invalid field of a request.",
    "required": ["where", "problem"],
    "properties": {
        "where": {"type": "string", "description": "Place of the field, as in `body.k`."},
        "problem": {"type": "string", "description": "Why it is invalid."},
    },
}


def problem_response(
    kind: ProblemType, detail: str, *, headers: Mapping[str, str] | None = None, **members: object
) -> Response:
    """A response with a problem; empty members are left out."""
    document = {"type": NAMESPACE + kind.name, "title": kind.title, "status": kind.status, "detail": detail}
    document |= {name: value for name, value in members.items() if value}
    # Escaped as ASCII: a quoted value may hold a lone surrogate, which UTF-8 cannot encode.
    return Response(json.dumps(document).encode(), kind.status, dict(headers or {}), MEDIA_TYPE)


def http_problem(error: HTTPException) -> Response:
    """The response to an HTTPException."""
    phrase = HTTPStatus(error.status_code).phrase
    kind = ProblemType(error.status_code, phrase.lower().replace(" ", "-"), phrase)
    detail = error.detail if error.detail != phrase else _DETAILS.get(error.status_code, f"{phrase}.")
    return problem_response(kind, f"{detail.rstrip('.')}.", headers=error.headers)


def error_problem(error: RecallError) -> Response:
    """The response to an error of the package."""
    kind = problem_type(error)
    headers = {"Retry-After": RETRY_AFTER} if kind.status == HTTPStatus.SERVICE_UNAVAILABLE else None
    return problem_response(kind, error.message, headers=headers, hint=error.hint)


_PLAIN = {
    "extra_forbidden": "There is no such field; /openapi.json lists those of each route",
    "missing": "It is missing",
}
"""Problems with a field, not with its value."""


def validation_problem(errors: Sequence[Mapping[str, Any]]) -> Response:
    """The response to a request of the wrong form: its errors by their places, without the values sent."""
    if errors and errors[0]["type"] == "json_invalid":
        return problem_response(MALFORMED_JSON, f"The body is not JSON: {errors[0]['ctx']['error']}.")
    found = [{"where": _place(error["loc"]), "problem": _words(error)} for error in errors[:MAX_LISTED]]
    first = found[0] if found else {"where": "request", "problem": "it cannot be read"}
    detail = f"{first['where']}: {first['problem']}."
    if len(errors) > MAX_LISTED:
        detail += f" The first {MAX_LISTED} of {len(errors):,} errors are listed."
    return problem_response(INVALID_REQUEST, detail, errors=found)


def _words(error: Mapping[str, Any]) -> str:
    must = what_it_must_be(error)
    return f"It {must}" if must else _PLAIN.get(error["type"], error["msg"])


def problem_type(error: RecallError) -> ProblemType:
    """The problem type of an error: that of its nearest base class in :data:`PROBLEM_TYPES`."""
    if type(error) is DatabaseError and (error.sqlstate or "").startswith(_TRANSIENT):
        return TRY_AGAIN
    return next(PROBLEM_TYPES[base] for base in type(error).__mro__ if base in PROBLEM_TYPES)


def add_error_handlers(app: FastAPI) -> None:
    """Makes every error of the application a problem."""

    async def on_http_exception(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return http_problem(error)

    async def on_recall_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, RecallError)
        request.state.failure = error
        return error_problem(error)

    async def on_validation_error(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return validation_problem(error.errors())

    async def on_unexpected_error(_: Request, error: Exception) -> Response:
        detail = f"An unexpected {type(error).__name__}; see the log."
        return problem_response(INTERNAL_ERROR, detail, headers=CLOSING)

    app.add_exception_handler(HTTPException, on_http_exception)
    app.add_exception_handler(RecallError, on_recall_error)
    app.add_exception_handler(RequestValidationError, on_validation_error)
    app.add_exception_handler(Exception, on_unexpected_error)


def _place(location: Sequence[int | str]) -> str:
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in location]
    return "".join(steps).lstrip(".")
