"""Commit messages of a git repository as drafts: what was changed and why, by whom and when."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pgrecall.errors import InvalidInput
from pgrecall.importers.chat.turns import Tally
from pgrecall.importers.draft_checks import storable
from pgrecall.importers.fields import ANY, Rules
from pgrecall.importers.files import printable_path
from pgrecall.importers.git_program import git_output
from pgrecall.importers.projects import project_of
from pgrecall.importers.secrets import without_secrets
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import PROJECT, Draft

SOURCE = "git"
"""The source of all commits: a commit has the same id in every clone."""

_PAGE = 2_000
"""Commits that are read at once."""

_SECONDS = 60.0
_FIELDS = ("%H", "%P", "%an", "%ae", "%at", "%B")
_BOT = re.compile(
    r"\[bot\]|\b(?:dependabot|renovate|greenkeeper|snyk-bot|github-actions|pre-commit-ci|mergify|codecov)\b|\bbot@",
    re.IGNORECASE,
)
_TRAILER = re.compile(
    "(?:Signed-off-by|Co-authored-by|Reviewed-by|Acked-by|Tested-by|Change-Id|Cc): ", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class _Commit:
    id: str
    parents: str
    author: str
    address: str
    seconds: str
    message: str


def read_commits(
    folder: Path, *, since: datetime | None = None, keep_secrets: bool = False, rules: Rules = ANY
) -> Iterator[Draft | Problem | Skipped]:
    """Reads the commits up to HEAD, newest first, then what was left out, with counts: merges and bots.

    Args:
        folder: a folder of the repository.
        since: only commits that their authors made since then.
        keep_secrets: keep passwords, keys and tokens, which are replaced otherwise.
        rules: what the store takes.

    Raises:
        InvalidInput: there is no git, or the folder is in no repository, or in one without commits.
    """
    head = git_output(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}", seconds=_SECONDS)
    if head is None:
        raise InvalidInput(
            f"{printable_path(folder)} is not in a git repository with commits, or git is not installed.",
            hint="Give a folder of a repository.",
        )
    return _drafts(folder, head.strip(), since, keep_secrets, rules)


def _drafts(
    folder: Path, head: str, since: datetime | None, keep_secrets: bool, rules: Rules
) -> Iterator[Draft | Problem | Skipped]:
    project, tally = project_of(folder), Tally(rules)
    for commit in _commits(folder, head):
        message, at = _without_trailers(commit.message), _time(commit.seconds)
        if since is not None and at is not None and at < since:
            tally.add("commits from before --since")
        elif " " in commit.parents:
            tally.add("merges")
        elif _BOT.search(f"{commit.author} <{commit.address}>"):
            tally.add("commits of bots")
        elif not message:
            tally.add("commits without a message")
        else:
            if not keep_secrets:
                message, secrets = without_secrets(message)
                for kind, count in secrets.items():
                    tally.add(f"secrets of the kind {kind!r}, replaced", count)
            draft = Draft(
                message,
                key=f"git/{commit.id}",
                layer="episodic",
                author=commit.author.strip() or None,
                source=SOURCE,
                metadata={} if project is None else {PROJECT: project},
                occurred_at=at,
            )
            yield from storable(draft, printable_path(folder), f"commit {commit.id[:12]}", rules)
    yield from tally.skipped()


def _without_trailers(message: str) -> str:
    """A message without the lines at its end that name people and changes; its first line stays."""
    lines = message.strip().split("\n")
    while len(lines) > 1 and _TRAILER.match(lines[-1]):
        lines.pop()
    return "\n".join(lines).strip()


def _commits(folder: Path, head: str) -> Iterator[_Commit]:
    """The commits before a commit, and itself.

    Raises:
        InvalidInput: git cannot read one of them, or needs more than a minute.
    """
    form, place = "%x00".join(_FIELDS) + "%x00", 0
    while True:
        page = git_output(
            folder, "log", f"--format={form}", "--encoding=UTF-8", "--no-show-signature", "--no-color",
            f"--skip={place}", f"--max-count={_PAGE}", head, "--", seconds=_SECONDS,
        )  # fmt: skip
        if page is None:
            raise InvalidInput(
                f"git cannot read the commits of {printable_path(folder)} after the first {place:,}.",
                hint="`git log` says why; what was read is stored.",
            )
        fields = page.split("\0")[:-1]
        for first in range(0, len(fields), len(_FIELDS)):
            found = fields[first : first + len(_FIELDS)]
            yield _Commit(found[0].lstrip("\n"), *found[1:])
        if len(fields) < _PAGE * len(_FIELDS):
            return
        place += _PAGE


def _time(seconds: str) -> datetime | None:
    """The time of seconds since 1970; None for what is none, as broken tools write it."""
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return None
