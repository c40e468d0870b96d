"""Histories of use: files, the commits that used them, and commit subjects as questions.

A history is NAME.json.gz: `items` ([path, text] each), `log` (rows [epoch, author, made, used, gone, bulk] in
time order, items by their number; a row with `bulk` used too many at once to count) and `evals` (questions:
`q`, asked at epoch `t` by `author` just before the row `at`; `right` are the items that answer).
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgrecall.errors import InvalidInput

SUFFIX = ".json.gz"
SESSION_GAP = 3600
"""Commits of one author less than an hour apart are one session."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What one commit did, at ``at`` in epoch seconds; ``used`` is what counts as an access."""

    at: int
    session: str
    made: tuple[int, ...]
    used: tuple[int, ...]
    gone: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Subject:
    """A commit's subject as a question, asked before the commit ``row`` in the session of its author."""

    text: str
    at: int
    row: int
    session: str
    right: frozenset[int]
    resumed: frozenset[int] | None
    """What the author's previous commit used if it is less than an hour old; None if it is older."""


@dataclass(frozen=True, slots=True)
class History:
    name: str
    items: tuple[tuple[str, str], ...]
    commits: tuple[Commit, ...]
    subjects: tuple[Subject, ...]


def find_histories(path: Path) -> list[Path]:
    """The history at ``path``, or all in and below the folder ``path``, by name.

    Raises:
        InvalidInput: there is none.
    """
    found = sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path] if path.is_file() else []
    if not found:
        raise InvalidInput(f"There is no history {SUFFIX} at {path}.")
    return found


def read_history(path: Path, questions: int, thin: float) -> History:
    """One history.

    Args:
        path: the file.
        questions: at most so many, evenly spread.
        thin: the share of uses that is kept, above 0 and at most 1; memories are used more rarely than files.
    """
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        data = json.load(stream)
    chance = random.Random(5)
    asked = {entry["at"]: entry for entry in _spread(data["evals"], questions)}
    commits: list[Commit] = []
    subjects: list[Subject] = []
    last: dict[int, tuple[int, str, tuple[int, ...]]] = {}
    for row, (at, author, made, used, gone, bulk) in enumerate(data["log"]):
        before = last.get(author)
        recent = before is not None and at - before[0] < SESSION_GAP
        session = before[1] if before is not None and recent else f"{author} from {row}"
        if entry := asked.get(row):
            resumed = frozenset(before[2]) if before is not None and recent else None
            right = frozenset(entry["right"])
            subjects.append(Subject(entry["q"], entry["t"], row, session, right, resumed))
        kept = () if bulk else tuple(item for item in used if thin >= 1 or chance.random() < thin)
        commits.append(Commit(at, session, tuple(made), kept, tuple(gone)))
        last[author] = (at, session, (*made, *used))
    items = tuple((title, text) for title, text in data["items"])
    return History(path.name.removesuffix(SUFFIX), items, tuple(commits), tuple(subjects))


def _spread(entries: Sequence[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    step = max(len(entries) / most, 1)
    return [entries[int(place * step)] for place in range(min(most, len(entries)))]
