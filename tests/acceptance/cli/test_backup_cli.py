"""Backups by the command line: a database wrecked and brought back, kills, and what other users may see."""

from __future__ import annotations

import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.acceptance.cli.command_tools import Command, command_line, environment, started
from tests.databases import Query
from tests.faults.test_full_disk import mount
from tests.given_server import embedded_only
from tests.waiting import PATIENCE, until


@pytest.fixture
def filled(pgrecall_process: Command) -> Command:
    assert pgrecall_process("remember", "Mira mends the winch.", "--key", "winch").code == 0
    return pgrecall_process


def test_a_database_is_backed_up_wrecked_and_restored(
    filled: Command, query: Query, tmp_path: Path, empty_database: str
) -> None:
    file = tmp_path / "memories.dump"
    made = filled("backup", "create", str(file))
    assert (made.code, made.err) == (0, "")
    assert made.out.startswith("Backed up schema 00")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = filled("backup", "create", str(file))
    assert (again.code, again.out) == (2, "")
    assert again.err == f"Error: {file} exists already. Name another file, or use --force.\n"
    assert filled("backup", "create", "--force", str(file)).code == 0

    refused = filled("backup", "restore", str(file))
    assert (refused.code, "This database has tables of pgrecall already." in refused.err) == (2, True)
    query("DELETE FROM recall.memory", tenant="default")
    back = filled("backup", "restore", "--replace", str(file))
    assert (back.code, back.out.splitlines()[1]) == (0, "default: 19 checks, no problem.")
    assert filled("show", "winch").code == 0
    elsewhere = filled("backup", "restore", str(file), database_url=empty_database)
    assert elsewhere.code == 0
    assert filled("search", "winch", database_url=empty_database).code == 0


def test_a_stream_is_a_backup_too(database_url: str, tmp_path: Path, filled: Command) -> None:
    file = tmp_path / "stream.dump"
    with file.open("wb") as out:
        done = subprocess.run(
            command_line("backup", "create", "-"),
            stdout=out, stderr=subprocess.PIPE, env=environment(database_url=database_url), check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr.startswith(b"Backed up schema ")) == (0, True)
    assert file.read_bytes().startswith(b"PGDMP")
    assert filled("backup", "restore", "--replace", str(file)).code == 0
    back = _restored_from(file.read_bytes(), database_url, tmp_path)
    assert (back.returncode, b"no problem" in back.stdout) == (0, True), back.stderr
    assert list(tmp_path.glob("pgrecall-*")) == []


@pytest.mark.parametrize(("sent", "said"), [
    (b"", b"Standard input is not a backup."),
    (b'{"body": "x"}\n', b"Standard input is not a backup."),
    (b"PGDMP and no more", b"Standard input cannot be read: "),
])  # fmt: skip
def test_a_stream_that_is_no_backup(
    database_url: str, filled: Command, tmp_path: Path, sent: bytes, said: bytes
) -> None:
    refused = _restored_from(sent, database_url, tmp_path)
    assert refused.returncode == 2
    assert said in refused.stderr
    assert filled("show", "winch").code == 0


def _restored_from(data: bytes, url: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command_line("backup", "restore", "--replace", "-"),
        input=data,
        capture_output=True,
        env=environment(database_url=url) | {"TMPDIR": str(folder)},
        check=False,
    )


@embedded_only("starts an embedded server")
def test_a_backup_makes_a_new_embedded_database(filled: Command, tmp_path: Path, open_folder: Path) -> None:
    file = str(tmp_path / "memories.dump")
    assert filled("backup", "create", file).code == 0
    given = ("--data-dir", str(open_folder / "data"))
    done = filled(*given, "backup", "restore", file)
    assert done.code == 0, done.err
    assert filled(*given, "show", "winch").code == 0


@pytest.fixture
def waiting(database_url: str, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A backup under way over a file that exists: its pg_dump waits for a table."""
    (tmp_path / "memories.dump").write_text("the one of yesterday")
    name = str(conninfo_to_dict(database_url)["dbname"])
    secret = f"{database_url} password=swordfish"
    with psycopg.connect(database_url) as holder:
        holder.execute("LOCK TABLE recall.memory")
        file = str(tmp_path / "memories.dump")
        with started("backup", "create", "--force", file, database_url=secret) as process:
            until(lambda: _dumps(name) != [], "the start of pg_dump")
            yield process
    until(lambda: _dumps(name) == [], "the end of pg_dump")


def _dumps(database: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            words = process.cmdline()
        except psutil.Error:
            continue
        if words and words[0].endswith("pg_dump") and any(database in word for word in words):
            found.append(process)
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_killed_backup_leaves_the_file_of_before(
    waiting: subprocess.Popen[str], number: signal.Signals, tmp_path: Path, database_url: str
) -> None:
    [dump] = _dumps(str(conninfo_to_dict(database_url)["dbname"]))
    assert "swordfish" not in " ".join(dump.cmdline())
    waiting.send_signal(number)
    waiting.wait(PATIENCE)
    if number == signal.SIGINT:
        assert waiting.returncode == 130
        assert [path.name for path in tmp_path.iterdir()] == ["memories.dump"]
    dump.kill() if number == signal.SIGKILL else None
    assert (tmp_path / "memories.dump").read_text() == "the one of yesterday"


def test_a_full_disk_is_one_sentence(filled: Command, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount(small, "size=64k")
    try:
        done = filled("backup", "create", str(small / "memories.dump"))
        assert (done.code, done.out) == (2, "")
        assert "memories.dump cannot be written" in done.err
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)
