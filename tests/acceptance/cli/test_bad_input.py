"""Whatever one gets wrong: one clear sentence, the right exit code, and nothing half done."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from pgrecall.embedded import cluster
from pgrecall.embedded.shared_server import EmbeddedServer
from tests.acceptance.cli.command_tools import Command, Ended, command_line, environment, without_progress
from tests.waiting import PATIENCE, blocked

pytestmark = pytest.mark.slow

MANY = 2500


def assert_refused(ended: Ended, code: int, *parts: str) -> None:
    """Exit code, nothing on standard output, and one line that begins with what is wrong."""
    assert (ended.code, ended.out) == (code, ""), ended
    assert re.fullmatch(r"Error: [^\n]+\.[^\n]*\n", ended.err), ended.err
    for part in parts:
        assert part in ended.err


def test_queries(pgrecall: Command) -> None:
    assert_refused(pgrecall("search", ""), 2, "The query is empty.")
    assert_refused(pgrecall("search", " \t "), 2, "The query is empty.")
    assert_refused(pgrecall("search", "the of and"), 2, "only stop words")
    assert_refused(pgrecall("search", "-", stdin=b"word " * 200_000), 2, "999999 characters", "10,000")
    assert_refused(pgrecall("search", "-", stdin=b"a\0b"), 2, "NUL")
    assert_refused(pgrecall("search", "-", stdin=b"caf\xe9"), 2, "not UTF-8")
    assert_refused(pgrecall("search", b"caf\xe9"), 2, "not valid Unicode")
    nothing = pgrecall("search", "anything")
    assert (nothing.code, nothing.out, nothing.err) == (1, "", "Nothing was found.\n")
    assert pgrecall("search", "anything", "--json").json["no_match"] is True


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("-k", "0"), "k is 0"),
        (("-k", "1000000"), "k is 1000000"),
        (("-k", str(10**30)), "k is 1000"),
        (("--since", "2026-02-01", "--until", "2026-01-01"), "time window is empty"),
        (("--since", "yesterday"), "'yesterday' is not a date"),
        (("--now", "2026-13-01"), "is not a date"),
        (("--layer", "nope"), "The layer 'nope' is unknown"),
        (("--role", "nope"), "The role 'nope' is unknown"),
        (("--vitality-mode", "nope"), "'nope'"),
        (("--vitality-weight", "nan"), "weight"),
        (("--min-relevance", "2"), "min_relevance is 2"),
        (("--tag", " "), "--tag is empty"),
    ],
)
def test_search_options(pgrecall: Command, options: tuple[str, ...], part: str) -> None:
    assert_refused(pgrecall("search", "tide", *options), 2, part)


def test_memories_and_accesses(pgrecall: Command, tmp_path: Path) -> None:
    lines = tmp_path / "one.jsonl"
    lines.write_text('{"key": "one", "body": "One."}\n')
    pgrecall("import", str(lines))
    assert_refused(pgrecall("show", "nope"), 2, "key 'nope'")
    assert_refused(pgrecall("show", "4711"), 2, "id 4711")
    assert_refused(pgrecall("show", "9" * 30), 2, "9" * 30)
    assert_refused(pgrecall("show", ""), 2, "empty")
    assert_refused(pgrecall("access", "one", "--at", "2999-01-01"), 2, "in the future")
    assert_refused(pgrecall("access", "one", "--kind", "guess"), 2, "'guess'")
    assert_refused(pgrecall("access"), 2, "--from")
    assert_refused(pgrecall("link", "one", "one"), 2, "itself")
    assert_refused(pgrecall("link", "one", "nope"), 2, "'nope'")
    assert pgrecall("status", "--json").json["accesses"] == 1


def test_sources(pgrecall: Command, tmp_path: Path) -> None:
    assert_refused(pgrecall("import", "nowhere"), 2, "There is no file nowhere")
    (tmp_path / "odd.xyz").write_text("?")
    assert_refused(pgrecall("import", "odd.xyz"), 2, "no known kind")
    assert_refused(pgrecall("import", "odd.xyz", "--kind", "novel"), 2, "'novel'")
    (tmp_path / "empty").mkdir()
    nothing = pgrecall("import", "empty")
    assert nothing.code == 1
    assert "nothing to import" in nothing.err


def test_a_folder_with_faults_gives_everything_else(pgrecall: Command, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "good.md").write_text("Good, with a [[dangling link]] and itself: [[good]].\n")
    (folder / "circle-a.md").write_text("To [[circle-b]].\n")
    (folder / "circle-b.md").write_text("To [[circle-a]].\n")
    (folder / "nul.md").write_bytes(b"one\0two\n")
    (folder / "latin.md").write_bytes(b"caf\xe9\n")
    (folder / "broken.md").write_text("---\ntags: [unclosed\n---\nText.\n")
    done = pgrecall("import", str(folder))
    assert done.code == 0
    assert done.out.startswith("3 created, 0 updated, 0 unchanged; 1 links wait")
    assert "3 could not be used:" in done.out
    for file, reason in (("nul.md", "NUL"), ("latin.md", "UTF-8"), ("broken.md", "line 3")):
        assert re.search(rf"{file}: .*{reason}", done.out), done.out
    only_bad = pgrecall("import", str(folder / "nul.md"))
    assert only_bad.code == 2
    assert pgrecall("import", str(folder), "--strict").code == 2
    assert pgrecall("status", "--json").json["memories"] == 3


def test_lines_with_faults(pgrecall: Command, tmp_path: Path) -> None:
    lines = tmp_path / "facts.jsonl"
    lines.write_bytes(
        b'{"key": "a", "body": "First."}\n{"key": "a", "body": "Twice."}\nnot json\n'
        b'{"key": "b", "body": "x\\u0000y"}\n{"key": "c", "body": "caf\xe9"}\n{"key": "d", "body": "Last."}\n'
    )
    done = pgrecall("import", str(lines))
    assert done.code == 0
    assert done.out.startswith("2 created")
    for line in (2, 3, 4, 5):
        assert f"line {line}: " in done.out
    assert pgrecall("show", "a", "--json").json["body"] == "First."
    strict = pgrecall("import", str(lines), "--strict", "--source", "again", "--prefix", "again/")
    assert_refused(strict, 2, "line 2")


def test_servers(bare_pgrecall: Command, empty_database: str) -> None:
    secret = "hunter2"
    for url in (
        f"postgresql://ann:{secret}@127.0.0.1:1/x",
        f"postgres:/ann:{secret}@host/x",
        f"postgresql://ann:p%zz{secret}@host/x",
        f"host=/nowhere password={secret}",
    ):
        for command in ("init", "status"):
            ended = bare_pgrecall("--database-url", url, command)
            assert_refused(ended, 3)
            assert secret not in ended.err
    assert_refused(bare_pgrecall("search", "x", database_url=empty_database), 3, "not initialised")
    assert_refused(bare_pgrecall("status", pool_size="many"), 2, "PGRECALL_POOL_SIZE")


def test_an_embedder_for_another_database(pgrecall: Command) -> None:
    assert_refused(pgrecall("search", "tide", embedder_dimensions="32"), 2, "32 dimensions", "keeps 64")


def test_data_directories_that_cannot_be_used(bare_pgrecall: Command, open_folder: Path) -> None:
    file = open_folder / "file"
    file.write_text("")
    assert_refused(bare_pgrecall("--data-dir", str(file), "status"), 2, "is not a directory")
    # /proc takes no new directory from anybody, root included.
    assert_refused(bare_pgrecall("--data-dir", "/proc/pgrecall", "init"), 3, "/proc/pgrecall")
    if os.geteuid() != 0:  # nothing is read-only to root
        closed = open_folder / "closed"
        closed.mkdir(mode=0o555)
        assert_refused(bare_pgrecall("--data-dir", str(closed / "data"), "init"), 3, "permission denied")


@pytest.fixture
def server_without_pgvector(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedServer]:
    """The embedded server, from a copy of its wheel that does not offer the extension vector."""
    package = cluster.find_wheel()
    copy = open_folder / "wheel" / package.name
    (copy / "pginstall").mkdir(parents=True)
    for part in (package / "pginstall").iterdir():
        if part.name in ("bin", "share"):  # the server looks for its files from where its program is
            shutil.copytree(part, copy / "pginstall" / part.name)
        else:
            (copy / "pginstall" / part.name).symlink_to(part)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        copy.with_name(libraries.name).symlink_to(libraries)
    for control in (copy / "pginstall" / "share").rglob("vector.control"):
        control.unlink()
    monkeypatch.setattr(cluster, "find_wheel", lambda: copy)
    with EmbeddedServer.start(open_folder / "data", fast=True) as server:
        yield server


def test_a_server_without_pgvector(bare_pgrecall: Command, server_without_pgvector: EmbeddedServer) -> None:
    url = server_without_pgvector.url
    assert_refused(
        bare_pgrecall("init", database_url=url), 3, "extension vector is not installed", "pgvector"
    )
    with psycopg.connect(url) as connection:
        made = connection.execute("SELECT to_regnamespace('recall') IS NOT NULL").fetchone()
    assert made == (False,)


@pytest.fixture
def many(tmp_path: Path) -> Path:
    path = tmp_path / "many.jsonl"
    with path.open("w") as lines:
        for number in range(MANY):
            lines.write(
                json.dumps({"key": f"n{number}", "body": f"note {number} of tide {number % 97}"}) + "\n"
            )
    return path


@pytest.fixture
def watching(database_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def endless(database_url: str) -> Iterator[psycopg.Connection]:
    """Somebody who is storing the last of the many, and does not end: an import would wait for him."""
    with psycopg.connect(database_url) as connection:
        connection.execute("SELECT set_config('recall.tenant', 'default', true)")
        connection.execute("SELECT recall.remember('note', p_key => %s)", (f"n{MANY - 1}",))
        yield connection


def test_ctrl_c_keeps_what_was_committed(
    pgrecall: Command,
    many: Path,
    database_url: str,
    watching: psycopg.Connection,
    endless: psycopg.Connection,
) -> None:
    def stored() -> int:
        row = watching.execute("SELECT count(*) FROM recall.memory").fetchone()
        assert row is not None
        return int(row[0])

    with subprocess.Popen(
        command_line("import", str(many)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(database_url=database_url),
        text=True,
    ) as running:
        blocked(watching)  # by now every batch but the last is committed, and the client knows
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130, err
    assert out == ""
    kept = stored()
    assert 0 < kept < MANY
    assert without_progress(err) == f"stopped; {kept:,} memories are stored, run it again to complete\n"

    endless.rollback()
    done = pgrecall("import", str(many))
    assert done.code == 0
    assert done.out.startswith(f"{MANY - kept:,} created, 0 updated, {kept:,} unchanged")


def test_a_reader_that_goes_away_is_no_error(pgrecall: Command, many: Path, database_url: str) -> None:
    pgrecall("import", str(many))
    for options in ((), ("--json",)):
        with subprocess.Popen(
            command_line("search", "tide", "-k", "500", *options),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(database_url=database_url),
        ) as running:
            assert running.stdout is not None
            assert running.stderr is not None
            running.stdout.readline()
            running.stdout.close()
            assert running.stderr.read() == b""
            running.wait(timeout=PATIENCE)
