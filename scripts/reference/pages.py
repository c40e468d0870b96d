"""The pages of docs/reference, and which of them are not what they should be."""

from __future__ import annotations

from pathlib import Path

import psycopg

from scripts.reference.cli_page import cli_page
from scripts.reference.http_page import http_page
from scripts.reference.mcp_page import mcp_page
from scripts.reference.nouns_page import nouns_page
from scripts.reference.settings_page import settings_page
from scripts.reference.sql_page import sql_page

TARGET = Path(__file__).resolve().parents[2] / "docs" / "reference"


def pages(database_url: str) -> dict[str, str]:
    """Each page by its file's name."""
    with psycopg.connect(database_url) as connection:
        found = {"sql.md": sql_page(connection), "settings.md": settings_page(connection)}
    found |= {"cli.md": cli_page(), "http.md": http_page(), "mcp.md": mcp_page()}
    found["nouns.md"] = nouns_page(found)
    return {name: text.rstrip() + "\n" for name, text in found.items()}


def stale(found: dict[str, str]) -> list[str]:
    """The pages whose file says something else, or is not there."""
    there = {name: TARGET / name for name in found}
    return [
        name for name, file in there.items() if not file.exists() or file.read_text("utf-8") != found[name]
    ]
