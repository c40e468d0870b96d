"""The page of limits says what the code does."""

from __future__ import annotations

from pgrecall import encoding
from pgrecall.cells import routes
from pgrecall.faces import json_bodies
from pgrecall.faces.http import connections, schemas, server
from pgrecall.faces.mcp import http as mcp_http
from pgrecall.importers import draft_checks
from pgrecall.models import word_differences
from tests.acceptance.docs.doc_blocks import PAGES

[PAGE] = [page for page in PAGES if page.name == "limits.md"]


def row(beginning: str) -> str:
    """The only row of a table that begins so."""
    [found] = [line for line in PAGE.read_text().splitlines() if line.startswith(f"| {beginning}")]
    return found


def test_the_numbers_are_those_of_the_code() -> None:
    kept = connections.KEPT_FILES
    for beginning, numbers in (
        ("text ", [draft_checks.MAX_BODY_LENGTH]),
        ("title ", [draft_checks.MAX_TITLE_LENGTH]),
        ("metadata: depth", [encoding.MAX_LEVELS]),
        ("JSON lists", [json_bodies.MAX_CONTAINERS, json_bodies.MAX_VALUES]),
        ("items of one list", [schemas.MAX_ITEMS]),
        ("headers", [server.MAX_HEADER_BYTES // 1024]),
        ("MCP sessions", [mcp_http.SESSIONS]),
        ("connections that wait", [connections.MAX_WAITING_OF_ADDRESS]),
        ("the same, of all", [connections.MAX_WAITING]),
        ("connections together", [connections.MAX_CONNECTIONS, kept]),
        ("idle time", [server.KEEP_ALIVE_WITHOUT_KEY, server.KEEP_ALIVE]),
        ("words, or lines", [word_differences.MAX_WORDS]),
        ("steps of", [word_differences.MAX_STEPS]),
        ("age of what", [int(routes.PLACE_KNOWN)]),
    ):
        said = row(beginning)
        assert all(f"{number:,}" in said for number in numbers), (said, numbers)
