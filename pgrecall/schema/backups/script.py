"""A dump as a script, run over a connection of our own: pg_restore could not load the modules of extensions.

Without them, only a superuser may create functions that set a module's parameters.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import psycopg

from pgrecall.database.server import Row
from pgrecall.schema.backups.programs import lines_of
from pgrecall.schema.roles import run_statement

_COPY = re.compile(rb"COPY .* FROM stdin;\n")
_COPY_END = b"\\.\n"
_OF_PSQL = (b"\\restrict ", b"\\unrestrict ")
_NEWER = b"SET transaction_timeout"
"""A setting that Postgres 17 introduced."""

_BLOCK = 1_000_000
"""Bytes of rows sent at a time."""

_EXTENSION = re.compile(r"; \d+ \d+ EXTENSION - ")

_PATH = (
    "SELECT set_config('search_path', string_agg(DISTINCT quote_ident(n.nspname), ', '), true) "
    "FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
    "WHERE e.extname IN ('vector', 'pg_trgm')"
)


def run_script(
    connection: psycopg.Connection[Row], program: Path, source: Path, entries: Sequence[str]
) -> None:
    """Restores the listed entries of a dump in the open transaction, which then owns what they create.

    Raises:
        DatabaseError: the dump is damaged, or Postgres refused it.
    """
    _run(connection, program, source, [entry for entry in entries if _EXTENSION.search(entry)])
    connection.execute(_PATH)
    connection.execute("SELECT NULL::vector, show_limit()")  # loads the modules
    _run(connection, program, source, [entry for entry in entries if not _EXTENSION.search(entry)])


def _run(connection: psycopg.Connection[Row], program: Path, source: Path, entries: Sequence[str]) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".list") as listed:
        listed.write("\n".join(entries))
        listed.flush()
        command: list[str | Path] = [
            program, "--no-owner", "--no-privileges", f"--use-list={listed.name}", "--file=-", source,
        ]  # fmt: skip
        left_out = _OF_PSQL if connection.info.server_version >= 170_000 else (*_OF_PSQL, _NEWER)
        with lines_of(command) as lines:
            statements: list[bytes] = []
            for line in lines:
                if _COPY.fullmatch(line):
                    run_statement(connection, b"".join(statements))
                    statements.clear()
                    _copy(connection, line, lines)
                elif not line.startswith(left_out):
                    statements.append(line)
            run_statement(connection, b"".join(statements))


def _copy(connection: psycopg.Connection[Row], statement: bytes, lines: IO[bytes]) -> None:
    """Stores the rows of a table, which follow its statement."""
    with connection.cursor().copy(statement) as copy:
        for block in _blocks(lines):
            copy.write(block)


def _blocks(lines: IO[bytes]) -> Iterator[bytes]:
    block: list[bytes] = []
    size = 0
    for line in lines:
        if line == _COPY_END:
            break
        block.append(line)
        size += len(line)
        if size >= _BLOCK:
            yield b"".join(block)
            block, size = [], 0
    yield b"".join(block)
