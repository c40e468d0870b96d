"""The project that a folder belongs to, with one name for all of its worktrees and clones.

It is the remote of its repository, as ``github.com/mira/clock``, or the path of the repository, or of the
folder where there is none. Memories have it in their metadata, as ``project``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from pgrecall.importers.git_program import git_output
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import PROJECT, Draft

MAX_PROJECT = 500
"""Characters of a project. Remotes and paths of more have no name that could be shown."""

Item = Draft | Problem | Skipped

Scope = Literal["prefer", "project", "all"]
"""Whether searches in a project prefer its memories, find no others, or treat all alike."""

_URL = re.compile(
    r"(?:ssh|git|https?|git\+ssh)://(?:[^/@]*@)?(\[[0-9a-fA-F:]+\]|[^/:@]+)(?::\d*)?/+(.+)", re.IGNORECASE
)
_SSH = re.compile(r"(?:[^/@:]+@)?([^/:@\[\]]{2,}):(?!//)/*(.+)")
"""``git@host:path``; a host has two characters or more, unlike a drive of Windows."""


def project_of(folder: Path) -> str | None:
    """The project of a folder.

    A home directory, a folder above it and the root of a file system are none.
    """
    try:
        folder = folder.resolve()
        if not folder.is_dir():
            return None
    except (OSError, ValueError, RuntimeError):  # too long, a NUL, links in a circle
        return None
    root = _root(folder)
    if root is None:
        home = Path.home()
        alone = folder == home or folder in home.parents or folder == folder.parent
        return None if alone else _printable(str(folder))
    remotes = (git_output(root, "config", "--local", "--get-regexp", r"^remote\..*\.url$") or "").splitlines()
    named = _remote(remotes)
    return (named and remote_name(named)) or _printable(str(root))


def scoped(folder: Path | None, scope: Scope) -> tuple[str, bool] | None:
    """The project that searches in a folder are asked in, and whether only its memories are searched.

    Returns:
        None where they are asked in no project.
    """
    project = None if scope == "all" or folder is None else project_of(folder)
    return None if project is None else (project, scope == "project")


def with_projects(items: Iterable[Item], project: str | None = None) -> Iterator[Item]:
    """The turns of sessions, each with the project of its session instead of a folder.

    That of a session is the one of the first folder that it names. A folder that is not here is its own name.

    Args:
        project: that of sessions that name no folder.
    """
    folders: dict[str, str | None] = {}
    sessions: dict[str | None, str | None] = {}
    for item in items:
        if not isinstance(item, Draft):
            yield item
            continue
        folder = item.metadata.get(PROJECT)
        if isinstance(folder, str) and item.session_id not in sessions:
            if folder not in folders:
                folders[folder] = project_of(Path(folder)) or _printable(folder)
            sessions[item.session_id] = folders[folder]
        found = sessions.get(item.session_id, project)
        rest = {name: value for name, value in item.metadata.items() if name != PROJECT}
        yield replace(item, metadata=rest if found is None else {PROJECT: found} | rest)


def remote_name(url: str) -> str | None:
    """The URL of a remote in a common form: host and path, without user, password, port and ``.git``.

    Returns:
        None for what names no place, or only one relative to the repository.

    >>> remote_name("git@github.com:mira/clock.git")
    'github.com/mira/clock'
    """
    url = url.strip()
    if found := _URL.fullmatch(url) or ("://" not in url and _SSH.fullmatch(url)):
        path = re.sub(r"[?#].*", "", found[2])
        name = f"{found[1].lower()}/{path}"
    elif url.startswith(("/", "file:///")):
        name = url.removeprefix("file://")
    else:
        return None
    name = re.sub(r"/{2,}", "/", name).rstrip("/").removesuffix(".git").rstrip("/")
    return _printable(name) if "/" in name else None


def _root(folder: Path) -> Path | None:
    """The folder of the repository, of which worktrees are parts; None outside of one."""
    shared = git_output(folder, "rev-parse", "--path-format=absolute", "--git-common-dir")
    if shared is None:
        return None
    found = Path(shared.removesuffix("\n"))
    return found.parent if found.name == ".git" else found


def _remote(lines: Sequence[str]) -> str | None:
    """The URL of ``origin``, else of the first remote by name, from lines of ``remote.NAME.url URL``."""
    remotes = dict(reversed([line.partition(" ")[::2] for line in lines]))  # the first URL of a name counts
    return remotes.get("remote.origin.url") or (remotes[min(remotes)] if remotes else None)


def _printable(name: str) -> str | None:
    """The name, if it is a short one without control characters and half characters."""
    return name if 0 < len(name) <= MAX_PROJECT and name.isprintable() else None
