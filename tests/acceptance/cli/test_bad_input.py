"""Bad input, bad servers, Ctrl-C: one clear sentence, the right exit code, and nothing half done."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from pgrecall.embedded import cluster
from pgrecall.embedded.shared_server import EmbeddedServer
from tests.acceptance.cli.command_tools import Command, Ended, started, without_progress
from tests.waiting import PATIENCE, blocked

pytestmark = pytest.mark.in_turns

MANY = 2500


def assert_refused(ended: Ended, code: int, *parts: str) -> None:
    """Exit code, nothing on standard output, and one line that begins with what is wrong."""
    assert (ended.code, ended.out) == (code, ""), ended
    assert re.fullmatch(r"Error: [^\n]+\.[^\n]*\n", ended.err), ended.err
    for part in parts:
        assert part in ended.err


# Each row is a rule of the command line, or one error of each class from below it: what SQL refuses has its
# sentences tested there.
REFUSED: list[tuple[tuple[str | bytes, ...], str]] = [
    # Arguments and options, by type
    (("search", b"caf\xe9"), "not valid Unicode"),
    (("search", "tide", "--tag", " "), "--tag is empty."),
    (("search", "tide", "--hint", b"\xff"), "--hint is not valid UTF-8."),
    (("search", "tide", "-k", str(10**30)), "'-k'"),
    (("search", "tide", "--vitality-mode", "nope"), "'nope' is not one of 'odds'"),
    (("search", "tide", "--weight", "lexical"), "--weight 'lexical' is not an arm and a number."),
    (("search", "tide", "--now", "2026-13-01"), "--now: '2026-13-01' is not a date"),
    (("search", "tide", "--since", "yesterday"), "--since: 'yesterday' is not a date"),
    (("search", "tide", "--until", "soon"), "--until: 'soon' is not a date"),
    (("search", "tide", "--cue", ""), "id or key is empty"),
    (("show", ""), "id or key is empty"),
    (("import", ""), "PATH is empty. Name a folder or a file"),
    (("show", "9" * 30), "9" * 30),
    (("show",), "Missing argument"),
    (("show", "one", "two"), "unexpected extra argument"),
    (("show", "one", "--colour"), "--colour"),
    (("list", "--rol", "user"), "No such option '--rol'. Did you mean '--role'? `pgrecall list --help`"),
    (("recall",), "No such command 'recall'. Did you mean 'search'?"),
    (("plan", "find"), "No such command 'find'. `pgrecall plan --help` lists the commands."),
    (("version",), "Did you mean '--version'?"),
    (("search", "tide", "--limit", "3"), "No such option '--limit'. Did you mean '-k'?"),
    (("list", "-k", "3"), "No such option '-k'. Did you mean '-n'?"),
    (("search", "tide", "--tenant", "ann"), "It goes before the command: 'pgrecall --tenant ...'."),
    (("remember", "tide", "--date", "2026-09-30"), "Did you mean '--at'?"),
    (("connect",), "Choose from: claude, claude-desktop, codex,"),
    (("connect", "vs-code"), "'gemini'. Did you mean 'vscode'?"),
    (("search", "high", "tide"), "A text of several words needs quotation marks."),
    (("search", "tide", "--tag"), "requires an argument. `pgrecall search --help`"),
    (("plan", "list", "-n"), "requires an argument. `pgrecall plan list --help`"),
    (("remeber", "tide"), "Did you mean 'remember'? `pgrecall --help` lists the commands."),
    (("jobs", "history"), "No such command 'history'"),
    (("access",), "Name either a memory or, with --from, a file."),
    (("access", "one", "--at", "then"), "--at: 'then' is not a date"),
    (
        ("context", "tide", "--layer-quota", "knowledge"),
        "'knowledge' is not a quota. Write it as knowledge=3.",
    ),
    (("context", "tide", "--layer-quota", "=3"), "'=3' is not a quota."),
    (("context", "tide", "--order", "worst"), "'worst' is not one of 'score', 'time'"),
    (("feedback", "used", "one", "k17"), "SEARCH_ID"),
    (("feedback", "used", "1"), "Missing argument"),
    (("feedback", "qrels", "--out", "nowhere/at/all"), "nowhere/at/all cannot be written"),
    (("layers", "set", ""), "NAME is empty."),
    (("layers", "set", "knowledge", "--rate", "fast"), "'fast' is not a number."),
    (("layers", "preset", "fast"), "'fast' is not one of 'default', 'seed', 'calibrated'."),
    (("settings", "set", "prune.max_share", "half"), "'half' is not a number."),
    (("changes", "-n", "few"), "'few' is not a whole number."),
    (("quality", "experiment", "--difference", "some"), "'some' is not a number."),
    (("language", b"\xff"), "NAME is not valid UTF-8."),
    (("plan", "list", "-n", "0"), "0 is not in the range 1<=x<=1000."),
    (("doctor", "--only", "weather"), "'weather' is not one of 'server'"),
    (("tools", "--format", "soap"), "'soap' is not one of 'openai', 'mcp'."),
    (("roles", "bind", "someone"), "Give --for TENANT, or --any-tenant."),
    (("roles", "bind", "someone", "*"), "* is not a tenant."),
    (("roles", "create", "someone", "--any-tenant", "--reader", "--worker"), "cannot be combined"),
    (("mcp", "--http", "--host", "0.0.0.0"), "served to this machine only"),
    (("mcp", "--http", "--tool", "search"), "--tool is for standard input and output."),
    (("mcp", "--http", "--tools", "core"), "--tools is for standard input and output."),
    (("mcp", "--tool", "searches"), "There is no tool 'searches'."),
    (("import", "odd.xyz", "--kind", "novel"), "'novel' is not one of 'auto'"),
    # Files
    (("import", "nowhere"), "There is no file nowhere"),
    (("import", "a.md", "b.md"), "(b.md). Import one path at a time"),
    (("import", "odd.xyz"), "has an unknown format"),
    (("import", "odd.xyz", "--format", "markdown"), "is not a Markdown file. Its name should end in .md"),
    (("calibration", "fit", "nowhere.jsonl"), "There is no file nowhere.jsonl."),
    (("calibration", "fit", "odd.xyz", "--chart", "p.bmp"), "'p.bmp' does not end in .png or .svg."),
    # One from each layer below: Python, SQL, what is not there
    (("search", ""), "The query is empty."),
    (("jobs", "run", "polish"), "There is no job 'polish'."),
    (("search", "tide", "--layer", "nope"), "The layer 'nope' is unknown"),
    (("context", "tide", "--budget", "0"), "The budget is 0 tokens"),
    (("layers", "set", "knowledge", "--rate", "0"), "The metabolic rate of layer 'knowledge' is 0"),
    (("settings", "set", "nothing", "1"), "There is no setting 'nothing'."),
    (("language", "klingon"), "klingon"),
    (("plan", "show", "7"), "There is no plan 7 in this tenant."),
    (("feedback", "used", "4711", "one"), "There is no search 4711 in this tenant."),
    (("calibration", "reset", "--profile", "nothing"), "There is no profile 'nothing'."),
    (("show", "nope"), "key 'nope'"),
    (("pin", "nope"), "key 'nope'"),
    (("link", "one", "one"), "itself"),
    (("access", "one", "--at", "2999-01-01"), "in the future"),
    (("keys", "revoke", "4711"), "There is no key 4711 in this tenant. `pgrecall keys list` shows them."),
    (("import", "a" * 300), "is too long for a file."),
    (("export", "a" * 300), "is too long for a file."),
    (("access", "--from", "a" * 5000), "is too long for a file."),
    (("import", "~nobody-of-this-name/notes"), "There is no file ~nobody-of-this-name/notes."),
    (("--data-dir", "~nobody-of-this-name", "status"), "names a home directory that does not exist"),
]


@pytest.mark.parametrize(
    ("arguments", "part"), REFUSED, ids=[f"{row[0][0]!s}-{place}" for place, row in enumerate(REFUSED)]
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    pgrecall: Command, tmp_path: Path, arguments: tuple[str | bytes, ...], part: str
) -> None:
    (tmp_path / "odd.xyz").write_text("?")
    (tmp_path / "one.jsonl").write_text('{"key": "one", "body": "One."}')
    assert pgrecall("import", "one.jsonl").code == 0
    assert_refused(pgrecall(*arguments), 2, part)
    state = pgrecall("status", "--json").json
    assert (state["memories"], sum(state["access_counts"].values())) == (1, 1)


def test_what_is_piped_in_is_checked_too(pgrecall: Command) -> None:
    assert_refused(pgrecall("search", "-", stdin=b"word " * 200_000), 2, "999999 characters", "10,000")
    assert_refused(pgrecall("search", "-", stdin=b"a\0b"), 2, "NUL")
    assert_refused(pgrecall("search", "-", stdin=b"caf\xe9"), 2, "not UTF-8")


def test_nothing_found_is_exit_code_1(pgrecall: Command, tmp_path: Path) -> None:
    nothing = pgrecall("search", "anything")
    assert (nothing.code, nothing.out, nothing.err) == (1, "", "Nothing was found.\n")
    assert pgrecall("search", "anything", "--json").json["no_match"] is True
    (tmp_path / "empty").mkdir()
    nothing = pgrecall("import", "empty")
    assert (nothing.code, "nothing to import" in nothing.err) == (1, True)


def test_a_folder_with_faults_gives_everything_else(pgrecall: Command, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "good.md").write_text("Good, with a [[dangling link]] and itself: [[good]].\n")
    (folder / "circle-a.md").write_text("To [[circle-b]].\n")
    (folder / "circle-b.md").write_text("To [[circle-a]].\n")
    (folder / "nul.md").write_bytes(b"one\0two\n")
    (folder / "latin.md").write_bytes(b"caf\xe9\n")
    (folder / "bytes.md").write_bytes(b"a\x81\x8db\n")
    (folder / "broken.md").write_text("---\ntags: [unclosed\n---\nText.\n")
    done = pgrecall("import", str(folder))
    assert done.code == 4
    assert done.out.startswith("6 created, 0 updated, 0 unchanged; 1 link without")
    assert re.search(r"Windows-1252.*latin.md", done.out), done.out
    assert re.search(r"replaced by U\+FFFD: 1, first in .*nul.md", done.out)
    assert "2 could not be used:" in done.out
    for file, reason in (("bytes.md", "UTF-8"), ("broken.md", "line 3")):
        assert re.search(rf"{file}: .*{reason}", done.out), done.out
    only_bad = pgrecall("import", str(folder / "bytes.md"))
    assert only_bad.code == 2
    assert pgrecall("import", str(folder), "--strict").code == 2
    assert pgrecall("status", "--json").json["memories"] == 6


def test_all_problems_can_be_seen(pgrecall: Command, tmp_path: Path) -> None:
    lines = tmp_path / "facts.jsonl"
    lines.write_text('{"body": "x", "role": "boss"}\n' + "no\n" * 25)
    done = pgrecall("import", str(lines))
    assert (done.code, "and 5 more; --problems FILE writes all of them" in done.out) == (4, True)
    report = pgrecall("import", str(lines), "--problems", str(tmp_path / "all.txt"), "--json").json
    assert len(report["problems"]) == 25
    assert report["skipped"][0]["places"] == [f"{lines}: line 1"]
    rows = (tmp_path / "all.txt").read_text().splitlines()
    assert len(rows) == 26
    assert rows[24] == f"{lines}: line 26: not JSON: expecting value at column 1."
    assert rows[25] == f"{lines}: line 1: values of 'role' that do not fit, kept as metadata"
    nowhere = pgrecall("import", str(lines), "--problems", str(tmp_path / "none" / "all.txt"))
    assert_refused(nowhere, 2, "cannot be written")


def test_lines_with_faults(pgrecall: Command, tmp_path: Path) -> None:
    lines = tmp_path / "facts.jsonl"
    lines.write_bytes(
        b'{"key": "a", "body": "First."}\n{"key": "a", "body": "Twice."}\nnot json\n'
        b'{"key": "b", "body": "x\\u0000y"}\n{"key": "c", "body": "caf\xe9"}\n{"key": "d", "body": "Last."}\n'
    )
    done = pgrecall("import", str(lines))
    assert done.code == 4
    assert done.out.startswith("4 created")
    assert re.search(r"Windows-1252.*line 5", done.out), done.out
    for line in (2, 3):
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
    assert_refused(pgrecall("search", "tide", embedder_dimensions="32"), 2, "32 dimensions", "database 64")


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

    with started("import", str(many), database_url=database_url) as running:
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
        with started("search", "tide", "-k", "500", *options, database_url=database_url) as running:
            assert running.stdout is not None
            assert running.stderr is not None
            running.stdout.readline()
            running.stdout.close()
            assert running.stderr.read() == ""
            running.wait(timeout=PATIENCE)


@pytest.mark.parametrize("verb", ["show", "apply", "undo", "drop"])
def test_the_command_line_gives_no_advice_in_sql(verb: str, pgrecall: Command) -> None:
    done = pgrecall("plan", verb, "99")
    assert done.code == 2
    assert "`pgrecall plan list`" in done.err
    assert "recall." not in done.err
