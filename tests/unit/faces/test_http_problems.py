"""Errors over HTTP: every class has a problem type, and logs never quote a memory."""

from __future__ import annotations

import inspect
import io
import json
import logging
from typing import Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from pgrecall import errors
from pgrecall.errors import DatabaseError, InvalidInput, MemoryNotFound, RecallError
from pgrecall.faces.http.logs import error_location, forward_library_logs, service_log
from pgrecall.faces.http.middleware import host_name
from pgrecall.faces.http.problems import PROBLEM_TYPES, error_problem, problem_type, validation_problem

TREE = [value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, RecallError)]


def test_every_error_class_has_its_own_problem_type() -> None:
    assert set(PROBLEM_TYPES) == set(TREE)
    assert len({kind.name for kind in PROBLEM_TYPES.values()}) == len(PROBLEM_TYPES)
    assert all(400 <= kind.status < 600 for kind in PROBLEM_TYPES.values())


def test_a_subclass_has_the_problem_type_of_its_base() -> None:
    class Particular(InvalidInput):
        pass

    assert problem_type(Particular("No.")) is PROBLEM_TYPES[InvalidInput]


@pytest.mark.parametrize(
    ("sqlstate", "status"),
    [("40P01", 503), ("53300", 503), ("57014", 503), ("25P04", 503), ("XX000", 500), (None, 500)],
)
def test_transient_database_errors_have_retry_after(sqlstate: str | None, status: int) -> None:
    answer = error_problem(DatabaseError("It failed.", sqlstate=sqlstate))
    assert answer.status_code == status
    assert ("retry-after" in answer.headers) == (status == 503)


def test_a_problem_has_the_message_and_the_hint() -> None:
    document = json.loads(error_problem(MemoryNotFound("\ud800")).body)
    assert document["type"] == "urn:pgrecall:problem:memory-not-found"
    assert "in this tenant" in document["detail"]
    assert document["hint"]


def test_places_are_written_as_in_javascript() -> None:
    found = [{"type": "missing", "loc": ("body", "drafts", 2, "links", 0, "target"), "msg": "Field required"}]
    document = json.loads(validation_problem(found).body)
    assert document["errors"] == [{"where": "body.drafts[2].links[0].target", "problem": "It is missing"}]


def test_the_log_has_the_place_of_an_unexpected_error_and_not_its_message() -> None:
    stream = io.StringIO()
    log = service_log("json", stream)
    try:
        raise ValueError("what somebody remembered")
    except ValueError as error:
        location = error_location(error)
        with forward_library_logs(log):
            logging.getLogger("uvicorn.error").error("Exception in ASGI application", exc_info=error)
            logging.getLogger("somebody.else").warning("it said %s", "what somebody remembered")
            logging.getLogger("mcp.server").error("what somebody remembered")
    assert location["error"] == "ValueError"
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert first["frames"][-1].startswith("test_http_problems.py:")
    assert second["event"] == "it said %s"
    assert "remembered" not in stream.getvalue()


def test_a_log_for_a_console_has_a_line_for_each_event() -> None:
    stream = io.StringIO()
    service_log("console", stream).info("request", route="/v1/search", status=200)
    assert "route=/v1/search" in stream.getvalue()
    assert stream.getvalue().count("\n") == 1


@pytest.mark.parametrize(
    ("header", "host"),
    [
        ("localhost", "localhost"), ("LocalHost:8766", "localhost"), ("127.0.0.1:80", "127.0.0.1"),
        ("[::1]", "::1"), ("[::1]:8766", "::1"), ("evil.example:80", "evil.example"), ("", ""),
    ],
)  # fmt: skip
def test_the_host_of_a_header(header: str, host: str) -> None:
    assert host_name(header) == host


def test_problems_of_fields_are_told_in_plain_words() -> None:
    class Body(BaseModel, extra="forbid"):
        k: int
        share: float = Field(1, le=1)
        order: Literal["score", "time"] = "score"
        names: list[str] = Field([], max_length=2)

    with pytest.raises(ValidationError) as wrong:
        Body.model_validate({"k": "many", "share": 2, "order": "x", "names": ["a"] * 3, "limit": 3})
    document = json.loads(validation_problem(wrong.value.errors()).body)
    assert [one["problem"] for one in document["errors"]] == [
        "It must be a whole number",
        "It must be at most 1.0",
        "It must be 'score' or 'time'",
        "It must have at most 2 items",
        "There is no such field; /openapi.json lists those of each route",
    ]
