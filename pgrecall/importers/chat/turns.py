"""The common form of all chat formats: conversations of turns, and a tally of what is left out."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast, get_args

from pgrecall.importers.dates import parse_logged
from pgrecall.importers.fields import ANY, Rules, fits, lies_ahead
from pgrecall.nouns.imports.report import Skipped
from pgrecall.nouns.memories.models import Role

ADDED = "notes that the program added"
TOOLS = "tool calls and results, which the option tools keeps"
THINKING = "thoughts of the model"
HIDDEN = "hidden messages"
SYSTEM = "system messages"
BRANCHES = "turns of other branches"
EMPTY = "turns without text"
IMAGES = "images"
SOUNDS = "sounds and videos"
ATTACHMENTS = "attached files"
NO_TURNS = "conversations without turns"
OTHER_FILES = "files without conversations"
REPEATED = "turns that occur twice"
SAME_KEY = "turns with the id of an earlier one that says something else"
BOOKKEEPING = "lines of bookkeeping"
RECALLED = "memories that pgrecall added to a prompt"
SUBAGENTS = "turns of sub-agents, which the option tools keeps"

FUTURE = "times that lie in the future, ignored"

_MAX_REASONS = 60
_ROLES: Mapping[str, Role] = {
    "human": "user",
    "developer": "system",
    "function": "tool",
    "model": "assistant",
    "gpt": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "prompt": "user",
    "response": "assistant",
    "function_call": "tool",
    "observation": "tool",
    "toolresult": "tool",
    "tool_result": "tool",
}

_TICK = timedelta(milliseconds=1)
_EARLIEST = 100_000_000
"""Seconds since 1970, of March 1973: fewer are those since the beginning of a recording."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn.

    Attributes:
        key: its key within the source, before the prefix.
        author: name of the speaker, or the role.
        place: its location in the file, for a Problem.
    """

    key: str
    author: str
    text: str
    place: str
    role: Role | None = None
    at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns in their order; read once.

    Attributes:
        session: id of the session of all its turns.
        day: a date for the context of every turn; None takes that of the turn.
    """

    session: str
    turns: Iterable[Turn]
    title: str = ""
    day: datetime | None = None


class Tally:
    """Counts what an import leaves out or assumes.

    Args:
        rules: what the store takes.
    """

    def __init__(self, rules: Rules = ANY) -> None:
        self.rules = rules
        self._counts: Counter[str] = Counter()

    def add(self, what: str, count: int = 1) -> None:
        """Counts ``what``, a plural noun."""
        if count > 0:
            known = what in self._counts or len(self._counts) < _MAX_REASONS
            self._counts[what if known else "other things"] += count

    def fields(self, found: Iterable[str], known: frozenset[str], thing: str) -> None:
        """Counts the fields of a ``thing`` that are not ``known``."""
        for name in found:
            if name not in known:
                self.add(f"fields {name[:40]!r} of a {thing}")

    def skipped(self) -> Iterator[Skipped]:
        """The counts, highest first."""
        for what, count in self._counts.most_common():
            yield Skipped(what, count)

    def time(self, value: object) -> datetime | None:
        """A time; None for no time, and for one in the future: the clock was wrong.

        Times are seconds, milli- or microseconds since 1970, ISO 8601, or dates as in mails. MongoDB and
        Firestore write them in an object.
        """
        while isinstance(value, dict) and value:
            value = next(iter(value.values()))
        if value is None or value == "":
            return None
        try:
            if isinstance(value, str) and not _is_number(value):
                moment, zoned = parse_logged(value)
                if not zoned:
                    self.add("times without a zone, read as UTC")
            else:
                moment = _since_epoch(value)
        except (ValueError, OverflowError, TypeError, OSError):
            self.add("times that are not understood")
            return None
        if fits("occurred_at", moment, self.rules):
            return moment
        self.add(FUTURE if lies_ahead(moment, self.rules) else "times that are not understood")
        return None


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isascii() and text.replace(".", "", 1).isdigit() and len(text) > 8


def _since_epoch(value: object) -> datetime:
    if isinstance(value, bool):
        raise TypeError("not a number")
    seconds = float(cast(Any, value))
    if not math.isfinite(seconds) or seconds < _EARLIEST:
        raise ValueError("not a time")
    for _ in range(2):  # milliseconds, then microseconds: in seconds they are after the year 5138
        if seconds >= 1e11:
            seconds /= 1000
    return datetime.fromtimestamp(seconds, UTC)


def kind_of(value: object, field: str = "type") -> str:
    """The text in a field of an object; the value as text if it is anything else."""
    found = value.get(field) if isinstance(value, dict) else None
    return found if isinstance(found, str) else str(found)[:40]


def name_from(value: object) -> str:
    """A name for a conversation without one: the same for the same content, however often it is exported."""
    text = json.dumps(value, sort_keys=True, default=str)
    return f"unnamed-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"


def list_of(value: object) -> list[Any]:
    """A list, or an empty one for anything else."""
    return value if isinstance(value, list) else []


def shown_branch(
    tree: Mapping[str, Any],
    leaf: object,
    parent: str,
    children: str,
    time: Callable[[dict[str, Any]], float] | None = None,
) -> list[str]:
    """The names of the nodes from the root to the leaf; without a known leaf, to the newest node without
    children, which is the last one unless ``time`` tells.

    Nodes that name neither parents nor children are no tree: all of them, as they are listed.

    Args:
        tree: nodes by their names.
        leaf: the name of the last node that was shown.
        parent: the field with the name of the node before.
        children: the field with the names of the nodes after.
        time: when a node was written.
    """
    nodes = {name: node for name, node in tree.items() if isinstance(node, dict)}
    below = {
        name: [one for one in list_of(node.get(children)) if isinstance(one, str)]
        for name, node in nodes.items()
    }
    parents = {child: name for name, found in below.items() for child in found} | {
        name: node[parent] for name, node in nodes.items() if isinstance(node.get(parent), str)
    }
    if not parents:
        return list(nodes)
    above = set(parents.values())
    leaves = [name for name in nodes if name not in above and not below[name]]
    if not isinstance(leaf, str) or leaf not in nodes:
        last = leaves[-1] if leaves else None
        leaf = max(leaves, key=lambda name: time(nodes[name]), default=None) if time else last
    shown: dict[str, None] = {}
    while isinstance(leaf, str) and leaf not in shown and leaf in nodes:
        shown[leaf] = None
        leaf = parents.get(leaf)
    return list(shown)[::-1]


def of_type(things: str, kind: str) -> str:
    """What a tally calls things of a type that is not known, as ``kind_of`` gives it."""
    return f"{things} without a type" if kind == "None" else f"{things} of type {kind[:40]!r}"


def dated(turns: Iterable[Turn], began_at: datetime | None, tally: Tally) -> Iterator[Turn]:
    """The turns, each with a time if any has one.

    A turn without a time is dated a millisecond after the turn before. The first ones, which have no turn
    before, are dated after ``began_at``, or before the first turn that has a time.
    """
    first: list[Turn] = []
    last = began_at
    for turn in turns:
        if turn.at is None and last is None:
            first.append(turn)
            continue
        if turn.at is None and last is not None:
            tally.add("turns without a time, dated by the turn before")
            turn = replace(turn, at=_later(last, 1))
        elif turn.at is not None:
            yield from _dated_before(turn.at, first, tally)
            first.clear()
        last = turn.at
        yield turn
    tally.add("turns without a time, dated by the import", len(first))
    yield from first


def _dated_before(moment: datetime, turns: Sequence[Turn], tally: Tally) -> Iterator[Turn]:
    tally.add("turns without a time, dated by the turn after", len(turns))
    for place, turn in enumerate(turns):
        yield replace(turn, at=_later(moment, place - len(turns)))


def _later(moment: datetime, ticks: int) -> datetime:
    """The moment some milliseconds later, or earlier; the same one where the calendar ends."""
    try:
        return moment + ticks * _TICK
    except OverflowError:
        return moment


def role_of(speaker: str) -> Role | None:
    """The role if the speaker's name is one, such as ``assistant`` or ``User``; None for a person's name."""
    name = speaker.strip().casefold()
    return cast(Role, name) if name in get_args(Role) else None


def role_of_sender(sender: object) -> Role | None:
    """The role that a program names the sender of a message with, such as ``human`` or ``developer``."""
    return (role_of(sender) or _ROLES.get(sender.strip().casefold())) if isinstance(sender, str) else None
