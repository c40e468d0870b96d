"""Writes docs/reference from the sources: SQL functions, settings, command line, HTTP and MCP.

First comes the list of SQL functions that the database has, because a database is made with it.

    python -m scripts.reference            writes the pages
    python -m scripts.reference --check    exits with 1 where a page is not what it should be

A migrated database is asked for the functions: PGRECALL_DATABASE_URL names one, else one is made.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.schema import migrate
from pgrecall.settings import load_settings
from scripts import sql_declarations
from scripts.reference.pages import TARGET, pages, stale


def main() -> None:
    checks = "--check" in sys.argv[1:]
    if not checks:
        sql_declarations.TARGET.write_text(sql_declarations.listed(), encoding="utf-8")
    url = load_settings().database_url
    found = pages(url.get_secret_value()) if url else _of_a_fresh_database()
    if checks:
        if wrong := [*stale(found), *sql_declarations.stale()]:
            sys.exit(f"Out of date: {', '.join(wrong)}. Run python -m scripts.reference.")
        return
    TARGET.mkdir(exist_ok=True)
    for name, text in found.items():
        (TARGET / name).write_text(text, encoding="utf-8")


def _of_a_fresh_database() -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # the server's account must pass, which is another one for root
        with EmbeddedServer.start(Path(folder) / "data", fast=True) as server:
            migrate.upgrade(server.url, dimensions=64)
            return pages(server.url)


if __name__ == "__main__":
    main()
