"""A dump made with pg_dump comes back with psql, in whatever order it lists what it holds."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import psycopg
import pytest

from pgrecall.embedded.cluster import find_wheel
from pgrecall.schema import migrate
from tests.given_server import GIVEN

WORDS = "SELECT tenant, id, language, search_text::text FROM recall.memory ORDER BY tenant, id"
NAMES = "SELECT tenant, name, plain FROM recall.name ORDER BY 1, 2"


def program(name: str) -> str:
    """A program of Postgres: of the embedded one, or of the version of the given server."""
    if GIVEN is None and (found := Path(find_wheel()) / "pginstall" / "bin" / name).exists():
        return str(found)
    path = shutil.which(name) or pytest.skip(f"{name} is not installed")
    if GIVEN is not None:
        with psycopg.connect(GIVEN) as connection:
            major = connection.info.server_version // 10_000
        if f" {major}." not in run([path, "--version"]):
            pytest.skip(f"{path} is not of the server's version {major}")
    return path


def run(command: Sequence[str], given: str = "") -> str:
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def stored(url: str) -> list[list[tuple[object, ...]]]:
    with psycopg.connect(url) as connection:
        return [connection.execute(sql).fetchall() for sql in (WORDS, NAMES)]


def test_a_dump_restores_words_and_names_as_they_were(database_url: str, empty_database: str) -> None:
    with psycopg.connect(database_url) as connection:
        for tenant, language in (("acme", "english"), ("ana", "spanish")):
            connection.execute("SELECT set_config('recall.tenant', %s, false)", (tenant,))
            connection.execute("SELECT recall.set_language(%s)", (language,))
            connection.execute(
                "SELECT recall.remember('Cantaban canciones at the café', 'José Muñoz', "
                "p_layer => 'entity', p_author => 'Zoë', p_tags => ARRAY['IT'])"
            )
    dump = run([program("pg_dump"), database_url])
    run([program("psql"), "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", empty_database], dump)
    assert stored(empty_database) == stored(database_url)
    assert not migrate.upgrade(empty_database).changed
    with psycopg.connect(empty_database) as connection:
        connection.execute("SELECT set_config('recall.tenant', 'ana', false)")
        assert len(connection.execute("SELECT * FROM recall.search('cantaron')").fetchall()) == 1
