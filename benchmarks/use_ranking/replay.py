"""Plays a history into pgrecall and asks its questions on the way, in every way of weighing use."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import psycopg

from benchmarks.use_ranking.history import Commit, History, Subject
from pgrecall import Memory
from pgrecall.arguments import SearchOptions
from pgrecall.encoding import packed
from pgrecall.nouns.memories.models import Access, Draft
from pgrecall.nouns.search.models import Hit
from pgrecall.search.embed.embedder import Embedder

POOL = 50
OFF = "off"
DEFAULT = "default"
WAYS: Mapping[str, SearchOptions] = {
    OFF: {"vitality_mode": "off"},
    "off, session": {"vitality_mode": "off"},
    DEFAULT: {},
    "default, session": {},
    "unbounded": {"vitality_mode": "unbounded"},
    "multiply": {"vitality_mode": "multiply"},
    "bounded": {"vitality_mode": "bounded"},
}
"""The ways to ask, by name. Those with "session" name the session of the author, which cues the search."""
PLANTED = (DEFAULT, "unbounded")
FAR_BEHIND = 8.0
"""A planted use should not help a wrong memory past one whose odds are so many times as large."""
BATCH = 200
_PLANT = "SELECT recall.record_access(recall.id_of(%s), 'used', %s, p_now => %s)"
_FIND = (
    "SELECT key FROM recall.search(%s, %s, p_k => 50, p_vitality_mode => %s, p_explain => false, "
    "p_now => %s) ORDER BY rank"
)


@dataclass(frozen=True, slots=True)
class Plant:
    """A wrong memory used a minute ago, below the right one: by how much, and whether it passed it."""

    ratio: float
    passed: dict[str, bool]


@dataclass(slots=True)
class Replayed:
    """What came out of one history: reciprocal ranks and whether the first hit is right, by way."""

    name: str
    ranks: dict[str, list[float]] = field(default_factory=lambda: {way: [] for way in WAYS})
    first: dict[str, list[bool]] = field(default_factory=lambda: {way: [] for way in WAYS})
    kinds: list[str] = field(default_factory=list)
    """Of each question: "same" if its session goes on with a file, "changed" if not, "new" without one."""
    plants: list[Plant] = field(default_factory=list)


def moment(epoch: float) -> datetime:
    return datetime.fromtimestamp(epoch, UTC)


def replay(
    history: History, url: str, memory: Memory, embedder: Embedder | None, advance: Callable[[], None]
) -> Replayed:
    """Plays one history into an empty tenant.

    Args:
        url: of the database, for planted uses, which are taken back.
        memory: a client of the tenant.
        embedder: that of the client, if it has one.
        advance: called once a question.
    """
    result, done, chance = Replayed(history.name), 0, random.Random(3)
    alive: set[int] = set()
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('recall.tenant', %s, false)", (memory.tenant,))
        connection.commit()
        for place, subject in enumerate(history.subjects):
            _apply(memory, history, history.commits[done : subject.row], alive)
            done = subject.row
            now = moment(subject.at)
            if place % 10 == 0:
                connection.execute("ANALYZE")
                connection.execute("SELECT recall.refresh_statistics(%s)", (now,))
            connection.execute("SELECT recall.refresh_medians(%s)", (now,))
            connection.commit()
            right = {str(item) for item in subject.right & alive}
            if right:
                hits = _ask(memory, subject, right, result)
                result.plants += _planted(connection, embedder, subject, right, hits, chance)
            advance()
    return result


def _apply(memory: Memory, history: History, commits: Sequence[Commit], alive: set[int]) -> None:
    """What these commits made, used and removed, in that order."""
    last: dict[int, bool] = {}
    born: dict[int, int] = {}
    for commit in commits:
        for item in commit.made:
            last[item] = True
            born.setdefault(item, commit.at)
        for item in commit.gone:
            last[item] = False
    drafts = [
        Draft(
            history.items[item][1],
            title=history.items[item][0],
            key=str(item),
            occurred_at=moment(born[item]),
        )
        for item in born
        if item not in alive
    ]
    if commits:
        now = moment(commits[-1].at)
        for start in range(0, len(drafts), BATCH):
            memory.remember_many(drafts[start : start + BATCH], now=now)
        known = alive | born.keys()
        uses = [
            Access(str(item), "used", moment(commit.at), commit.session)
            for commit in commits
            for item in commit.used
            if item in known
        ]
        for start in range(0, len(uses), BATCH):
            memory.record_accesses(uses[start : start + BATCH], now=now)
        for item in (item for item, stays in last.items() if not stays and item in known):
            memory.forget(str(item), now=now)
    alive |= {item for item, stays in last.items() if stays}
    alive -= {item for item, stays in last.items() if not stays}


def _ask(memory: Memory, subject: Subject, right: set[str], result: Replayed) -> Sequence[Hit]:
    """Asks in every way; returns what is found where use does not count."""
    found: dict[str, Sequence[Hit]] = {}
    for way, options in WAYS.items():
        wanted: SearchOptions = {
            "k": POOL,
            "explain": False,
            "log": False,
            "now": moment(subject.at),
            **options,
        }
        if "session" in way:
            wanted["session_id"] = subject.session
        found[way] = memory.search(subject.text, **wanted).hits
        keys = [hit.key for hit in found[way]]
        result.ranks[way].append(next((1 / rank for rank, key in enumerate(keys, 1) if key in right), 0.0))
        result.first[way].append(bool(keys) and keys[0] in right)
    again = subject.resumed is not None and bool(subject.resumed & subject.right)
    result.kinds.append("new" if subject.resumed is None else "same" if again else "changed")
    return found[OFF]


def _planted(
    connection: psycopg.Connection,
    embedder: Embedder | None,
    subject: Subject,
    right: set[str],
    hits: Sequence[Hit],
    chance: random.Random,
) -> list[Plant]:
    """A wrong one of the ranks 2 to 10, drawn by lot, is used a minute ago; then the use is taken back."""
    wrong = [hit for hit in hits[1:10] if hit.key not in right]
    if not wrong or hits[0].key not in right:
        return []
    drawn, best, now = chance.choice(wrong), hits[0], moment(subject.at)
    vector = packed(embedder.embed([subject.text])[0]) if embedder else None
    connection.execute(_PLANT, (drawn.key, now - timedelta(minutes=1), now))
    passed = {}
    for way in PLANTED:
        mode = WAYS[way].get("vitality_mode")
        keys = [key for (key,) in connection.execute(_FIND, (subject.text, vector, mode, now))]
        passed[way] = keys.index(drawn.key) < keys.index(best.key)
    connection.rollback()
    return [Plant(_odds(best.relevance) / _odds(drawn.relevance), passed)]


def _odds(probability: float) -> float:
    return probability / (1 - probability)
