"""The project of a folder: one name for all worktrees and clones, whatever its remotes and files say."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall.importers import git_program
from pgrecall.importers.projects import MAX_PROJECT, project_of, remote_name, scoped, with_projects
from pgrecall.nouns.memories.models import PROJECT, Draft

CLOCK = "github.com/mira/clock"


def git(folder: Path, *arguments: str) -> None:
    folder.mkdir(exist_ok=True, parents=True)
    identity = ("-c", "user.name=Mira", "-c", "user.email=mira@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


def repository(folder: Path, url: str | None = None) -> Path:
    git(folder, "init")
    if url is not None:
        git(folder, "remote", "add", "origin", url)
    git(folder, "commit", "--allow-empty", "-m", "begin")
    return folder


@pytest.mark.parametrize(
    "url",
    [
        "git@github.com:mira/clock.git", "git@github.com:/mira/clock", "github.com:mira/clock.git",
        "ssh://git@github.com/mira/clock.git", "ssh://git@github.com:2222/mira/clock.git/",
        "https://github.com/mira/clock", "https://GitHub.com/mira/clock.git", "http://github.com//mira/clock/",
        "https://mira:hunter2@github.com/mira/clock.git", "https://x-access-token:t@github.com/mira/clock",
        "git://github.com/mira/clock.git", "https://github.com/mira/clock.git?token=t#x",
        " git@github.com:mira/clock\n",
    ],
)  # fmt: skip
def test_every_form_of_a_remote_has_one_name(url: str) -> None:
    assert remote_name(url) == CLOCK


@pytest.mark.parametrize(
    "url",
    [
        "", " ", "../clock", "clock", "C:/work/clock", "C:\\work", "https://", "https:///x", "git@host:",
        "file://x/y", "https://github.com/a\nb", "git@github.com:" + "a" * 10_000, "https://github.com/\x1b[31m",
    ],
)  # fmt: skip
def test_what_names_no_place_is_no_name(url: str) -> None:
    assert remote_name(url) is None


@pytest.mark.parametrize("url", ["/srv/git/clock.git", "file:///srv/git/clock.git/"])
def test_a_remote_on_this_machine_is_its_path(url: str) -> None:
    assert remote_name(url) == "/srv/git/clock"


@given(st.text(max_size=80))
def test_a_name_is_short_and_printable_and_its_own_name(url: str) -> None:
    name = remote_name(url)
    assert name is None or (name.isprintable() and "/" in name and len(name) <= MAX_PROJECT)


@given(st.from_regex(r"[a-z]{3,9}:[a-zA-Z0-9]{8,20}", fullmatch=True))
def test_no_password_comes_into_a_name(credentials: str) -> None:
    assert remote_name(f"https://{credentials}@github.com/mira/clock") == CLOCK


def test_worktrees_clones_and_folders_within_are_one_project(tmp_path: Path) -> None:
    one = repository(tmp_path / "one", "git@github.com:mira/clock.git")
    git(one, "worktree", "add", str(tmp_path / "tree"), "-b", "other")
    clone = repository(tmp_path / "clone", "https://mira:t@github.com/mira/clock")
    (one / "src" / "deep").mkdir(parents=True)
    folders = (one, one / "src" / "deep", tmp_path / "tree", clone, one / ".git")
    assert {project_of(folder) for folder in folders} == {CLOCK}


def test_without_a_remote_worktrees_have_the_path_of_the_repository(tmp_path: Path) -> None:
    one = repository(tmp_path / "one")
    git(one, "worktree", "add", str(tmp_path / "tree"), "-b", "other")
    assert project_of(one) == project_of(tmp_path / "tree") == str(one.resolve())
    git(one, "remote", "add", "beta", "../clock")
    assert project_of(one) == str(one.resolve())  # a relative remote is another place in each clone
    git(one, "remote", "add", "alpha", "git@example.org:mira/clock.git")
    git(one, "remote", "remove", "beta")
    assert project_of(one) == "example.org/mira/clock"


def test_without_git_a_folder_is_its_path_and_a_home_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("home", "notes"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))  # there is no git
    assert project_of(tmp_path / "notes") == str((tmp_path / "notes").resolve())
    assert [project_of(one) for one in (tmp_path / "home", tmp_path, Path("/"))] == [None, None, None]


@pytest.mark.parametrize("folder", ["no/such", "a\x00b", "x" * 5000, "\ud800"])
def test_what_is_no_folder_is_no_project(folder: str) -> None:
    assert project_of(Path(folder)) is None


@pytest.mark.parametrize(
    "url", ["$(touch x)/a", "--upload-pack=touch x", "`id`", "ext::sh -c id", "x" * 10_000]
)
def test_a_hostile_remote_is_only_read(url: str, tmp_path: Path) -> None:
    one = repository(tmp_path / "one")
    with (one / ".git" / "config").open("a") as file:
        file.write(f'[remote "origin"]\n\turl = "{url}"\n[core]\n\tfsmonitor = touch x\n')
    assert project_of(one) in (str(one.resolve()), remote_name(url))
    assert not list(tmp_path.rglob("x"))


def test_a_broken_repository_and_variables_of_another_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = repository(tmp_path / "one", "git@github.com:mira/clock.git"), repository(tmp_path / "two")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert project_of(one) == CLOCK
    (one / ".git" / "config").write_bytes(b"[remote \xff\x00\n[[[")
    assert project_of(one) == str(one.resolve())


def test_a_repository_that_lacks_commits_runs_no_program(tmp_path: Path) -> None:
    one = repository(tmp_path / "one", "ssh://localhost/clock")
    begun = git_program.git_output(one, "rev-parse", "HEAD")
    git(one, "commit", "--allow-empty", "-m", "go on")
    assert begun is not None
    (one / ".git" / "objects" / begun[:2] / begun[2:].strip()).unlink()
    ran = tmp_path / "ran"
    for name, value in {
        "core.repositoryFormatVersion": "1", "extensions.partialClone": "origin",
        "remote.origin.promisor": "true", "protocol.ssh.allow": "always", "core.sshCommand": f"touch {ran};",
    }.items():  # fmt: skip
        git(one, "config", name, value)

    subprocess.run(["git", "-C", str(one), "log"], check=False, capture_output=True)
    if not ran.exists():
        pytest.skip("This git fetches no commits for a log.")
    ran.unlink()

    assert git_program.git_output(one, "log", "--format=%B") is None
    assert not ran.exists()


def test_a_git_that_hangs_is_left_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "git"
    slow.write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(git_program, "SECONDS", 0.2)
    began = time.perf_counter()
    assert git_program.git_output(tmp_path, "status", seconds=0.2) is None
    assert time.perf_counter() - began < 10


def turn(session: str, **metadata: Any) -> Draft:
    return Draft("text", session_id=session, metadata=metadata)


def test_turns_have_the_project_of_their_session(tmp_path: Path) -> None:
    one = repository(tmp_path / "one", "git@github.com:mira/clock.git")
    items = [
        turn("a", project=str(one), branch="main"), turn("a", project="/elsewhere"), turn("a"),
        turn("b", project="/gone/for/long"), turn("c"),
    ]  # fmt: skip
    found = [dict(item.metadata) for item in with_projects(items) if isinstance(item, Draft)]
    assert found == [
        {PROJECT: CLOCK, "branch": "main"}, {PROJECT: CLOCK}, {PROJECT: CLOCK},
        {PROJECT: "/gone/for/long"}, {},
    ]  # fmt: skip
    [named] = with_projects([turn("c")], "mine")
    assert isinstance(named, Draft)
    assert named.metadata == {PROJECT: "mine"}


def test_a_scope_is_of_the_folder(tmp_path: Path) -> None:
    one = repository(tmp_path / "one", "git@github.com:mira/clock.git")
    assert scoped(one, "prefer") == (CLOCK, False)
    assert scoped(one, "project") == (CLOCK, True)
    assert scoped(one, "all") is None
    assert scoped(None, "project") is None
