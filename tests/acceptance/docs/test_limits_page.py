"""The page of limits says what the code does."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import pgrecall
from pgrecall import Draft, Memory, encoding
from pgrecall.cells import routes
from pgrecall.errors import InvalidInput
from pgrecall.faces import json_bodies
from pgrecall.faces.http import authentication, connections, request_limits, schemas, server
from pgrecall.faces.http.oauth import clients, provider
from pgrecall.faces.http.oauth import server as oauth_server
from pgrecall.faces.mcp import http as mcp_http
from pgrecall.importers import draft_checks, json_stream
from pgrecall.nouns.history import word_differences
from pgrecall.search import endpoint_limits
from pgrecall.search.rerank import scores
from pgrecall.settings import Settings
from tests.acceptance.docs.doc_blocks import PAGES

[PAGE] = [page for page in PAGES if page.name == "limits.md"]
ROWS = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
FUNCTIONS = Path(pgrecall.__file__).parent / "schema/functions"

USUAL = Settings()
MEBIBYTE = 2**20

NUMBERS: dict[str, list[float]] = {
    "text": [draft_checks.MAX_BODY_LENGTH],
    "title ": [draft_checks.MAX_TITLE_LENGTH],
    "metadata: depth": [encoding.MAX_LEVELS],
    "body, also of": [USUAL.http_body_bytes // MEBIBYTE],
    "JSON lists and objects; values": [json_bodies.MAX_CONTAINERS, json_bodies.MAX_VALUES],
    "JSON lists and objects of one line": [json_stream.MAX_CONTAINERS],
    "items of one list": [schemas.MAX_ITEMS],
    "bytes of all bodies": [USUAL.http_tenant_bytes // MEBIBYTE],
    "headers": [server.MAX_HEADER_BYTES // 1024],
    "time to send": [USUAL.http_timeout],
    "requests at once": [USUAL.pool_size, USUAL.http_queue],
    "MCP sessions": [mcp_http.SESSIONS],
    "OAuth: a body": [oauth_server.MAX_BODY_BYTES // 1024, clients.MAX_REDIRECTS, clients.MAX_REDIRECT],
    "OAuth: the id": [clients.MAX_ID, clients.MAX_NAME],
    "OAuth: the address": [request_limits.MAX_PATH_BYTES],
    "OAuth: validity": [
        oauth_server.CODE_SECONDS,
        provider.ACCESS_SECONDS // 3600,
        provider.REFRESH_SECONDS // 86400,
    ],
    "time after which": [authentication.CHECKED_AGAIN_AFTER],
    "connections that wait": [connections.MAX_WAITING_OF_ADDRESS, connections.MANY_WAITING],
    "the same, of all": [connections.MAX_WAITING],
    "connections together": [connections.MAX_CONNECTIONS, connections.KEPT_FILES],
    "idle time": [server.KEEP_ALIVE_WITHOUT_KEY, server.KEEP_ALIVE],
    "words, or lines": [word_differences.MAX_WORDS],
    "steps of": [word_differences.MAX_STEPS],
    "bytes of an answer": [endpoint_limits.MORE_BYTES // MEBIBYTE],
    "time that a cell has": [USUAL.connect_timeout],
    "age of what": [routes.PLACE_KNOWN],
}
"""Rows by their beginnings, with the numbers that they have from the code."""

IN_SQL = {
    "OAuth: grants": (20, "01_tenancy/10_grants.sql", "OFFSET 19"),
    "a page of memories": (16, "07_memories/08_list.sql", "p_max_bytes bigint DEFAULT 16000000"),
    "characters of each text": (20_000, "13_dedupe/05_show.sql", "least(20000, 1000000 /"),
    "ids of a cell": (40, "01_tenancy/09_cells.sql", "recall_private.cell_number() << 40"),
    "ids in an export": (52, "17_export/04_imported_ids.sql", "1::bigint << 52"),
    "ids that imports may": (36, "17_export/04_imported_ids.sql", "1::bigint << 36"),
    "ids that one new row": (10_000_000, "17_export/04_imported_ids.sql", "RETURN 10000000;"),
}
"""The same of what stands in an SQL function."""


def nested(levels: int) -> dict[str, object]:
    value: object = 1
    for _ in range(levels):
        value = {"a": value}
    assert isinstance(value, dict)
    return value


STORED: dict[str, tuple[int, Callable[[int], Draft]]] = {
    "text": (0, lambda many: Draft("x" * many)),
    "text ": (0, lambda many: Draft("x", context="x" * many)),
    "title ": (0, lambda many: Draft("x", title="x" * many)),
    "key ": (0, lambda many: Draft("x", key="k" * many)),
    "key  ": (1, lambda many: Draft("x", key="ü" * (many // 2) + "k" * (many % 2))),
    "author, source": (0, lambda many: Draft("x", author="a" * many)),
    "author, source ": (0, lambda many: Draft("x", source="s" * many)),
    "tags, aliases": (0, lambda many: Draft("x", tags=("t" * (many - 4),))),
    "tags, aliases ": (0, lambda many: Draft("x", aliases=("t" * (many - 4),))),
    "session ": (0, lambda many: Draft("x", session_id="s" * many)),
    "metadata: size": (0, lambda many: Draft("x", metadata={"a": "x" * (many - 17)})),  # which jsonb adds
    "metadata: depth": (0, lambda many: Draft("x", metadata=nested(many))),
}
"""Rows of what may be stored: which number of theirs is the limit, and a memory that has just as much."""

ELSEWHERE = {
    "what ": "the head of a table",
    "metadata: numbers": "tests/acceptance/test_limits.py",
    "times": "tests/integration/export/test_import_checks.py",
    "encoding of JSON": "tests/attack/test_fair_share.py",
    "time of an attempt": "tests/faults/test_costly_endpoints.py",
    "lists and objects of an answer": "tests/faults/test_costly_endpoints.py",
    "encodings of an answer": "tests/faults/test_costly_endpoints.py",
    "scores of a reranker": "tests/integration/rerank",
}
"""Rows that are tried in another test."""


def row(beginning: str) -> str:
    """The only row of a table that begins so."""
    [found] = [line for line in ROWS if line.startswith(f"| {beginning.strip()}")]
    return found


def numbers(beginning: str) -> list[int]:
    """The whole numbers of a row, without those of the names of settings."""
    return [int(said.replace(",", "")) for said in re.findall(r"\d[\d,]*", row(beginning))]


@pytest.mark.parametrize("beginning", NUMBERS)
def test_the_numbers_are_those_of_the_code(beginning: str) -> None:
    assert all(number in numbers(beginning) for number in NUMBERS[beginning]), row(beginning)


@pytest.mark.parametrize("beginning", IN_SQL)
def test_the_numbers_are_those_of_the_functions(beginning: str) -> None:
    number, file, written = IN_SQL[beginning]
    assert number in numbers(beginning)
    assert written in (FUNCTIONS / file).read_text()


def test_what_is_at_a_limit_is_stored_and_what_is_beyond_refused(memory: Memory) -> None:
    for beginning, (place, draft) in STORED.items():
        limit = numbers(beginning)[place]
        assert memory.remember_many([draft(limit)]), beginning
        try:
            memory.remember_many([draft(limit + 1)])
        except InvalidInput:
            continue
        raise AssertionError(f"{beginning}: more was stored")


def test_no_row_is_left_out() -> None:
    known = {beginning.strip() for beginning in (*NUMBERS, *IN_SQL, *STORED, *ELSEWHERE)}
    assert [line for line in ROWS if not line[2:].startswith(tuple(known))] == []


def test_scores_end_where_the_page_says() -> None:
    assert f"{scores.MAX_SCORE:.0e}".replace("+0", "") in row("scores of a reranker")
