"""Errors over HTTP: every one of ours has a status, and none tells more than it should."""

from __future__ import annotations

import inspect
import io
import json
import logging

import pytest

from pgrecall import errors
from pgrecall.errors import DatabaseError, InvalidInput, MemoryNotFound, RecallError
from pgrecall.faces.http.local_requests import host_of
from pgrecall.faces.http.logs import bridged, service_log, whereabouts
from pgrecall.faces.http.problems import KINDS, failed, invalid, kind_of

TREE = [value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, RecallError)]


def test_every_error_has_a_kind_of_its_own() -> None:
    assert set(KINDS) == set(TREE)
    assert len({kind.name for kind in KINDS.values()}) == len(KINDS)
    assert all(400 <= kind.status < 600 for kind in KINDS.values())


def test_an_error_that_derives_from_one_of_ours_has_its_kind() -> None:
    class Particular(InvalidInput):
        pass

    assert kind_of(Particular("No.")) is KINDS[InvalidInput]


@pytest.mark.parametrize(
    ("sqlstate", "status"), [("40P01", 503), ("53300", 503), ("57014", 503), ("XX000", 500), (None, 500)]
)
def test_what_may_succeed_another_time_says_when(sqlstate: str | None, status: int) -> None:
    answer = failed(DatabaseError("It failed.", sqlstate=sqlstate))
    assert answer.status_code == status
    assert ("retry-after" in answer.headers) == (status == 503)


def test_a_problem_holds_the_sentence_and_the_way_out() -> None:
    document = json.loads(failed(MemoryNotFound("\ud800")).body)
    assert document["type"] == "urn:pgrecall:problem:memory-not-found"
    assert "in this tenant" in document["detail"]
    assert document["hint"]


def test_places_are_written_as_in_javascript() -> None:
    found = [{"type": "missing", "loc": ("body", "drafts", 2, "links", 0, "target"), "msg": "Field required"}]
    document = json.loads(invalid(found).body)
    assert document["errors"] == [{"where": "body.drafts[2].links[0].target", "problem": "Field required"}]


def test_of_an_unexpected_error_the_log_tells_the_place_and_not_the_words() -> None:
    stream = io.StringIO()
    log = service_log("json", stream)
    try:
        raise ValueError("what somebody remembered")
    except ValueError as error:
        told = whereabouts(error)
        with bridged(log):
            logging.getLogger("uvicorn.error").error("Exception in ASGI application", exc_info=error)
            logging.getLogger("somebody.else").warning("it said %s", "what somebody remembered")
            logging.getLogger("mcp.server").error("what somebody remembered")
    assert told["error"] == "ValueError"
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
    assert host_of(header) == host
